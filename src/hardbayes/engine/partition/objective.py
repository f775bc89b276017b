"""The one definition of a partition's objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.state import PartitionState
    from hardbayes.structure.partition import Partition


class Terms(NamedTuple):
    """The parts of the objective, in working units."""

    fit: float  # sum of weighted costs
    prior: float  # sum of eta D(m, mu_c)
    n_clusters: int


def measure(costs: Floats, weights: Floats, partition: Partition, centres: Floats) -> Terms:
    """Return the terms for rows that cost so much (n,) at their own centres, by direct formulas.

    OUT costs: multiplied by the weights.
    """
    costs *= weights  # in place: one array as long as the data is enough
    return Terms(float(np.sum(costs)), float(partition.prior_costs(centres).sum()), len(centres))


def measure_labels(state: PartitionState, labels: NDArray[np.int32]) -> Terms:
    """Return the terms of any labels (n,), from 0 on, at minimising centres."""
    rows, partition = state.rows, state.partition
    numbers = np.arange(int(labels.max()) + 1)
    totals = rows.totals(len(numbers), labels)
    weights, sums = totals.weights(numbers), totals.sums(numbers)
    # A cluster without weight has no mean; its rows cost nothing wherever it is.
    sums[weights == 0] = rows.take(np.zeros(1, np.intp)).dense()
    centres = partition.centres(np.where(weights > 0, weights, 1.0), sums)
    costs = state.costs_at(centres, labels)
    return measure(costs, rows.weights, partition, centres[weights > 0])
