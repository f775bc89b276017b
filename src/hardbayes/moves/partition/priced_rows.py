"""Single-row moves by exact prices, for any divergence.

A row of weight w pays ``w phi(x) + P - P'`` to join a cluster that keeps P without and P' with it,
and frees the same where it leaves one. Rows are priced in every cluster together, as if none moved;
after one that does, only the two clusters concerned are priced anew for those that follow. So each
row chooses by the prices that it would find if rows came one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.geometry.stock import KeepsStock
from hardbayes.moves.partition.priced_clusters import PricedByEntries, PricedBySize, PricedClusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition

TOGETHER = 1 << 17  # numbers worked through, at most, to price rows together
FEW = 2  # moves of a batch at which it has the right size
NOISE = 1e-12  # of what is compared: no move gains less


def walk_priced(
    executor: MemoryExecutor,
    partition: Partition,
    ids: NDArray[np.intp],
    numbers: NDArray[np.intp],
    weights: Floats,
    centres: Floats,
    members: NDArray[np.int64],
    max_passes: int,
) -> tuple[int, Floats]:
    """Let rows move one by one, each to where the objective is lowest.

    IN/OUT numbers (m,): clusters of the rows. Returns the moves and the centres of clusters opened.
    """
    kind = _kind(partition.geometry, executor.is_sparse)
    clusters = kind(partition, weights, centres, members)
    row_weights = np.broadcast_to(executor.weights, executor.n_rows)
    paying = np.flatnonzero(row_weights[ids] > 0)
    largest = max(1, TOGETHER // clusters.effort(executor.entries_per_row))
    size, n_moves = largest, 0
    for _ in range(max_passes):
        before = n_moves
        clusters.recount()
        start = 0
        while start < len(paying):
            part = paying[start : start + size]
            start += len(part)
            batch = clusters.batch(executor.rows_at(ids[part]), row_weights[ids[part]])
            own = numbers[part]
            moved = _walk(clusters, batch, executor.constants[ids[part]], own)
            numbers[part] = own
            n_moves += moved
            # Each move prices the rest of its batch anew: few rows together where many move.
            size = max(1, size // 2) if moved > FEW else min(2 * size, largest)
        if n_moves == before:
            break
    return n_moves, clusters.centres()[len(weights) : numbers.max() + 1]


def _kind(geometry: Geometry, sparse: bool) -> type[PricedClusters]:
    """Return the cheapest way to price rows under this divergence."""
    if isinstance(geometry, KeepsStock):
        return PricedByEntries
    return PricedBySize if sparse and hasattr(geometry, "generator") else PricedClusters


def _walk(clusters: PricedClusters, batch: Any, potentials: Floats, own: NDArray[np.intp]) -> int:
    """Let the rows of a batch move; return how many did.

    IN potentials (m,): phi(x); IN/OUT own (m,): clusters of the rows.
    """
    brings = batch.weights * potentials
    m = len(own)
    joined = clusters.kept_with(batch, slice(0, m), np.arange(len(clusters.sizes)))
    left = clusters.kept_without(batch, slice(0, m), own)
    n_moves = at = 0
    while at < m:
        rest = slice(at, m)
        goes = _choices(clusters, brings[rest], joined[rest], left[rest], own[rest])
        movers = np.flatnonzero(goes != own[rest])
        if not len(movers):
            break
        at += int(movers[0])
        source, target = int(own[at]), int(goes[movers[0]])
        if target == joined.shape[1] - 1:
            joined = np.append(joined, joined[:, -1:], axis=1)
        clusters.move(batch, at, source, target)
        own[at] = target
        n_moves += 1
        at += 1
        if at < m:
            rest, changed = slice(at, m), np.array([source, target])
            joined[rest, changed] = clusters.kept_with(batch, rest, changed)
            theirs = (own[rest] == source) | (own[rest] == target)
            if theirs.any():
                new = clusters.kept_without(batch, rest, own[rest])
                left[rest] = np.where(theirs, new, left[rest])
    return n_moves


def _choices(
    clusters: PricedClusters,
    brings: Floats,
    joined: Floats,
    left: Floats,
    own: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return where each row (m,) would go if it were its turn.

    IN brings (m,): ``w phi(x)``; joined (m, k), left (m,): what clusters keep with it, and its own
    without it.
    """
    partition, kept = clusters.partition, clusters.kept
    last = clusters.members[own] == 1
    freed = brings + left - kept[own] + partition.penalty * last
    prices = brings[:, np.newaxis] + kept - joined
    n_open = np.count_nonzero(clusters.members)
    prices[:, -1] += partition.penalty
    prices[last, -1] = np.inf
    if n_open >= partition.max_clusters:
        prices[:, -1] = np.inf
    prices[:, :-1][:, clusters.members[:-1] == 0] = np.inf
    at = np.arange(len(own))
    prices[at, own] = np.inf
    best = np.argmin(prices, axis=1)
    noise = NOISE * (np.abs(freed) + np.abs(kept[own]) + np.abs(kept[best]))
    return np.where(prices[at, best] < freed - noise, best, own)
