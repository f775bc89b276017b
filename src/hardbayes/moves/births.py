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
    from hardbayes.geometry.base import Floats
    from hardbayes.structure.partition import Partition

FIRST_WINDOW = 64
LARGEST_WINDOW = 1 << 15


def open_clusters(
    executor: MemoryExecutor,
    partition: Partition,
    prices: Floats,
    visits: NDArray[np.signedinteger],
) -> int:
    """Open clusters for the dear rows of this sweep; return how many.

    ``prices`` (n,) or (1,); ``visits`` (n,): each row's place in the visiting order.
    """
    n_open = executor.n_clusters
    first_birth = executor.n_slots
    opened: list[int] = []  # the visit at which each birth happened
    order = executor.visiting_order(visits)

    for window in _windows(executor, order):
        if n_open >= partition.max_clusters:
            break
        if opened:
            executor.consider(prices, window, visits, opened, first_birth)
        window_birth = executor.n_slots
        position = 0
        while n_open < partition.max_clusters:
            position = executor.next_opening(prices, window, window_birth, position)
            if position == len(window):
                break
            row = int(window[position])
            executor.open(row, partition.opening_centre(executor.row(row), executor.weight(row)))
            opened.append(int(visits[row]))
            n_open += 1
            position += 1
        if executor.n_slots > window_birth:
            executor.consider(prices, window, visits, opened, window_birth)
        executor.settle(window)
    if opened:
        everyone = np.empty(0, visits.dtype)
        executor.consider(prices, everyone, visits, opened, first_birth)
    executor.forget_dear()
    return len(opened)


def _windows(
    executor: MemoryExecutor, order: NDArray[np.signedinteger]
) -> Iterator[NDArray[np.signedinteger]]:
    """Yield the dear rows in visiting order, few at first, when each may open a cluster."""
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
