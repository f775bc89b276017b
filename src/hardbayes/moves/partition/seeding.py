"""Where a fit starts: one mean, the farthest rows, or rows drawn by their cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition


def farthest_first(
    executor: MemoryExecutor, partition: Partition, mean: Floats, prices: Floats
) -> Floats:
    """Start at the overall mean and add the row with the largest excess of cost over price.

    Stops when no row is dearer than its price, or at the cap. Returns centres (k, d).
    """
    centres = [mean]
    nearest = executor.costs_at(centres[0])
    while len(centres) < min(partition.max_clusters, executor.n_rows + 1):
        excess = executor.weights * nearest - prices
        row = int(np.argmax(excess))
        if not excess[row] > 0:
            break
        centres.append(_opened_by(executor, partition, row))
        np.minimum(nearest, executor.costs_at(centres[-1]), out=nearest)
    return np.array(centres)


def k_means_plus_plus(
    executor: MemoryExecutor,
    partition: Partition,
    prices: Floats,
    rng: np.random.RandomState,
) -> Floats:
    """Draw a first row by weight, then rows dearer than their price by their cost.

    After Arthur & Vassilvitskii 2007. Stops when no row is dearer than its price, or at the cap.
    Returns centres (k, d).
    """
    n = executor.n_rows
    chance = np.broadcast_to(executor.weights, n)
    nearest = np.full(n, np.inf)
    centres: list[Floats] = []
    while True:
        cumulated = np.cumsum(chance)
        row = int(np.searchsorted(cumulated, rng.random_sample() * cumulated[-1], side="right"))
        row = min(row, n - 1)
        centres.append(_opened_by(executor, partition, row))
        np.minimum(nearest, executor.costs_at(centres[-1]), out=nearest)
        dear = executor.weights * nearest
        chance = np.where(dear > prices, dear, 0.0)
        if len(centres) >= min(partition.max_clusters, n) or not chance.any():
            return np.array(centres)


def _opened_by(executor: MemoryExecutor, partition: Partition, row: int) -> Floats:
    """Return the centre (d,) of a cluster that holds this row alone."""
    ids = np.array([row])
    return partition.opening_centres(executor.dense_rows(ids), executor.weights_of(ids))[0]
