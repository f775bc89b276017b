"""Merges: two clusters become one where that is cheaper, judged from their statistics alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.matrices import chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition

# Neighbours of a cluster with which a union is priced exactly.
NEAREST = 3
# A move must gain more than this part of the penalty: rounding alone never moves anything.
WORTHWHILE = 1e-9


def merge_clusters(executor: MemoryExecutor, partition: Partition) -> int:
    """Unite pairs of clusters while that lowers the objective; return how many unions there were.

    Cheapest unions first; a cluster takes part in one union, then all are priced anew.
    """
    weights, totals = executor.totals()
    numbers = np.arange(len(weights))  # into which cluster each one goes
    alive = np.arange(len(weights))
    while len(alive) > 1:
        partners, costs = nearest_partners(
            partition, weights[alive], partition.centres(weights[alive], totals[alive])
        )
        free = np.ones(len(alive), bool)
        for a in np.argsort(costs, kind="stable"):
            if not costs[a] < partition.penalty * (1 - WORTHWHILE):
                break
            b = partners[a]
            if free[a] and free[b]:
                free[[a, b]] = False
                older, younger = sorted((int(alive[a]), int(alive[b])))
                weights[older] += weights[younger]
                totals[older] += totals[younger]
                numbers[numbers == younger] = older
        if free.all():
            break
        alive = np.unique(numbers)
    n_merges = len(weights) - len(alive)
    if n_merges:
        executor.relabel(numbers)
    return n_merges


def nearest_partners(
    partition: Partition, weights: Floats, centres: Floats
) -> tuple[NDArray[np.intp], Floats]:
    """Return with which other cluster each (k,) unites most cheaply, and what that costs.

    Neighbours are found by their divergence, weighed as if there were no prior; unions with the
    nearest few are then priced exactly.
    """
    k, d = centres.shape
    near = min(NEAREST, k - 1)
    sizes = weights + partition.prior_weight
    partners = np.empty(k, np.intp)
    costs = np.empty(k)
    for part in chunks(k, max(k, near * d)):
        numbers = np.arange(k)[part]
        rough = partition.geometry.between(centres[part], centres)
        rough /= 1.0 / sizes[part, np.newaxis] + 1.0 / sizes
        rough[np.arange(len(numbers)), numbers] = np.inf
        candidates = least_few(rough, near)
        left = np.repeat(numbers, near)
        right = candidates.ravel()
        exact = partition.union_costs(
            weights[left], centres[left], weights[right], centres[right]
        ).reshape(-1, near)
        best = exact.argmin(axis=1)
        partners[part] = candidates[np.arange(len(numbers)), best]
        costs[part] = exact[np.arange(len(numbers)), best]
    return partners, costs


def least_few(values: Floats, count: int) -> NDArray[np.intp]:
    """Return where the least few (rows, count) of each row of ``values`` are, least first.

    ``values`` are lost. For few this is many times faster than a partial sort.
    """
    rows = np.arange(len(values))
    found = np.empty((len(values), count), np.intp)
    for place in range(count):
        found[:, place] = values.argmin(axis=1)
        values[rows, found[:, place]] = np.inf
    return found
