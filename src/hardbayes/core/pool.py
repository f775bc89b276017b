"""Threads of a fit and what it needs of its process: tiles, late imports, one BLAS thread.

A pool of threads over fixed tiles of rows: interruptible between tiles, one pool for each fit. It
carries what the fit reports to. Searches call `stage` and `step` of that report; they neither print
nor measure time: a report does, as seldom as it likes (`core.progress`).

numba's ``parallel=True`` is not used. Depending on its threading layer it aborts the process when
two threads enter a kernel, or kills a forked child; its float reductions depend on the number of
threads; and Ctrl-C has to wait for the end of a kernel.

Late imports are ones that Ctrl-C cannot leave unfinished. BLAS is limited to one thread where more
would change the last bits of a result.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController


class Report:
    """Is called with stages, such as "reference 2 of 6", and steps within them; shows nothing."""

    def stage(self, name: str) -> None:
        """Begin a stage."""

    def step(self, what: str, done: int, of: int) -> None:
        """Note how much of the stage is done; ``of``: how much there is in all."""

    def close(self) -> None:
        """End: no call will follow."""


SILENT = Report()
_SHOWN: ContextVar[Report] = ContextVar("shown", default=SILENT)


@contextmanager
def shown_by(report: Report) -> Iterator[None]:
    """Give searches within the block a report, unless they are verbose: that of the command."""
    token = _SHOWN.set(report)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def shown() -> Report:
    """Return the report of searches that are not verbose."""
    return _SHOWN.get()


@cache
def _cores() -> int:
    # Cached: it reads files under Linux, which takes longer than a fit of a hundred rows.
    return cpu_count()


def resolve_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``.

    None means all cores that this process may use, or OMP_NUM_THREADS if that is less, so that
    processes started by joblib share the cores. Negative values count from the number of cores.
    """
    cores = _cores()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        return max(1, min(cores, int(limit))) if limit.isdigit() else cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class _Job:
    def __init__(self, task: Callable[[int, int], None], n_tiles: int, n_workers: int) -> None:
        self.task = task
        borders = [n_tiles * worker // n_workers for worker in range(n_workers + 1)]
        self.queues = [deque(range(*pair)) for pair in pairwise(borders)]
        self.finished = threading.Semaphore(0)
        self.error: BaseException | None = None

    def _next(self, worker: int) -> int:
        """Take the worker's next tile, or the last of the longest queue; IndexError: none is left.

        A worker gets the same tiles in every pass, which its cache may still hold.
        """
        own = self.queues[worker % len(self.queues)]
        while any(self.queues):
            with suppress(IndexError):  # another thread has taken the tile
                return own.popleft() if own else max(self.queues, key=len).pop()
        raise IndexError("no tile is left")

    def work(self, worker: int) -> None:
        while True:
            try:
                tile = self._next(worker)
            except IndexError:
                return
            self.task(tile, worker)

    def cancel(self) -> None:
        """Drop all tiles that have not begun."""
        for queue in self.queues:
            queue.clear()

    def help(self, worker: int) -> None:
        try:
            self.work(worker)
        except BaseException as error:
            self.error = error
            self.cancel()
        finally:
            self.finished.release()


class Pool:
    """The calling thread and helper threads, which share the tiles of a pass.

    Helpers start at the first pass with more than one tile, so small data starts none. They end
    with the context, so that no thread survives a fit. The pool goes wherever a fit does, and so
    carries its report.
    """

    def __init__(self, n_threads: int, report: Report = SILENT) -> None:
        self.n_threads = n_threads
        self.report = report
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._helpers: list[threading.Thread] = []
        self._given_up = False

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for _helper in self._helpers:
            self._jobs.put(None)
        for helper in self._helpers:
            helper.join()
        self._helpers.clear()
        self.report.close()

    def stop_if_given_up(self) -> None:
        """Raise RuntimeError if the pass has been interrupted: for tasks longer than a tile."""
        if self._given_up:
            raise RuntimeError("the pass was interrupted")

    def run(self, task: Callable[[int, int], None], n_tiles: int) -> None:
        """Call ``task(tile, worker)`` for every tile; worker 0 is the calling thread.

        The first error is raised after all threads have stopped. A task may call this method again;
        after an interrupt such a call raises at once.
        """
        self.stop_if_given_up()
        n_helpers = min(self.n_threads, n_tiles) - 1
        if n_helpers < 1:
            for tile in range(n_tiles):
                task(tile, 0)
            return
        while len(self._helpers) < n_helpers:
            helper = threading.Thread(
                target=self._serve, args=(len(self._helpers) + 1,), daemon=True
            )
            helper.start()
            self._helpers.append(helper)
        job = _Job(task, n_tiles, n_helpers + 1)
        called = 0
        try:
            for _ in range(n_helpers):
                self._jobs.put(job)
                called += 1
            job.work(0)
        except BaseException:
            self._given_up = True
            raise
        finally:
            # Also after Ctrl-C: no thread may go on writing into arrays of the caller.
            job.cancel()
            for _ in range(called):
                job.finished.acquire()
            self._given_up = False
        if job.error is not None:
            raise job.error

    def _serve(self, worker: int) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            job.help(worker)
            del job  # or its arrays would stay in memory while this thread waits


# A tile is at most this many multiply-adds when no score is skipped: some milliseconds, so that
# Ctrl-C is prompt. In tiles much smaller than that the call of a kernel takes the time.
TILE_WORK = 1 << 26
WORTH_CALLING = 1 << 24
ROW_WORK = 1 << 11  # of a row, however short


class Tiling:
    """Tiles of rows that hold so many entries each.

    A tile's result never depends on its borders, so these may depend on the number of threads.
    """

    def __init__(self, entries_per_row: int, pool: Pool) -> None:
        self.entries_per_row = entries_per_row
        self.pool = pool

    def run(self, task: Callable[[int, int, int], None], n: int, slots: int) -> None:
        """Run ``task(worker, start, stop)`` over n rows, each compared with up to ``slots``."""
        borders = self._borders(n, slots)
        self.pool.run(
            lambda tile, worker: task(worker, borders[tile], borders[tile + 1]), len(borders) - 1
        )

    def most_rows(self, slots: int) -> int:
        """Return the largest number of rows of a tile."""
        return max(64, TILE_WORK // self._row_work(slots))

    def _row_work(self, slots: int) -> int:
        return slots * self.entries_per_row + ROW_WORK

    def _borders(self, n: int, slots: int) -> list[int]:
        """Return where tiles begin and end.

        Each thread has its part of the rows, in tiles that become smaller: few calls at first, and
        a short wait for the last tile.
        """
        most = self.most_rows(slots)
        least = max(64, WORTH_CALLING // self._row_work(slots))
        parts = max(1, min(self.pool.n_threads, n // least))
        borders = [0]
        for part in range(parts):
            stop = n * (part + 1) // parts
            while borders[-1] < stop:
                left = stop - borders[-1]
                size = left if parts == 1 or left <= least else max(least, left // 2)
                borders.append(borders[-1] + min(size, most))
        return borders


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
