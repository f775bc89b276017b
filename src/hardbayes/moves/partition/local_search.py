"""A local labelling made better, until it is as good as its rows alone can make it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hardbayes.executors.local import LocalRows
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition

MAX_PASSES = 16


def refine(
    local: LocalRows, partition: Partition, penalty: float, room: int
) -> tuple[Floats, Floats]:
    """Improve ``local.places``; return weights (slots,) and centres (slots, d).

    ``penalty``: what an opened cluster costs; ``room``: how many may be opened. Squared distances:
    row by row, by exact changes of the objective. Other divergences: all rows choose, then the
    centres follow; no cluster is opened.
    """
    weights, centres = _clusters(local, partition)
    if partition.geometry.squared_distance:
        clusters = local.moving(weights, centres, partition.prior_weight)
        local.relocate(clusters, penalty, room, MAX_PASSES)
        weights = np.where(clusters.members > 0, clusters.sizes - partition.prior_weight, 0.0)
        return weights, clusters.centres
    for _ in range(MAX_PASSES):
        before = local.places.copy()
        local.choose(centres, closed=weights == 0)
        if np.array_equal(before, local.places):
            break
        weights, centres = _clusters(local, partition)
    return weights, centres


def _clusters(local: LocalRows, partition: Partition) -> tuple[Floats, Floats]:
    """Return weights (slots,) and centres (slots, d); slots without rows stand at the prior."""
    weights, totals = local.totals()
    empty = weights == 0
    if empty.any():
        totals[empty] = partition.prior_mean
        return weights, partition.centres(np.where(empty, 1.0, weights), totals)
    return weights, partition.centres(weights, totals)
