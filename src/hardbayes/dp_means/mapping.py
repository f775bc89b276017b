"""Who carries out passes over blocks: this process, which reads a block ahead.

A mapper is all that an executor needs to know of the place where blocks are. It calls a method of
`Block` for each wanted block, and yields what that returned, in any order. The other mapper is in
`hardbayes.core.dask_rows`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from hardbayes.core.pool import Pool
    from hardbayes.core.row_blocks import RowBlocks
    from hardbayes.core.row_sources import RawBlock

# Seconds after which a reader looks whether it is still wanted, and Ctrl-C is let through.
PATIENCE = 0.1


class Call(NamedTuple):
    """What is done with one block: ``task(rows, weights, *arguments)``."""

    number: int
    arguments: tuple[Any, ...]


class Mapper(Protocol):
    """Where blocks are."""

    n_passes: int  # how often the blocks have been gone through, in whole or in part

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
                yield call.number, task(raw.rows, raw.weights, *call.arguments, *shared)
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
