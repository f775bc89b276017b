"""The objective of a partition: each cluster has a mean and costs a penalty.

What is paid is data. `opening_costs` are what rows pay to open a cluster, `penalties` what clusters
cost: arrays that this structure computes, and that nothing else multiplies by a number of clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import DirectForm, Floats, Matrix, TotalsForm, is_sparse
from hardbayes.core.geometry.base import Geometry

if TYPE_CHECKING:
    from hardbayes.dp_means.state import PartitionState


# Minus the logarithm of the smallest normal number: the cost of an entry in a column that was empty
# in the fit.
UNSEEN = -np.log(np.finfo(np.float64).tiny)


class AffineForm(NamedTuple):
    """Centres (k, d) as kernels read them: scores from theta, direct costs from exact."""

    theta: Floats  # (k, d)
    exact: Floats  # (k, d)
    offset: Floats  # (k,)


@dataclass(frozen=True)
class Partition:
    """``sum_i w_i D(x_i, mu_z(i)) + sum_c [penalty + eta D(m, mu_c)]`` over partitions z, means mu.

    Kulis & Jordan 2012, eq. 1, with ``eta`` pseudo-rows at the overall mean m in every cluster
    (eta = 0 is the paper) and at most ``max_clusters`` clusters (Broderick, Kulis & Jordan 2013,
    eq. 12).

    All numbers are in working coordinates.
    """

    geometry: Geometry
    penalty: float
    prior_weight: float
    prior_mean: Floats  # (d,)
    max_clusters: int
    discount: float = 0.0  # the k-th cluster costs ``penalty / k**discount``

    # -- what is paid ------------------------------------------------------------------------------

    def total_penalty(self, n_clusters: int) -> float:
        """Return what so many clusters cost, beside their rows."""
        if not self.discount:
            return self.penalty * n_clusters
        return float(self.prices(n_clusters).sum())

    def prices(self, n_clusters: int) -> Floats:
        """Return what the first, second and further clusters cost, as they are opened."""
        return self.penalty * np.arange(1.0, n_clusters + 1.0) ** -self.discount

    def opening_costs(self, rows: Matrix, weights: Floats, rounding: Floats | float) -> Floats:
        """Return what each of the rows (m, d) pays to open a cluster and be its only member.

        ``penalty + w D(x, mu) + eta D(m, mu)`` at the cluster's own centre mu: (m,), or (1,) where
        all rows pay the same. With a prior not less than ``rounding``, (m,) or a number: what
        rounding may make of costs that should be nothing. So equal rows stay together.
        """
        if not self.prior_weight:
            return np.array([self.penalty])
        if is_sparse(rows):
            shrinking = self.geometry.opening_costs(
                rows, weights, self.prior_weight, self.prior_mean
            )
            costs = self.penalty + shrinking
        else:
            centres = self.opening_centres(rows, weights)
            spread = weights * self.geometry.divergence(rows, centres)
            costs = self.penalty + spread + self.prior_costs(centres)
        return np.maximum(costs, weights * rounding)

    def prior_costs(self, centres: Floats) -> Floats:
        """Return ``eta D(m, mu_c)`` of each centre (k, d)."""
        if not self.prior_weight:
            return np.zeros(len(centres))
        return self.prior_weight * self.geometry.divergence(self.prior_mean, centres)

    # -- centres -----------------------------------------------------------------------------------

    def centres(self, weights: Floats, totals: Floats) -> Floats:
        """Return the minimising centres of clusters with these weights (k,) and totals (k, d)."""
        if self.prior_weight:
            totals = totals + self.prior_weight * self.prior_mean
            weights = weights + self.prior_weight
        return self.geometry.inside(totals / weights[:, np.newaxis])

    def opening_centres(self, rows: Floats, weights: Floats) -> Floats:
        """Return the centres (m, d) of clusters with one of these rows each; weights (m,)."""
        if not self.prior_weight:
            return rows
        return self.centres(weights, weights[:, np.newaxis] * rows)

    def affine_form(self, centres: Floats) -> AffineForm:
        """Return centres (k, d) as kernels read them.

        Columns that were empty in the fit score nothing, and cost UNSEEN for each unit of an entry.
        """
        exact, offset = self.geometry.exact_form(centres)
        empty = self._empty_columns
        if empty is None:
            return AffineForm(exact, exact, offset)
        return AffineForm(np.where(empty, 0.0, exact), np.where(empty, -UNSEEN, exact), offset)

    def direct_form(self, centres: Floats) -> DirectForm:
        """Return centres (k, d) as the direct formula reads them; never the array given."""
        form = self.affine_form(centres)
        return DirectForm(form.exact, form.offset, self.geometry.distance_costs)

    def moving_form(self, centres: Floats) -> DirectForm | TotalsForm:
        """Return clusters at centres (k, d) as compiled single-row moves read them."""
        formula = self.geometry.formula
        if formula is None:
            return self.direct_form(centres)
        return TotalsForm(formula, centres, self.prior_weight, self.prior_mean)

    @property
    def _empty_columns(self) -> NDArray[np.bool_] | None:
        """Columns without mass (d,), which cost alike at every centre; None where all have some."""
        if not self.geometry.nonnegative or (self.prior_mean > 0).all():
            return None
        return ~(self.prior_mean > 0)

    # -- what whole clusters explain ---------------------------------------------------------------

    def potential(self, weights: Floats, centres: Floats) -> float:
        """Return ``sum_c (n_c + eta) phi(mu_c) - eta phi(m)`` of clusters with these weights (k,).

        Whatever the partition of a set of rows, the sum of its objective without penalties and of
        this does not change.
        """
        return math.fsum(self.potentials(weights, centres))

    def potentials(self, weights: Floats, centres: Floats) -> Floats:
        """Return the terms (k,) of `potential`."""
        sizes = weights + self.prior_weight
        return sizes * self.geometry.potential(centres) - self._prior_potential

    @property
    def _prior_potential(self) -> float:
        return self.prior_weight * float(self.geometry.potential(self.prior_mean))

    def explained(self, weights: Floats, centres: Floats, origin: Floats) -> Floats:
        """Return how much less clusters cost (k,) at their centres than their rows at ``origin``.

        ``(n_c + eta) D(mu_c, origin) - eta D(m, origin)``: whatever the partition of a set of
        rows, the sum of its objective without penalties and of this does not change. Vectorised
        over leading axes of ``weights`` (...,), ``centres`` and ``origin`` (..., d).
        """
        between = (weights + self.prior_weight) * self.geometry.divergence(centres, origin)
        if not self.prior_weight:
            return between
        return between - self.prior_weight * self.geometry.divergence(self.prior_mean, origin)

    def union_costs(
        self, weights: Floats, centres: Floats, other_weights: Floats, other_centres: Floats
    ) -> Floats:
        """Return how much the objective rises, penalties aside, when pairs of clusters unite.

        Weights (p,), centres (p, d) of either side. A split of the union saves as much.
        """
        if not self.prior_weight:  # a union explains nothing at its own centre
            totals = weights[:, np.newaxis] * centres + other_weights[:, np.newaxis] * other_centres
            united = self.centres(weights + other_weights, totals)
            return self.explained(weights, centres, united) + self.explained(
                other_weights, other_centres, united
            )
        sizes, other_sizes = weights + self.prior_weight, other_weights + self.prior_weight
        totals = sizes[:, np.newaxis] * centres + other_sizes[:, np.newaxis] * other_centres
        totals -= self.prior_weight * self.prior_mean
        united = self.geometry.inside(totals / (sizes + other_weights)[:, np.newaxis])
        return (
            self.explained(weights, centres, united)
            + self.explained(other_weights, other_centres, united)
            - self.explained(weights + other_weights, united, united)
        )


class Terms(NamedTuple):
    """The parts of the objective, in working units."""

    fit: float  # sum of weighted costs
    prior: float  # sum of eta D(m, mu_c)
    n_clusters: int


def terms_of(fit: float, partition: Partition, centres: Floats) -> Terms:
    """Return the terms of clusters at these centres (k, d) whose rows cost so much in all."""
    return Terms(fit, float(partition.prior_costs(centres).sum()), len(centres))


def measure_labels(state: PartitionState, labels: NDArray[np.int32]) -> Terms:
    """Return the terms of any labels (n,), from 0 on, at minimising centres."""
    rows, partition = state.rows, state.partition
    numbers = np.arange(int(labels.max()) + 1)
    totals = rows.totals(len(numbers), labels)
    weights, sums = totals.weights(numbers), totals.sums(numbers)
    # A cluster without weight has no mean; its rows cost nothing wherever it is.
    sums[weights == 0] = rows.take(np.zeros(1, np.intp)).dense()
    centres = partition.centres(np.where(weights > 0, weights, 1.0), sums)
    return terms_of(state.fit_term_at(centres, labels), partition, centres[weights > 0])
