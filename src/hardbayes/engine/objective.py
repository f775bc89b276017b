"""The objective's one definition, and the trace of its way down."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition


class Terms(NamedTuple):
    """The parts of the objective, in working units."""

    fit: float  # sum of weighted costs
    prior: float  # sum of eta D(m, mu_c)
    n_clusters: int


def measure(executor: MemoryExecutor, partition: Partition, centres: Floats) -> Terms:
    """Measure the present labels and centres by the direct formula."""
    costs = executor.costs()
    costs *= executor.weights  # in place: one array as long as the data is enough
    fit = float(np.sum(costs))
    return Terms(fit, float(partition.prior_costs(centres).sum()), len(centres))


class Point(NamedTuple):
    """The objective after one sweep, up to a constant that all sweeps share.

    ``sum_i w_i D(x_i, mu) + eta D(m, mu)`` over a cluster is
    ``sum w phi(x) - [(n + eta) phi(mu) - eta phi(m)]``: only the bracket, the potential, depends on
    the partition, and it follows from the cluster's totals, with no pass over the rows.
    """

    n_clusters: int
    potential: float
    remainder: float  # what float64 cannot hold of the potential

    def above(self, other: Point) -> float:
        """How much higher the objective is here than at ``other``, without the penalty."""
        return (other.potential - self.potential) + (other.remainder - self.remainder)


def level_rounding(history: Floats, floor: float = 0.0) -> Floats:
    """Return the trace without rises that are mere rounding; a real one would stay to be seen.

    Sweeps that change less than float64 can show may seem to raise the objective in its last
    places, or by ``floor`` where it is what is left of larger numbers.
    """
    levelled: Floats = np.maximum.accumulate(history[::-1])[::-1].copy()
    is_noise = np.abs(levelled - history).max() <= 1e-9 * np.abs(history).max() + floor
    return levelled if is_noise else history
