"""Merges: two clusters become one where that is cheaper, judged from their statistics alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.core.arrays import TotalsForm, chunks
from hardbayes.core.pool import Pool
from hardbayes.dp_means.moves import PartitionProposal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.state import PartitionState


ONE_THREAD = Pool(1)  # where no pool is given: any number gives the same result
# Neighbours of a cluster for which the cost of a union is computed exactly.
NEAREST = 3
# A move must gain more than this part of the penalty or fit term: rounding alone is no gain.
RELATIVE_TOLERANCE = 1e-9


def propose_merges(state: PartitionState, partition: Partition) -> PartitionProposal | None:
    """Propose to unite pairs of clusters while that lowers the objective.

    Cheapest unions first; a cluster takes part in one union, then all costs are computed anew.
    """
    partners, costs = state.unions()
    limit = partition.penalty * (1 - RELATIVE_TOLERANCE)
    if not (costs < limit).any():
        return None
    weights, totals = (part.copy() for part in state.totals())
    united = np.arange(len(weights))  # into which cluster each one goes
    left = np.arange(len(weights))
    change = 0.0
    while (costs < limit).any():
        free = np.ones(len(left), bool)
        for a in np.argsort(costs, kind="stable"):
            if not costs[a] < limit:
                break
            b = partners[a]
            if free[a] and free[b]:
                free[[a, b]] = False
                older, younger = sorted((int(left[a]), int(left[b])))
                weights[older] += weights[younger]
                totals[older] += totals[younger]
                united[united == younger] = older
                change += float(costs[a]) - partition.penalty
        left = np.unique(united)
        centres = partition.centres(weights[left], totals[left])
        partners, costs = nearest_partners(partition, weights[left], centres, pool=state.rows.pool)
    return PartitionProposal(change, united=united, n_merges=len(weights) - len(left))


def nearest_partners(
    partition: Partition,
    weights: Floats,
    centres: Floats,
    frees: Floats | None = None,
    pool: Pool = ONE_THREAD,
) -> tuple[NDArray[np.intp], Floats]:
    """Return with which other cluster each (k,) unites most cheaply, and what that costs.

    All costs are compared where they are compiled. Else neighbours are found by their divergence,
    weighted as if there were no prior, and the costs of unions with the nearest few are exact.
    ``frees`` (k, k): what a union frees beside, which is then subtracted; where it is None, all
    unions free the same. Nothing for one cluster.
    """
    k, d = centres.shape
    near = min(NEAREST, k - 1)
    if not near:
        return np.zeros(0, np.intp), np.zeros(0)
    form = partition.moving_form(centres)
    if isinstance(form, TotalsForm):
        from hardbayes.dp_means.trials import all_union_costs

        all_costs = all_union_costs(form, weights, pool)
        if frees is not None:
            all_costs -= frees
        best = all_costs.argmin(axis=1)
        return best, all_costs[np.arange(len(best)), best]
    sizes = weights + partition.prior_weight
    partners = np.empty(k, np.intp)
    costs = np.empty(k)
    for part in chunks(k, max(k, near * d)):
        numbers = np.arange(k)[part]
        rough = partition.geometry.between(centres[part], centres)
        rough /= 1.0 / sizes[part, np.newaxis] + 1.0 / sizes
        if frees is not None:
            rough -= frees[part]
        rough[np.arange(len(numbers)), numbers] = np.inf
        candidates = argsmallest(rough, near)
        left = np.repeat(numbers, near)
        right = candidates.ravel()
        exact = partition.union_costs(
            weights[left], centres[left], weights[right], centres[right]
        ).reshape(-1, near)
        if frees is not None:
            exact -= frees[left, right].reshape(-1, near)
        best = exact.argmin(axis=1)
        partners[part] = candidates[np.arange(len(numbers)), best]
        costs[part] = exact[np.arange(len(numbers)), best]
    return partners, costs


def argsmallest(values: Floats, count: int) -> NDArray[np.intp]:
    """Return where the smallest (rows, count) of each row of ``values`` are, in order.

    ``values`` are overwritten. For small counts this is many times faster than a partial sort.
    """
    rows = np.arange(len(values))
    found = np.empty((len(values), count), np.intp)
    for place in range(count):
        found[:, place] = values.argmin(axis=1)
        values[rows, found[:, place]] = np.inf
    return found
