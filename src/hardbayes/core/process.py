"""What a fit needs of its process: late imports that Ctrl-C cannot break, one BLAS thread.

Late imports that Ctrl-C cannot leave unfinished.

BLAS limited to one thread, where more threads would change the last bits of a result.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from threading import Lock, Thread
from typing import Any

from threadpoolctl import ThreadpoolController


def import_whole(name: str) -> None:
    """Import a module completely, even if Ctrl-C arrives meanwhile.

    A partially imported numba cannot be used again in the same process. Ctrl-C is raised in the
    main thread only, so another thread imports while the caller waits.
    """
    if name in sys.modules:
        return

    def work() -> None:
        with suppress(Exception):  # the caller's own import raises it again
            import_module(name)

    thread = Thread(target=work, name=f"import {name}")
    thread.start()
    thread.join()


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
