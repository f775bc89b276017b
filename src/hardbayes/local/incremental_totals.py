"""A partition that gains or loses one cluster at a time, where clusters are given by totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.kernels.partition.cluster_totals import free_potentials, recount
from hardbayes.kernels.partition.incremental import part_from
from hardbayes.local.cluster_totals import totals_of, union_costs_of
from hardbayes.local.incremental import Incremental

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from hardbayes.local.rows import LocalRows
    from hardbayes.matrices import Floats
    from hardbayes.tuples import TotalsForm

# Rows on which a cluster is divided; single-row moves place the others.
MOST_DIVIDED = 1 << 10
# What comes and goes is mostly at the border, and changes little of how a cluster divides.
SEVERAL = 5


class IncrementalTotals(Incremental):
    """A partition of rows in memory, where potentials have a formula.

    Parameters
    ----------
    local, labels, weights, n_slots, rng
        As of `IncrementalPartition`.
    form : TotalsForm
        Where the clusters are.
    """

    tolerance = 0.05

    def __init__(
        self,
        local: LocalRows,
        form: TotalsForm,
        labels: NDArray[np.int32],
        weights: Floats,
        n_slots: int,
        rng: np.random.RandomState,
    ) -> None:
        k = len(weights)
        sizes = np.full(n_slots, form.prior_weight)
        sizes[:k] += weights
        centres = np.tile(form.prior_mean, (n_slots, 1))
        centres[:k] = form.centres
        self._form = form
        self._totals = totals_of(form._replace(centres=centres), sizes)
        super().__init__(local, self._totals, labels, sizes, k, np.zeros((0, 0)), rng)
        self._constant = float(np.sum(local.weights_at() * local.constants_at()))
        self.savings = np.zeros(n_slots)
        self._halving = np.full(n_slots, -1)  # which division is known of each slot; -1: none
        self._halved = np.full(local.n_rows, -1)  # in which division each row last was
        self._second = np.zeros(local.n_rows, bool)  # whether it was in the second half
        self._n_halvings = 0

    def fit(self) -> float:
        """Return the objective without penalties: the sum of weighted costs, and the prior's."""
        used = self._clusters.members > 0
        potentials = self._totals.potentials[used] - self._totals.alone[2]
        return self._constant - float(potentials.sum())

    def free_fit(self) -> float:
        """Return the fit term that clusters would have at their means, without the prior."""
        free_potentials(self._totals, self._clusters.sizes)
        return self._constant - float(self._totals.joined[self._clusters.members > 0].sum())

    def cheapest_unions(self, count: int) -> list[tuple[int, int]]:
        """Return up to ``count`` pairs of slots whose union raises the objective least."""
        clusters = self._clusters
        costs = union_costs_of(self._totals, clusters.sizes)
        costs[clusters.members == 0] = costs[:, clusters.members == 0] = np.inf
        costs[np.tril_indices(len(costs))] = np.inf
        partners = costs.argmin(axis=1)
        least = costs[np.arange(len(costs)), partners]
        order = np.argsort(least, kind="stable")[:count].tolist()
        return [(a, int(partners[a])) for a in order if np.isfinite(least[a])]

    def relocate(self, max_changes: int) -> None:
        """Move rows one by one while the objective falls."""
        recount(self._totals, self._clusters.sizes)  # without the rounding of the steps before
        super().relocate(max_changes)

    def divide(self, n_starts: int, unchanged: float) -> None:
        """Find for every cluster the best of ``n_starts`` divisions.

        Clusters keep the division found before if they gained and lost less than SEVERAL times the
        part ``unchanged`` of their weight.
        """
        clusters, turnover = self._clusters, self._totals.turnover
        changed = (self._halving < 0) | (turnover > SEVERAL * unchanged * clusters.sizes)
        slots = np.flatnonzero((clusters.members > 0) & changed)
        if not len(slots):
            return
        number = np.full(len(self.savings), -1)
        number[slots] = np.arange(len(slots))
        groups = number[clusters.labels]
        rows = np.argsort(groups, kind="stable")
        rows = rows[np.searchsorted(groups[rows], 0) :]
        step = (clusters.members[slots] - 1) // MOST_DIVIDED + 1
        within = np.arange(len(rows)) - np.searchsorted(groups[rows], groups[rows])
        rows = rows[within % step[groups[rows]] == 0]
        grouped = self._local.grouped(rows, groups[rows], np.arange(len(slots) + 1))
        saved, second = grouped.halve(self._form, n_starts, self._rng)
        self.savings[slots] = saved * step
        self._halving[slots] = self._n_halvings + np.arange(len(slots))
        self._n_halvings += len(slots)
        self._halved[rows] = self._halving[slots][groups[rows]]
        self._second[rows] = second
        turnover[slots] = 0.0

    def split(self, c: int) -> bool:
        """Divide the cluster in slot c as found; return whether both parts have rows."""
        clusters = self._clusters
        known = (clusters.labels == c) & (self._halved == self._halving[c])
        leaving = np.flatnonzero(known & self._second)
        n_leaving = int(np.count_nonzero(self._local.weights_at(leaving) > 0))
        self.savings[c] = 0.0
        self._halving[c] = -1
        if not 0 < n_leaving < clusters.members[c]:
            return False
        new = int(clusters.members.argmin())
        part_from(self._local.rows, self._local.weights, clusters, leaving, c, new)
        self.savings[new] = 0.0
        self._halving[new] = -1
        self.n_clusters += 1
        return True

    def unite(self, a: int, b: int) -> None:
        """Unite the clusters in slots a and b."""
        super().unite(a, b)
        self.savings[[a, b]] = 0.0
        self._halving[[a, b]] = -1

    def _arrays(self) -> list[NDArray[Any]]:
        totals = self._totals
        return [
            *super()._arrays(), totals.totals, totals.terms, totals.sums, totals.term_sums,
            totals.potentials, totals.turnover, self.savings, self._halving, self._halved,
            self._second,
        ]  # fmt: skip
