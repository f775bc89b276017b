"""Births within a sweep, exactly as a row-by-row loop would make them.

A row dearer than its price opens a cluster, and rows visited later in the same sweep see it. Only
dear rows can open one, so only they are visited in order, in windows: all rows of a window choose
among the clusters born before it, in parallel; those still dear are walked through one by one. In
the end every other row looks at the clusters born before its turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition

FIRST_WINDOW = 256
LARGEST_WINDOW = 1 << 15
# Entries of the centres that rows would have if they opened, held at a time.
ENTRIES_AT_ONCE = 1 << 19


def open_clusters(
    executor: MemoryExecutor,
    partition: Partition,
    prices: Floats,
    visits: NDArray[np.signedinteger],
) -> int:
    """Open clusters for the dear rows of this sweep; return how many.

    ``prices`` (n,) or (1,); ``visits`` (n,): each row's place in the visiting order.
    """
    first_birth = executor.n_slots
    opened: list[int] = []  # the visit at which each birth happened
    for window in _windows(executor, visits):
        while len(window) and executor.n_clusters < partition.max_clusters:
            if opened:
                executor.consider(prices, window, visits, opened, first_birth)
            window_birth = executor.n_slots
            born, looked_at = _walk(executor, partition, prices, window)
            if len(born):
                opened += visits[born].tolist()
                executor.consider(prices, looked_at, visits, opened, window_birth)
            executor.mark_placed(looked_at)
            window = window[len(looked_at) :]
    if opened:
        everyone = np.empty(0, visits.dtype)
        executor.consider(prices, everyone, visits, opened, first_birth)
    executor.forget_dear()
    return len(opened)


def _walk(
    executor: MemoryExecutor,
    partition: Partition,
    prices: Floats,
    window: NDArray[np.signedinteger],
) -> tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]:
    """Let rows of a window that are still dear open clusters, one after the other.

    Return those that do, and the part of the window that was looked at: as much as takes little
    room.
    """
    dear = executor.dear_rows(window)
    at_once = max(16, ENTRIES_AT_ONCE // executor.n_columns)
    if len(dear) > at_once:
        dear = dear[:at_once]
        window = window[: int(np.flatnonzero(window == dear[-1])[0]) + 1]
    centres = partition.opening_centres(executor.dense_rows(dear), executor.weights_of(dear))
    room = partition.max_clusters - executor.n_clusters
    opening = executor.openings(prices, dear, centres)[:room]
    executor.open(dear[opening], centres[opening])
    return dear[opening], window


def _windows(
    executor: MemoryExecutor, visits: NDArray[np.signedinteger]
) -> Iterator[NDArray[np.signedinteger]]:
    """Yield the dear rows in visiting order, few at first, when each may open a cluster."""
    order = executor.in_turn(visits)
    start, size = 0, FIRST_WINDOW
    while start < len(order):
        turns = order[start : start + LARGEST_WINDOW]
        dear = executor.dear_rows(turns)
        if len(dear) > size:
            dear = dear[:size]
            turns = turns[: int(np.flatnonzero(turns == dear[-1])[0]) + 1]
        start += len(turns)
        if len(dear):
            size = min(2 * size, LARGEST_WINDOW)
            yield dear
