"""One cluster of a path made two: the best of several ways, each begun around two of its rows."""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.incremental import enter_ring, leave_ring
from hardbayes.kernels.partition.local import add_up, choose, relocate
from hardbayes.kernels.partition.rows import Centres, blend, pick, squared_gap
from hardbayes.kernels.partition.totals import Totals

# No literals, for these would have other kernels compiled once more.
MAX_PASSES = np.int64(16)  # of the rows of a cluster that is divided
BEGIN = np.int64(0)
SECOND = np.int64(1)
EVERY = np.int64(1)
ALL = np.bool_(False)


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
def choose_part(rows, constants, room, slots, costs, m):
    """OUT room.places, costs (m,): the cheaper part of each row in room.ids, of one or two."""
    choose(rows, constants, room.parts, room.ids, room.groups, slots, room.places, costs, BEGIN, m)


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
        choose_part(rows, constants, room, room.one, room.costs, m)
        for start in range(tosses.shape[1]):
            entries -= m * d * MAX_PASSES
            drawn = ids[draw(weights, ids, room.costs, m, tosses[c, start, 0])]
            blend(rows, drawn, 0.0, 1.0, room.parts, BEGIN)
            choose_part(rows, constants, room, room.one, room.distances, m)
            rival = ids[draw(weights, ids, room.distances, m, tosses[c, start, 1])]
            blend(rows, rival, 0.0, 1.0, room.parts, SECOND)
            choose_part(rows, constants, room, room.two, room.distances, m)
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
    choose_part(rows, constants, room, room.two, room.costs, m)
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
