"""Where a fit starts: one mean, the farthest rows, or rows drawn by their cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.tuples import centres_without_scores

if TYPE_CHECKING:
    from hardbayes.executors.protocol import Rows
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition


def costs_at(rows: Rows, partition: Partition, centre: Floats) -> Floats:
    """Return the cost (n,) of every row at one point (d,)."""
    form = partition.direct_form(centre[np.newaxis])
    everywhere = np.zeros(rows.n_rows, np.int32)
    return rows.costs(centres_without_scores(form, rows.layout.dtype), everywhere)


def farthest_first(rows: Rows, partition: Partition, mean: Floats, opening: Floats) -> Floats:
    """Start at the overall mean and add the row farthest above its opening cost.

    Stops when no row is above it, or at the cap. Returns centres (k, d).
    """
    centres = [mean]
    nearest = costs_at(rows, partition, centres[0])
    while len(centres) < min(partition.max_clusters, rows.n_rows + 1):
        excess = rows.weights * nearest - opening
        row = int(np.argmax(excess))
        if not excess[row] > 0:
            break
        centres.append(_opened_by(rows, partition, row))
        np.minimum(nearest, costs_at(rows, partition, centres[-1]), out=nearest)
    return np.array(centres)


def k_means_plus_plus(
    rows: Rows, partition: Partition, opening: Floats, rng: np.random.RandomState
) -> Floats:
    """Draw a first row by weight, then rows above their opening cost by their cost.

    After Arthur & Vassilvitskii 2007. Stops when no row is above it, or at the cap. Returns centres
    (k, d).
    """
    n = rows.n_rows
    chance = np.broadcast_to(rows.weights, n)
    nearest = np.full(n, np.inf)
    centres: list[Floats] = []
    while True:
        cumulated = np.cumsum(chance)
        row = int(np.searchsorted(cumulated, rng.random_sample() * cumulated[-1], side="right"))
        row = min(row, n - 1)
        centres.append(_opened_by(rows, partition, row))
        np.minimum(nearest, costs_at(rows, partition, centres[-1]), out=nearest)
        costs = rows.weights * nearest
        chance = np.where(costs > opening, costs, 0.0)
        if len(centres) >= min(partition.max_clusters, n) or not chance.any():
            return np.array(centres)


def _opened_by(rows: Rows, partition: Partition, row: int) -> Floats:
    """Return the centre (d,) of a cluster that holds this row alone."""
    local = rows.take(np.array([row]))
    return partition.opening_centres(local.dense(), local.weights_at())[0]
