"""Who carries out passes over blocks: this process, which reads a block ahead.

A mapper is all that an executor needs to know of the place where blocks are. It calls a method of
`Block` for each wanted block, and yields what that returned, in any order. The other mapper is in
`hardbayes.core.dask_rows`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from hardbayes.core.loop import counted

if TYPE_CHECKING:
    from hardbayes.core.pool import Pool
    from hardbayes.core.row_blocks import RowBlocks
    from hardbayes.core.row_sources import RawBlock
    from hardbayes.dp_means.blocks.block import BlockState

# Seconds after which a reader looks whether it is still wanted, and Ctrl-C is let through.
PATIENCE = 0.1


class Call(NamedTuple):
    """What is done with one block: ``task(rows, weights, state, *arguments)``."""

    number: int
    arguments: tuple[Any, ...]
    state: BlockState | None = None  # None: the task takes none, and returns none


class Mapper(Protocol):
    """Where blocks are."""

    @property
    def n_passes(self) -> int:
        """How often the blocks have been gone through, in whole or in part."""

    def threads(self, pool: Pool) -> Pool | int:
        """Return the threads that work on a block, or how many there are elsewhere."""

    def map(
        self, task: Callable[..., Any], calls: list[Call], phase: str, shared: tuple[Any, ...] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield for each call its block's number and ``task(X, weights, *arguments, *shared)``.

        ``phase``: words for what is done, for messages.
        """

    def scan(self, task: Callable[..., Any], shared: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
        """Do the same with all blocks, whose number is not known yet, in their order."""

    def one(self, number: int, task: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
        """Return ``task(X, weights, *shared)`` of one block."""


class LocalMapper:
    """Blocks that this process reads, one ahead of the one that is worked on."""

    def __init__(self, blocks: RowBlocks) -> None:
        self._blocks = blocks
        self.n_passes = 0

    def threads(self, pool: Pool) -> Pool:
        """Return those of the fit."""
        return pool

    def map(
        self, task: Callable[..., Any], calls: list[Call], phase: str, shared: tuple[Any, ...] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Read wanted blocks and call the task."""
        if not calls:
            return
        self.n_passes += 1
        wanted = np.zeros(calls[-1].number + 1, bool)
        wanted[[call.number for call in calls]] = True
        left = {call.number: call for call in calls}
        with closing(read_ahead(lambda: self._blocks.blocks(wanted))) as blocks:
            for raw in blocks:
                call = left.pop(raw.number)
                own = call.arguments if call.state is None else (call.state, *call.arguments)
                yield call.number, task(raw.rows, raw.weights, *own, *shared)
        if left:
            raise ValueError(
                f"Block {min(left)} of X is no longer there: the source must yield the same blocks "
                "each time."
            )

    def scan(self, task: Callable[..., Any], shared: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
        """Read all blocks and call the task."""
        self.n_passes += 1
        with closing(read_ahead(self._blocks.blocks)) as blocks:
            for raw in blocks:
                yield raw.number, task(raw.rows, raw.weights, *shared)

    def one(self, number: int, task: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
        """Read one block and call the task."""
        return dict(self.map(task, [Call(number, ())], "a block", shared))[number]


class TimedMapper:
    """A mapper that notes how long the passes of each phase take, and work on their results."""

    def __init__(self, mapper: Mapper) -> None:
        self._mapper = mapper
        self._seconds: dict[str, list[float]] = {}

    @property
    def n_passes(self) -> int:
        """How often the blocks have been gone through."""
        return self._mapper.n_passes

    def threads(self, pool: Pool) -> Pool | int:
        """Return the threads that work on a block."""
        return self._mapper.threads(pool)

    def map(
        self, task: Callable[..., Any], calls: list[Call], phase: str, shared: tuple[Any, ...] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Do what the mapper does."""
        results = self._mapper.map(task, calls, phase, shared)
        return self._timed(phase, results) if calls else results

    def scan(self, task: Callable[..., Any], shared: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
        """Do what the mapper does."""
        return self._timed("first pass", self._mapper.scan(task, shared))

    def one(self, number: int, task: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
        """Do what the mapper does."""
        return self._mapper.one(number, task, shared)

    def _timed(self, phase: str, results: Iterator[Any]) -> Iterator[Any]:
        begin = time.perf_counter()
        yield from results
        self._seconds.setdefault(phase, []).append(time.perf_counter() - begin)

    def lines(self) -> list[str]:
        """Return what was done, a line for each phase, the longest first."""
        found = sorted(self._seconds.items(), key=lambda item: -sum(item[1]))
        return [
            f"{phase}: {counted(len(each), 'pass', 'passes')}, {sum(each):.3g} s in all, "
            f"{max(each):.3g} s at most"
            for phase, each in found
        ]


def read_ahead(read: Callable[[], Generator[RawBlock]]) -> Generator[RawBlock]:
    """Yield blocks while another thread reads the next; its errors are raised here.

    To be closed, so that the thread ends and what it reads from is closed at once.
    """
    queue: Queue[RawBlock | BaseException | None] = Queue(1)
    stopped = threading.Event()

    def put(item: RawBlock | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                queue.put(item, timeout=PATIENCE)
            except Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            with closing(read()) as blocks:
                for block in blocks:
                    if not put(block):
                        return
            put(None)
        except BaseException as error:
            put(error)

    reader = threading.Thread(target=work, name="hardbayes reads a block ahead", daemon=True)
    reader.start()
    try:
        while True:
            try:
                item = queue.get(timeout=PATIENCE)
            except Empty:
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        reader.join()
