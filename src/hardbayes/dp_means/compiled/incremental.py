"""A partition that gains or loses one cluster at a time: the steps of a path.

Rows move one by one by the rule of `single_row`, but a row is compared only with clusters that have
changed since it was last compared. A bound on what all others would cost it still holds. So no move
is missed, and after a step few rows have much to do. Clusters are divided in two in several ways,
each started around two rows, of which the best is kept.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.arrays import Centres, Totals
from hardbayes.core.compiling import kernel, part
from hardbayes.core.rows import blend, pick, row_cost, squared_gap
from hardbayes.dp_means.compiled.single_row import is_worth_it, transfer
from hardbayes.dp_means.compiled.sweeping import add_up, choose, move_rows

MANY_PASSES = 1000  # after which moves that only rounding makes are suspected
# Not literals: with those, other kernels would be compiled once more.
MAX_PASSES = np.int64(16)  # of the rows of a cluster that is divided
BEGIN = np.int64(0)
SECOND = np.int64(1)
ALL = np.bool_(False)


class IncrementalClusters(NamedTuple):
    """Clusters in slots, and when rows were compared with them; a slot without members is free."""

    labels: np.ndarray  # (n,) int32: slots
    sizes: np.ndarray  # (slots,): weights
    members: np.ndarray  # (slots,) int64: rows of positive weight
    table: Centres
    changed: np.ndarray  # (slots,) int64: when a row last came or went
    older: np.ndarray  # (slots + 1,) int64: a ring of clusters by time of change, and its
    newer: np.ndarray  # (slots + 1,) int64: inverse; the last place begins and ends the ring
    apart: np.ndarray  # (slots, slots): squared distance of a slot's centre and a later one's
    measured: np.ndarray  # (slots, slots) int64: when they were measured
    compared: np.ndarray  # (n,) int64: when each row was last compared
    bound: np.ndarray  # (n,): what clusters unchanged since then would cost it at least
    clock: np.ndarray  # (1,) int64


@part
def leave_ring(clusters, c):
    """Take a cluster out of the ring."""
    clusters.older[clusters.newer[c]] = clusters.older[c]
    clusters.newer[clusters.older[c]] = clusters.newer[c]


@part
def enter_ring(clusters, c):
    """Put a cluster that has just changed into the ring."""
    ring = clusters.sizes.shape[0]
    latest = clusters.older[ring]
    clusters.older[c] = latest
    clusters.newer[c] = ring
    clusters.newer[latest] = c
    clusters.older[ring] = c
    clusters.changed[c] = clusters.clock[0]


@part
def separation(clusters, a, b):
    """Return the squared distance of two centres, measured anew only where one has changed."""
    first, last = min(a, b), max(a, b)
    if clusters.measured[first, last] < max(clusters.changed[a], clusters.changed[b]):
        clusters.apart[first, last] = squared_gap(clusters.table.exact, a, b)
        clusters.measured[first, last] = clusters.clock[0]
    return clusters.apart[first, last]


@kernel
def move_rows_changed(rows, weights, constants, clusters, max_changes, progress, entries):
    """Move rows while the objective falls, until at most ``max_changes`` move in a pass.

    After every MANY_PASSES twice as many may: rows at a tie may change places for ever by rounding.
    Return whether that is reached, else call again. What a row pays and frees is compared without
    the factor of its weight, so that rows without weight go where they are nearest. The last row
    of a cluster stays.

    IN/OUT progress (3,) int64: the next row, how many have moved in this pass, and the number of
    passes, zeros at first;
    IN entries: so many entries of centres are compared with in a call.
    """
    labels, sizes, members, table = clusters[:4]
    changed, older = clusters.changed, clusters.older
    ring = sizes.shape[0]
    n, d = labels.shape[0], table.exact.shape[1]
    while entries >= 0:
        for i in range(progress[0], n):
            seen = clusters.compared[i]
            c = older[ring]
            own = np.int64(labels[i])
            weight = pick(weights, i)
            if changed[c] <= seen or (weight > 0.0 and members[own] == 1):
                continue
            left = sizes[own] - weight
            frees = sizes[own] / left * row_cost(rows, i, constants, table, own)
            second = clusters.bound[i]
            if frees > second:  # its own has changed so that others might be cheaper now
                second = np.inf
                seen = np.int64(-1)
            least = np.inf
            winner = np.int64(-1)
            while c != ring and changed[c] > seen:
                if c != own:
                    pays = sizes[c] / (sizes[c] + weight) * row_cost(rows, i, constants, table, c)
                    if pays < least:
                        pays, least = least, pays
                        winner = c
                    second = min(second, pays)
                    entries -= d
                c = older[c]
            clusters.compared[i] = clusters.clock[0]
            if is_worth_it(least, frees, 1.0):
                labels[i] = winner
                progress[1] += 1
                if weight == 0.0:
                    clusters.bound[i] = min(second, frees)
                    continue
                clusters.bound[i] = second
                transfer(rows, i, weight, own, winner, left, table, sizes, members)
                clusters.clock[0] += 1
                for c in (own, winner):
                    leave_ring(clusters, c)
                    enter_ring(clusters, c)
            else:
                clusters.bound[i] = min(least, second)
            if entries < 0 and i < n - 1:
                progress[0] = i + 1
                return False
        if progress[1] < (max_changes + 1) << (progress[2] // MANY_PASSES):
            return True
        progress[:2] = 0
        progress[2] += 1
    return False


@kernel
def union_costs(clusters, partners, costs):
    """OUT partners (slots,), costs (slots,): the cheapest union of each cluster with a later one.

    ``N M / (N + M) d^2``; infinite where there is none.
    """
    sizes = clusters.sizes
    for a in range(sizes.shape[0]):
        partners[a] = a
        costs[a] = np.inf
        if clusters.members[a] == 0:
            continue
        for b in range(a + 1, sizes.shape[0]):
            if clusters.members[b] > 0:
                cost = sizes[a] * sizes[b] / (sizes[a] + sizes[b]) * separation(clusters, a, b)
                if cost < costs[a]:
                    costs[a] = cost
                    partners[a] = b


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
