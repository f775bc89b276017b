"""Clusters by their totals, made for kernels and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.kernels.partition.cluster_totals import TOGETHER, ClusterTotals, recount, union_costs
from hardbayes.kernels.partition.halving import Halves

if TYPE_CHECKING:
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool
    from hardbayes.tuples import TotalsForm


def totals_of(form: TotalsForm, sizes: Floats) -> ClusterTotals:
    """Return clusters (slots,) of these sizes, with the prior's, at the centres of a form."""
    slots, d = form.centres.shape
    totals = np.empty((d, slots))
    np.multiply(sizes, form.centres.T, out=totals)
    clusters = ClusterTotals(
        formula=int(form.formula),
        totals=totals,
        terms=np.empty((d, slots)),
        sums=np.empty(slots),
        term_sums=np.empty(slots),
        potentials=np.empty(slots),
        prior_weight=form.prior_weight,
        prior=form.prior_weight * form.prior_mean,
        prior_terms=np.empty(d),
        alone=np.empty(3),
        joined=np.zeros(slots),
        together=np.zeros((slots, TOGETHER)),
        turnover=np.zeros(slots),
        absences=np.zeros((2, slots)),
        absent_weights=np.zeros((2, slots)),
        fresh=np.ones(slots, bool),
    )
    recount(clusters, sizes)
    return clusters


def with_own_scratch(clusters: ClusterTotals) -> ClusterTotals:
    """Return the same clusters for one more thread."""
    return clusters._replace(
        joined=np.zeros_like(clusters.joined),
        together=np.zeros_like(clusters.together),
        absences=np.zeros_like(clusters.absences),
        absent_weights=np.full_like(clusters.absent_weights, np.nan),
    )


def halves_for(form: TotalsForm, n_rows: int) -> Halves:
    """Return scratch memory to halve clusters of at most so many rows."""
    alone = form._replace(centres=np.tile(form.prior_mean, (2, 1)))
    sizes = np.full(2, form.prior_weight)
    return Halves(
        groups=np.zeros(n_rows, np.intp),
        places=np.zeros(n_rows, np.int64),
        near=np.zeros(n_rows, bool),
        distances=np.zeros(n_rows),
        parts=totals_of(alone, sizes),
        sizes=sizes,
        members=np.zeros(2, np.int64),
        first=np.array([0, 2]),
        tally=np.zeros(2, np.int64),
        gain=np.zeros(1),
        no_goal=np.full(1, np.nan),
    )


def centres_of(clusters: ClusterTotals, sizes: Floats) -> Floats:
    """Return the centres (slots, d) of clusters of these sizes; at zero where they are empty."""
    return np.ascontiguousarray((clusters.totals / np.where(sizes > 0, sizes, 1.0)).T)


def all_union_costs(form: TotalsForm, weights: Floats, pool: Pool) -> Floats:
    """Return how much the objective rises, penalties aside, when two clusters unite (k, k).

    Infinite for a cluster with itself. Not less than what rounding may hide.
    """
    sizes = weights + form.prior_weight
    clusters = totals_of(form, sizes)
    costs = np.full((len(sizes), len(sizes)), np.inf)
    pool.run(lambda a, _: union_costs(clusters, sizes, a, a + 1, costs[a, a + 1 :]), len(sizes) - 1)
    return np.minimum(costs, costs.T)
