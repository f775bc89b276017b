"""A fixed number of clusters, one more or one fewer: the steps of a path, each as local as it can.

Rows move one by one by the rule of `kernels.local.relocate`, but a row looks only at clusters that
have changed since it last looked. For it keeps a bound on what all others would cost it: these
still cost what they did. Nothing is missed by that, and after a step few rows have much to do.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.local import FLOOR, NOISE, add_up, choose, relocate
from hardbayes.kernels.rows import Centres, blend, pick, row_cost
from hardbayes.kernels.totals import Totals

# No literals, for these would have other kernels compiled once more.
MAX_PASSES = np.int64(16)  # of the rows of a cluster that is divided
BEGIN = np.int64(0)
SECOND = np.int64(1)
EVERY = np.int64(1)
ALL = np.bool_(False)


class SteppingClusters(NamedTuple):
    """Clusters in slots, and what rows know of them; a slot without members is free."""

    labels: np.ndarray  # (n,) int32: slots
    sizes: np.ndarray  # (slots,): weights
    members: np.ndarray  # (slots,) int64: rows of any weight
    table: Centres
    changed: np.ndarray  # (slots,) int64: when a row last came or went
    older: np.ndarray  # (slots + 1,) int64: the cluster that changed before; the ring's last place
    newer: np.ndarray  # (slots + 1,) int64: is none's, but begins and ends it
    apart: np.ndarray  # (slots, slots): squared distance of a slot's centre and a later one's
    measured: np.ndarray  # (slots, slots) int64: when they were measured
    looked: np.ndarray  # (n,) int64: when each row last looked
    bound: np.ndarray  # (n,): what clusters unchanged since then would cost it at least
    clock: np.ndarray  # (1,) int64


class Divisions(NamedTuple):
    """For every slot the best way found to make two clusters of it."""

    saved: np.ndarray  # (slots,)
    halves: np.ndarray  # (slots, 2, d): centres of the two parts
    when: np.ndarray  # (slots,) int64: when the cluster had last changed then; -1: never divided
    sizes: np.ndarray  # (slots,): its weight then
    centres: np.ndarray  # (slots, d)


class Room(NamedTuple):
    """Where the rows of one cluster are divided."""

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
    snaps: tuple  # zeros, for sums as they come
    one: np.ndarray  # [0, 1]: the group has one slot
    two: np.ndarray  # [0, 2]
    tally: np.ndarray  # (2,) int64


@part
def leave_ring(clusters, c):
    """Take a cluster out of the ring."""
    clusters.older[clusters.newer[c]] = clusters.older[c]
    clusters.newer[clusters.older[c]] = clusters.newer[c]


@part
def enter_ring(clusters, c):
    """Note that a cluster, which is not in the ring, has changed."""
    ring = clusters.sizes.shape[0]
    latest = clusters.older[ring]
    clusters.older[c] = latest
    clusters.newer[c] = ring
    clusters.newer[latest] = c
    clusters.older[ring] = c
    clusters.changed[c] = clusters.clock[0]


@part
def squared_gap(exact, a, b):
    """Squared distance of rows a and b of a matrix."""
    square = 0.0
    for j in range(exact.shape[1]):
        difference = exact[a, j] - exact[b, j]
        square += difference * difference
    return square


@part
def separation(clusters, a, b):
    """Return the squared distance of two centres, measured anew only where one has changed."""
    first, last = min(a, b), max(a, b)
    if clusters.measured[first, last] < max(clusters.changed[a], clusters.changed[b]):
        clusters.apart[first, last] = squared_gap(clusters.table.exact, a, b)
        clusters.measured[first, last] = clusters.clock[0]
    return clusters.apart[first, last]


@kernel
def settle(rows, weights, constants, clusters, patience, progress, entries):
    """Let rows move while the objective falls, until no more than ``patience`` do in a pass.

    Return whether they are done, else call again.

    With squared distances a row of weight w pays ``w N / (N + w) d^2`` to join a cluster of weight
    N, and frees ``w N / (N - w) d^2`` where it leaves one; both are compared without the factor w,
    so that rows without weight go where they are nearest. Nobody leaves a cluster empty.

    IN/OUT progress (2,) int64: the next row, and how many have moved in this pass, zeros at first;
    IN entries: so many entries of centres are compared with in a call.
    """
    labels, sizes, members, table = clusters[:4]
    changed, older = clusters.changed, clusters.older
    ring = sizes.shape[0]
    n, d = labels.shape[0], table.exact.shape[1]
    while entries >= 0:
        for i in range(progress[0], n):
            seen = clusters.looked[i]
            c = older[ring]
            own = np.int64(labels[i])
            weight = pick(weights, i)
            if changed[c] <= seen or (weight > 0.0 and members[own] == 1):
                continue
            left = sizes[own] - weight
            freed = sizes[own] / left * row_cost(rows, i, constants, table, own)
            second = clusters.bound[i]
            if freed > second:  # its own has changed so that others might be cheaper now
                second = np.inf
                seen = np.int64(-1)
            least = np.inf
            winner = np.int64(-1)
            while c != ring and changed[c] > seen:
                if c != own:
                    price = sizes[c] / (sizes[c] + weight) * row_cost(rows, i, constants, table, c)
                    if price < least:
                        price, least = least, price
                        winner = c
                    second = min(second, price)
                    entries -= d
                c = older[c]
            clusters.looked[i] = clusters.clock[0]
            if least < freed - NOISE * freed - FLOOR * np.sqrt(freed):
                labels[i] = winner
                progress[1] += 1
                if weight == 0.0:
                    clusters.bound[i] = min(second, freed)
                    continue
                clusters.bound[i] = second
                blend(rows, i, sizes[own] / left, -weight / left, table, own)
                share = weight / (sizes[winner] + weight)
                blend(rows, i, 1.0 - share, share, table, winner)
                sizes[own] = left
                sizes[winner] += weight
                members[own] -= 1
                members[winner] += 1
                clusters.clock[0] += 1
                for c in (own, winner):
                    leave_ring(clusters, c)
                    enter_ring(clusters, c)
            else:
                clusters.bound[i] = min(least, second)
            if entries < 0 and i < n - 1:
                progress[0] = i + 1
                return False
        if progress[1] <= patience:
            return True
        progress[:] = 0
    return False


@kernel
def unite(clusters, a, b):
    """Give the rows of cluster b to a; slot b is free."""
    labels, sizes, members, table = clusters[:4]
    for i in range(labels.shape[0]):
        if labels[i] == b:
            labels[i] = a
    total = sizes[a] + sizes[b]
    square = 0.0
    for j in range(table.exact.shape[1]):
        c = (sizes[a] * table.exact[a, j] + sizes[b] * table.exact[b, j]) / total
        table.exact[a, j] = c
        square += c * c
    table.exact_offset[a] = square
    sizes[a] = total
    sizes[b] = 0.0
    members[a] += members[b]
    members[b] = 0
    clusters.clock[0] += 1
    leave_ring(clusters, b)
    leave_ring(clusters, a)
    enter_ring(clusters, a)


@kernel
def price_unions(clusters, partners, costs):
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


@part
def gather(labels, c, step, ids):
    """OUT ids: every so manieth row of a cluster; returns how many."""
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
def measure_parts(rows, weights, room, m):
    """OUT room.sizes, room.members, room.parts: of the rows where they are; whether both have any.

    Sums are plain float64, in the order of the rows.
    """
    totals, exact = room.totals, room.parts.exact
    totals.coarse[:] = 0.0
    totals.weight_coarse[:] = 0.0
    add_up(rows, weights, room.ids, room.places, totals, room.snaps, BEGIN, m)
    room.members[:] = 0
    for p in range(m):
        if pick(weights, room.ids[p]) > 0.0:
            room.members[room.places[p]] += 1
    if room.members[0] == 0 or room.members[1] == 0:
        return False
    for side in range(2):
        room.sizes[side] = totals.weight_coarse[side]
        square = 0.0
        for j in range(exact.shape[1]):
            c = totals.coarse[side, j] / room.sizes[side]
            exact[side, j] = c
            square += c * c
        room.parts.exact_offset[side] = square
    return True


@part
def draw(rows_weights, ids, chances, m, toss):
    """Return a position, drawn by weight times chance; the last where nothing has a chance."""
    whole = 0.0
    for p in range(m):
        whole += pick(rows_weights, ids[p]) * chances[p]
    target = toss * whole
    for p in range(m):
        target -= pick(rows_weights, ids[p]) * chances[p]
        if target < 0.0:
            return p
    return m - 1


@part
def copy_centre(source, a, target, b):
    """OUT target: the centre in slot b is that of the source in slot a."""
    for j in range(source.exact.shape[1]):
        target.exact[b, j] = source.exact[a, j]
    target.exact_offset[b] = source.exact_offset[a]


@part
def has_hardly_changed(clusters, divisions, c, hardly, moved):
    """Whether the division known of a cluster will do."""
    if divisions.when[c] < 0:
        return False
    if clusters.changed[c] <= divisions.when[c]:
        return True
    if abs(clusters.sizes[c] - divisions.sizes[c]) >= hardly * divisions.sizes[c]:
        return False
    square = 0.0
    for j in range(divisions.centres.shape[1]):
        difference = clusters.table.exact[c, j] - divisions.centres[c, j]
        square += difference * difference
    return clusters.sizes[c] * square < moved


@kernel
def divide(
    rows, weights, constants, clusters, divisions, hardly, moved, most, tosses, room, first, entries
):  # fmt: skip
    """Divide clusters in two, each in several ways, of which the best is kept.

    From around pairs of rows drawn by their cost; then rows move one by one. Clusters that have
    hardly changed keep the division known of them: those that gained or lost less than the part
    ``hardly`` of their weight, and moved for less than ``moved``.

    IN most: about so many rows of a cluster are taken; tosses (slots, starts, 2) in [0, 1); first:
    the slot to begin with; entries: so many are compared with in a call; OUT divisions. Returns the
    slot to go on with.
    """
    ids, places = room.ids, room.places
    d = room.parts.exact.shape[1]
    for c in range(first, clusters.sizes.shape[0]):
        if clusters.members[c] == 0 or has_hardly_changed(clusters, divisions, c, hardly, moved):
            continue
        if entries < 0:
            return c
        divisions.when[c] = clusters.changed[c]
        divisions.sizes[c] = clusters.sizes[c]
        for j in range(d):
            divisions.centres[c, j] = clusters.table.exact[c, j]
        divisions.saved[c] = 0.0
        m = gather(clusters.labels, c, (clusters.members[c] - 1) // most + 1, ids)
        copy_centre(clusters.table, c, room.parts, BEGIN)
        choose(
            rows, constants, room.parts, ids, room.groups, room.one, places, room.costs, BEGIN, m
        )
        for start in range(tosses.shape[1]):
            entries -= m * d * MAX_PASSES
            drawn = ids[draw(weights, ids, room.costs, m, tosses[c, start, 0])]
            blend(rows, drawn, 0.0, 1.0, room.parts, BEGIN)
            choose(
                rows, constants, room.parts, ids, room.groups, room.one, places, room.distances,
                BEGIN, m,
            )  # fmt: skip
            rival = ids[draw(weights, ids, room.distances, m, tosses[c, start, 1])]
            blend(rows, rival, 0.0, 1.0, room.parts, SECOND)
            choose(
                rows, constants, room.parts, ids, room.groups, room.two, places, room.distances,
                BEGIN, m,
            )  # fmt: skip
            if not measure_parts(rows, weights, room, m):
                continue
            room.tally[:] = 0
            relocate(
                rows, weights, constants, room.parts, room.sizes, room.members, ids, room.groups,
                room.two, places, 0.0, 0.0, room.near, ALL, room.tally, MAX_PASSES,
                BEGIN, m,
            )  # fmt: skip
            both = room.sizes[0] + room.sizes[1]
            saved = (
                room.sizes[0] * room.sizes[1] / both * squared_gap(room.parts.exact, BEGIN, SECOND)
            )
            saved *= clusters.sizes[c] / both  # as if the rows taken were the whole
            if saved > divisions.saved[c]:
                divisions.saved[c] = saved
                for side in range(2):
                    for j in range(d):
                        divisions.halves[c, side, j] = room.parts.exact[side, j]
    return clusters.sizes.shape[0]


@kernel
def split(rows, weights, constants, clusters, divisions, c, new, room):
    """Divide cluster c as found, its second part goes to slot ``new``; whether both have rows."""
    m = gather(clusters.labels, c, EVERY, room.ids)
    for side in range(2):
        square = 0.0
        for j in range(room.parts.exact.shape[1]):
            value = divisions.halves[c, side, j]
            room.parts.exact[side, j] = value
            square += value * value
        room.parts.exact_offset[side] = square
    choose(
        rows, constants, room.parts, room.ids, room.groups, room.two, room.places, room.costs,
        BEGIN, m,
    )  # fmt: skip
    if not measure_parts(rows, weights, room, m):
        return False
    for p in range(m):
        if room.places[p] == 1:
            clusters.labels[room.ids[p]] = new
    clusters.clock[0] += 1
    leave_ring(clusters, c)
    for side in range(2):
        slot = new if side == 1 else c
        clusters.sizes[slot] = room.sizes[side]
        clusters.members[slot] = room.members[side]
        copy_centre(room.parts, side, clusters.table, slot)
        enter_ring(clusters, slot)
    return True


@kernel
def total_cost(rows, weights, constants, clusters):
    """Return the sum of the weighted costs of all rows."""
    total = 0.0
    for i in range(clusters.labels.shape[0]):
        total += pick(weights, i) * row_cost(rows, i, constants, clusters.table, clusters.labels[i])
    return total
