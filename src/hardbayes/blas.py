"""BLAS limited to one thread, where more threads would change the last bits of a result."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# The limit holds for the whole process. Without a lock a thread could save, and later restore, the
# limit of another thread.
_lock = Lock()


def _reset_lock() -> None:
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):  # the thread that holds the lock does not exist in a child
    os.register_at_fork(after_in_child=_reset_lock)


@cache
def _controller() -> Any:
    # Cached: it searches all loaded libraries, which takes a millisecond.
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; other threads that call this wait."""
    with _lock, _controller().limit(limits=1, user_api="blas"):
        yield
