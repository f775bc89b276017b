"""Halve clusters that are given by their totals: the best of several ways, each around two rows."""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.cluster_totals import (
    ClusterTotals,
    add,
    forget_sums,
    join,
    refresh,
)
from hardbayes.kernels.partition.dividing import ALL, MAX_PASSES, draw
from hardbayes.kernels.partition.local import relocate
from hardbayes.kernels.partition.rows import entries, entry, pick


class Halves(NamedTuple):
    """Scratch memory for the rows of a cluster, at their positions in ``ids``, and its two parts.

    Both slots of the parts hold the prior alone between two calls.
    """

    groups: np.ndarray  # (m,) intp: zeros, for they are all of one group
    places: np.ndarray  # (m,) int64
    near: np.ndarray  # (m,) bool
    costs: np.ndarray  # (m,)
    distances: np.ndarray  # (2, m): to the rows around which the halves begin
    parts: ClusterTotals  # of two slots
    sizes: np.ndarray  # (2,): with the prior's
    members: np.ndarray  # (2,) int64
    first: np.ndarray  # [0, 2]: the slots of the group
    tally: np.ndarray  # (2,) int64
    gain: np.ndarray  # (1,)
    no_goal: np.ndarray  # (1,): NaN


@part
def put(rows, weights, i, space, k):
    """Add row i to part k."""
    weight = pick(weights, i)
    add(rows, i, weight, space.parts, k)
    space.sizes[k] += weight
    space.members[k] += np.int64(weight > 0.0)


@part
def clear(rows, ids, space, start, stop):
    """Leave nothing but the prior in both parts, to which only some of these rows were added."""
    parts = space.parts
    for p in range(start, stop):
        first, last = entries(rows, ids[p])
        for q in range(first, last):
            j, _ = entry(rows, ids[p], q, 1.0)
            for k in range(2):
                parts.totals[j, k] = parts.prior[j]
                parts.terms[j, k] = parts.prior_terms[j]
    for k in range(2):
        forget_sums(parts, k)
        space.sizes[k] = parts.prior_weight
        space.members[k] = 0


@part
def pay(rows, weights, constants, ids, space, k, sign, costs, start, stop):
    """OUT costs: what rows pay to join part k, or free where they leave it, for their weight."""
    for p in range(start, stop):
        i = ids[p]
        weight = pick(weights, i)
        costs[p] = 0.0
        if weight > 0.0:
            join(rows, i, sign * weight, space.parts, space.sizes, k, k + 1)
            kept = sign * (space.parts.joined[k] - space.parts.potentials[k])
            costs[p] = max(pick(constants, i) - kept / weight, 0.0)


@kernel
def halve(rows, weights, constants, ids, draws, space, best, start, stop):
    """Halve the cluster of rows ``ids[start:stop]``; return what that saves, at best.

    Each way starts around a pair of rows drawn by their cost; then rows move one by one. The first
    row stays in the first half, so that rounding does not decide which half keeps the cluster's
    number.

    IN draws (starts, 2) in [0, 1); OUT best (m,) bool: which rows are in the second half. SCRATCH
    space.
    """
    parts, sizes = space.parts, space.sizes
    for p in range(start, stop):
        put(rows, weights, ids[p], space, 0)
        best[p] = False
    refresh(parts, sizes[0], 0)
    whole = parts.potentials[0] + parts.alone[2]
    pay(rows, weights, constants, ids, space, 0, -1.0, space.costs, start, stop)
    clear(rows, ids, space, start, stop)
    most = 0.0
    for way in range(draws.shape[0]):
        for k in range(2):
            chances = space.costs if k == 0 else space.distances[0]
            chosen = start + draw(
                weights, ids[start:stop], chances[start:stop], stop - start, draws[way, k]
            )
            put(rows, weights, ids[chosen], space, k)
            refresh(parts, sizes[k], k)
            pay(rows, weights, constants, ids, space, k, 1.0, space.distances[k], start, stop)
            clear(rows, ids, space, chosen, chosen + 1)
        for p in range(start, stop):
            space.places[p] = np.int64(space.distances[1, p] < space.distances[0, p])
            put(rows, weights, ids[p], space, space.places[p])
        for k in range(2):
            refresh(parts, sizes[k], k)
        if space.members[0] > 0 and space.members[1] > 0:
            space.tally[:] = 0
            relocate(
                rows, weights, constants, parts, sizes, space.members, ids, space.groups,
                space.first, space.places, 0.0, parts.prior_weight, space.near, ALL, space.tally,
                space.gain, space.no_goal, MAX_PASSES, start, stop,
            )  # fmt: skip
            saved = parts.potentials[0] + parts.potentials[1] - whole
            if space.members[0] > 0 and space.members[1] > 0 and saved > most:
                most = saved
                for p in range(start, stop):
                    best[p] = space.places[p] != space.places[start]
        clear(rows, ids, space, start, stop)
    return most
