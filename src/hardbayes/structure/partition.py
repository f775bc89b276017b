"""A partition of the rows: each cluster has a mean and costs a penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats


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

    def centres(self, weights: Floats, totals: Floats) -> Floats:
        """Return the minimising centres of clusters with these weights (k,) and totals (k, d)."""
        if self.prior_weight:
            totals = totals + self.prior_weight * self.prior_mean
            weights = weights + self.prior_weight
        return self.geometry.inside(totals / weights[:, np.newaxis])

    def potential(self, weights: Floats, centres: Floats) -> float:
        """Return ``sum_c (n_c + eta) phi(mu_c) - eta phi(m)`` of clusters with these weights (k,).

        Whatever the partition of a set of rows, the sum of its objective without penalties and of
        this does not change.
        """
        terms = (weights + self.prior_weight) * self.geometry.potential(centres)
        alone = self.prior_weight * float(self.geometry.potential(self.prior_mean))
        return math.fsum([*terms, -len(centres) * alone])

    def opening_centres(self, rows: Floats, weights: Floats) -> Floats:
        """Return the centres (m, d) of clusters with one of these rows each; weights (m,)."""
        if not self.prior_weight:
            return rows
        return self.centres(weights, weights[:, np.newaxis] * rows)

    def prices(self, rows: Floats, weights: Floats) -> Floats:
        """Return what it costs each row (m, d) to open a cluster and be its only member.

        ``penalty + w D(x, mu) + eta D(m, mu)`` at the cluster's own centre mu.
        """
        centres = self.opening_centres(rows, weights)
        spread = weights * self.geometry.divergence(rows, centres)
        return self.penalty + spread + self.prior_costs(centres)

    def prior_costs(self, centres: Floats) -> Floats:
        """Return ``eta D(m, mu_c)`` of each centre (k, d)."""
        if not self.prior_weight:
            return np.zeros(len(centres))
        return self.prior_weight * self.geometry.divergence(self.prior_mean, centres)

    # -- what whole clusters explain ------------------------------------------------------------

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
        sizes, other_sizes = weights + self.prior_weight, other_weights + self.prior_weight
        totals = sizes[:, np.newaxis] * centres + other_sizes[:, np.newaxis] * other_centres
        totals -= self.prior_weight * self.prior_mean
        united = self.geometry.inside(totals / (sizes + other_weights)[:, np.newaxis])
        rises: Floats = (
            self.explained(weights, centres, united)
            + self.explained(other_weights, other_centres, united)
            - self.explained(weights + other_weights, united, united)
        )
        return rises
