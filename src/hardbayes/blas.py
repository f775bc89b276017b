"""BLAS on one thread, where the number of its threads would change the last bits of a result."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Iterator

# The limit holds for the whole process. One after the other, or somebody might take the limit of
# another for how things were before.
_turn = Lock()


def _begin_anew() -> None:
    global _turn
    _turn = Lock()


if hasattr(os, "register_at_fork"):  # a thread that has its turn is not there in a child
    os.register_at_fork(after_in_child=_begin_anew)


@cache
def _controller() -> Any:
    # Looks through all loaded libraries, which takes a millisecond.
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, as nobody else does meanwhile."""
    with _turn, _controller().limit(limits=1, user_api="blas"):
        yield
