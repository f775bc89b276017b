"""Halves of clusters that are given by their totals.

In several ways, of which the best are refined: rows are placed one after the other around a pair of
rows drawn by their cost; single-row moves follow where that saved most.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel, part
from hardbayes.core.rows import entries, entry, pick
from hardbayes.dp_means.compiled.cluster_totals import (
    BINARY,
    ClusterTotals,
    add,
    forget_sums,
    join,
    refresh,
)
from hardbayes.dp_means.compiled.incremental import ALL, MAX_PASSES, draw
from hardbayes.dp_means.compiled.sweeping import move_rows


class Halves(NamedTuple):
    """Scratch memory for the rows of a cluster, at their positions in ``ids``, and its two parts.

    Both slots of the parts hold the prior alone between two calls.
    """

    groups: np.ndarray  # (m,) intp: zeros, for they are all of one group
    places: np.ndarray  # (m,) int64
    near: np.ndarray  # (m,) bool
    distances: np.ndarray  # (m,): what rows pay beside the one around which the first half begins
    parts: ClusterTotals  # of two slots
    sizes: np.ndarray  # (2,): with the prior's
    members: np.ndarray  # (2,) int64
    first: np.ndarray  # [0, 2]: the slots of the group
    tally: np.ndarray  # (2,) int64
    gain: np.ndarray  # (1,)
    no_goal: np.ndarray  # (1,): NaN


@inlined
def put(rows, weights, i, space, k):
    """Add row i to part k; `refresh` follows."""
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
def survey(rows, weights, constants, ids, space, costs, start, stop):
    """Return the potential of the cluster of rows ``ids[start:stop]``, and of a second prior.

    What halves save is the sum of their potentials less this. OUT costs (m,): what rows free where
    they leave the cluster. SCRATCH space.
    """
    parts = space.parts
    for p in range(start, stop):
        put(rows, weights, ids[p], space, np.int64(0))
    refresh(parts, space.sizes[0], 0)
    whole = parts.potentials[0] + parts.alone[2]
    pay(rows, weights, constants, ids, space, 0, -1.0, costs, start, stop)
    clear(rows, ids, space, start, stop)
    return whole


@kernel
def halve(rows, weights, constants, ids, costs, draws, whole, space, second, start, stop):
    """Halve the cluster of rows ``ids[start:stop]`` around two of them; return what that saves.

    The others join, one after the other, the half in which they cost less. Binary rows are placed
    all at once.

    IN costs (m,), whole: from `survey`; draws (2,) in [0, 1); OUT second (m,) bool: which rows are
    in the second half. SCRATCH space.
    """
    parts, sizes, seeds = space.parts, space.sizes, space.tally
    m = stop - start
    for k in range(2):
        chances = costs if k == 0 else space.distances
        seeds[k] = start + draw(weights, ids[start:stop], chances[start:stop], m, draws[k])
        put(rows, weights, ids[seeds[k]], space, np.int64(k))
        refresh(parts, sizes[k], k)
        space.places[seeds[k]] = k
        if k == 0:
            pay(rows, weights, constants, ids, space, 0, 1.0, space.distances, start, stop)
    # The larger a half of binary rows, the less a row unlike all others costs in it: nearly all
    # would join one half. So binary rows choose between the two rows alone.
    at_once = parts.formula != BINARY
    for p in range(start, stop):
        if p != seeds[0] and p != seeds[1]:
            i = ids[p]
            join(rows, i, pick(weights, i), parts, sizes, 0, 2)
            kept = parts.joined[0] - parts.potentials[0]
            other = parts.joined[1] - parts.potentials[1]
            space.places[p] = np.int64(other > kept)
            if at_once:
                k = space.places[p]
                put(rows, weights, i, space, k)
                refresh(parts, sizes[k], k)
    if not at_once:
        for p in range(start, stop):
            if p != seeds[0] and p != seeds[1]:
                put(rows, weights, ids[p], space, space.places[p])
        for k in range(2):
            refresh(parts, sizes[k], k)
    saved = 0.0
    if seeds[0] != seeds[1] and space.members[0] > 0 and space.members[1] > 0:
        saved = parts.potentials[0] + parts.potentials[1] - whole
    for p in range(start, stop):
        second[p] = space.places[p] == 1
    clear(rows, ids, space, start, stop)
    return saved


@kernel
def refine(rows, weights, constants, ids, whole, space, second, start, stop):
    """Move rows one by one between the halves of a cluster; return what these save then.

    IN whole: from `survey`; IN/OUT second (m,) bool: as of `halve`. SCRATCH space.
    """
    parts, sizes = space.parts, space.sizes
    for p in range(start, stop):
        space.places[p] = np.int64(second[p])
        put(rows, weights, ids[p], space, space.places[p])
    for k in range(2):
        refresh(parts, sizes[k], k)
    space.tally[:] = 0
    move_rows(
        rows, weights, constants, parts, sizes, space.members, ids, space.groups, space.first,
        space.places, 0.0, parts.prior_weight, space.near, ALL, space.tally, space.gain,
        space.no_goal, MAX_PASSES, start, stop,
    )  # fmt: skip
    saved = 0.0
    if space.members[0] > 0 and space.members[1] > 0:
        saved = parts.potentials[0] + parts.potentials[1] - whole
    for p in range(start, stop):
        second[p] = space.places[p] == 1
    clear(rows, ids, space, start, stop)
    return saved
