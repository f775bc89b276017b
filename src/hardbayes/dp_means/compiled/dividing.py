"""Trial divisions of clusters in two, by centres or by totals.

Divide clusters in two: the best of several ways, each started around two rows.

Halve clusters that are given by their totals.

In several ways, of which the best are refined: rows are placed one after the other around a pair of
rows drawn by their cost; single-row moves follow where that saved most.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.arrays import Centres, Totals
from hardbayes.core.compiling import inlined, kernel, part
from hardbayes.core.rows import blend, entries, entry, pick, squared_gap
from hardbayes.dp_means.compiled.cluster_totals import (
    BINARY,
    ClusterTotals,
    add,
    forget_sums,
    join,
    refresh,
)
from hardbayes.dp_means.compiled.sweeping import add_up, choose, move_rows

# Not literals: with those, other kernels would be compiled once more.
MAX_PASSES = np.int64(16)  # of the rows of a cluster that is divided
BEGIN = np.int64(0)
SECOND = np.int64(1)
ALL = np.bool_(False)


class Divisions(NamedTuple):
    """For every slot the best way found to make two clusters of it."""

    saved: np.ndarray  # (slots,)
    halves: np.ndarray  # (slots, 2, d): centres of the two parts
    when: np.ndarray  # (slots,) int64: when the cluster had last changed then; -1: never divided
    sizes: np.ndarray  # (slots,): its weight then
    centres: np.ndarray  # (slots, d)


class Workspace(NamedTuple):
    """Scratch memory for the rows of one cluster."""

    ids: np.ndarray  # (n,) intp
    groups: np.ndarray  # (n,) intp: zeros, for they are all of one group
    places: np.ndarray  # (n,) int64
    near: np.ndarray  # (n,) bool
    costs: np.ndarray  # (n,)
    distances: np.ndarray  # (n,)
    parts: Centres  # of two slots
    sizes: np.ndarray  # (2,)
    members: np.ndarray  # (2,) int64
    totals: Totals  # of two slots
    no_rounding: tuple  # zeros, for plain sums
    one: np.ndarray  # [0, 1]: the group has one slot
    two: np.ndarray  # [0, 2]
    tally: np.ndarray  # (2,) int64
    gain: np.ndarray  # (1,)
    no_goal: np.ndarray  # (1,): NaN


@part
def gather(labels, c, step, ids):
    """OUT ids: every ``step``-th row of a cluster; returns how many."""
    m = np.int64(0)
    seen = np.int64(0)
    for i in range(labels.shape[0]):
        if labels[i] == c:
            if seen % step == 0:
                ids[m] = i
                m += 1
            seen += 1
    return m


@part
def measure_parts(rows, weights, ids, places, parts, sizes, members, totals, no_rounding, m):
    """OUT sizes, members, parts: of rows ``ids`` (m,) in ``places``; return whether both have any.

    Sums are plain float64, in the order of the rows.
    """
    totals.coarse[:] = 0.0
    totals.weight_coarse[:] = 0.0
    add_up(rows, weights, ids, places, totals, no_rounding, no_rounding, BEGIN, m)
    members[:] = 0
    for p in range(m):
        if pick(weights, ids[p]) > 0.0:
            members[places[p]] += 1
    if members[0] == 0 or members[1] == 0:
        return False
    for side in range(2):
        sizes[side] = totals.weight_coarse[side]
        square = 0.0
        for j in range(parts.exact.shape[1]):
            c = totals.coarse[side, j] / sizes[side]
            parts.exact[side, j] = c
            square += c * c
        parts.exact_offset[side] = square
    return True


@part
def draw(weights, ids, chances, m, number):
    """Return a position, drawn by weight times chance; the last where nothing has a chance."""
    whole = 0.0
    for p in range(m):
        whole += pick(weights, ids[p]) * chances[p]
    target = number * whole
    for p in range(m):
        target -= pick(weights, ids[p]) * chances[p]
        if target < 0.0:
            return p
    return m - 1


@part
def is_unchanged(clusters, divisions, c, unchanged, moved):
    """Whether a cluster may keep the division found before."""
    if divisions.when[c] < 0:
        return False
    if clusters.changed[c] <= divisions.when[c]:
        return True
    if abs(clusters.sizes[c] - divisions.sizes[c]) >= unchanged * divisions.sizes[c]:
        return False
    square = 0.0
    for j in range(divisions.centres.shape[1]):
        difference = clusters.table.exact[c, j] - divisions.centres[c, j]
        square += difference * difference
    return clusters.sizes[c] * square < moved


@kernel
def divide(
    rows, weights, constants, clusters, divisions, unchanged, moved, most, draws, space, first,
    entries,
):  # fmt: skip
    """Divide clusters in two, each in several ways, of which the best is kept.

    Each way starts around a pair of rows drawn by their cost; then rows move one by one. Clusters
    keep the division found before where they gained or lost less than the part ``unchanged`` of
    their weight, and moved for less than ``moved``.

    IN most: about so many rows of a cluster are used; draws (slots, starts, 2) in [0, 1); first:
    the slot to begin with; entries: so many are compared with in a call; OUT divisions. Returns the
    slot to go on with.
    """
    ids, groups, places, near = space.ids, space.groups, space.places, space.near
    costs, distances, parts, sizes = space.costs, space.distances, space.parts, space.sizes
    members, totals, tally, gain = space.members, space.totals, space.tally, space.gain
    one, two = space.one, space.two
    d = parts.exact.shape[1]
    for c in range(first, clusters.sizes.shape[0]):
        if clusters.members[c] == 0 or is_unchanged(clusters, divisions, c, unchanged, moved):
            continue
        if entries < 0:
            return c
        divisions.when[c] = clusters.changed[c]
        divisions.sizes[c] = clusters.sizes[c]
        for j in range(d):
            divisions.centres[c, j] = clusters.table.exact[c, j]
        divisions.saved[c] = 0.0
        m = gather(clusters.labels, c, (clusters.members[c] - 1) // most + 1, ids)
        for j in range(d):
            parts.exact[0, j] = clusters.table.exact[c, j]
        parts.exact_offset[0] = clusters.table.exact_offset[c]
        choose(rows, constants, parts, ids, groups, one, places, costs, BEGIN, m)
        for start in range(draws.shape[1]):
            entries -= m * d * MAX_PASSES
            for side in range(2):  # around a row, then around another far from it
                chances, slots = (costs, one) if side == 0 else (distances, two)
                drawn = ids[draw(weights, ids, chances, m, draws[c, start, side])]
                blend(rows, drawn, 0.0, 1.0, parts, side)
                choose(rows, constants, parts, ids, groups, slots, places, distances, BEGIN, m)
            if not measure_parts(
                rows, weights, ids, places, parts, sizes, members, totals, space.no_rounding, m
            ):
                continue
            tally[:] = 0
            move_rows(
                rows, weights, constants, parts, sizes, members, ids, groups, two, places, 0.0, 0.0,
                near, ALL, tally, gain, space.no_goal, MAX_PASSES, BEGIN, m,
            )  # fmt: skip
            both = sizes[0] + sizes[1]
            saved = sizes[0] * sizes[1] / both * squared_gap(parts.exact, BEGIN, SECOND)
            saved *= clusters.sizes[c] / both  # as if the rows taken were the whole
            if saved > divisions.saved[c]:
                divisions.saved[c] = saved
                for side in range(2):
                    for j in range(d):
                        divisions.halves[c, side, j] = parts.exact[side, j]
    return clusters.sizes.shape[0]


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
