"""A partition that gains or loses one cluster at a time, where clusters are given by totals.

All rows find where to move by the rule of `single_row`, in parallel, while no cluster changes; then
they move one by one, each only where that still pays after the moves before. A row is compared only
with clusters that have changed enough since it was last compared: by a small part of their weight,
or by a larger one where the row's own cluster is much cheaper for it than the others were then.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.cluster_totals import (
    LANES,
    NOISE,
    ClusterTotals,
    absorb,
    add,
    join,
    refresh,
)
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.partition.single_row import is_worth_it, leaving, transfer

SLIGHT, LARGE = 0, 1  # kinds of changes
# Slots are compared together where one in so many of them has changed, or more.
SEVERAL = 3


class SteppedClusters(NamedTuple):
    """Clusters in slots, and when rows were compared with them; a slot without members is free.

    The number of slots is a multiple of LANES.
    """

    labels: np.ndarray  # (n,) int32: slots
    sizes: np.ndarray  # (slots,): weights with the prior's
    members: np.ndarray  # (slots,) int64: rows of positive weight
    totals: ClusterTotals
    changed: np.ndarray  # (2, slots) int64: when each last changed slightly, and largely
    pending: np.ndarray  # (2, slots): weight that came and went since
    touched: np.ndarray  # (slots,) int64: when each last changed at all
    compared: np.ndarray  # (n,) int64: when each row was last compared
    bound: np.ndarray  # (n,): what the other clusters cost it then at least, by its weight
    left: np.ndarray  # (n,) int64: when it was computed what each row frees where it leaves
    frees: np.ndarray  # (n,): that, by its weight
    clock: np.ndarray  # (1,) int64


@part
def note_change(clusters, c):
    """Note that a cluster has become another."""
    clusters.touched[c] = clusters.clock[0]
    clusters.changed[:, c] = clusters.clock[0]
    clusters.pending[:, c] = 0.0


@part
def compare(rows, i, weight, clusters, own, kind, seen):
    """OUT clusters.totals.joined: with row i, in clusters changed since; return how many did."""
    changed, members, sizes = clusters.changed, clusters.members, clusters.sizes
    n_changed, first, last = 0, sizes.shape[0], 0
    for c in range(sizes.shape[0]):
        if members[c] > 0 and c != own and changed[kind, c] > seen:
            n_changed, first, last = n_changed + 1, min(first, c), c + 1
    if n_changed * SEVERAL > last - first:  # one by one, each takes longer
        first, last = first - first % LANES, last + -last % LANES
        join(rows, i, weight, clusters.totals, sizes, first, last)
    else:
        for c in range(first, last):
            if members[c] > 0 and c != own and changed[kind, c] > seen:
                join(rows, i, weight, clusters.totals, sizes, c, c + 1)
    return n_changed


@kernel
def find_moves(rows, weights, constants, clusters, comfort, winners, start, stop):
    """OUT winners (n,) int64: to which cluster each row should move, -1: none; no row moves yet.

    A row is compared with clusters that changed slightly since it was last compared; where others
    cost ``comfort`` times its own, with those that changed largely. The last row of a cluster
    stays, and so do rows without weight.

    Calls with other rows may run at the same time, each with scratch memory of its own.
    IN/OUT clusters.compared, clusters.bound: what the clusters beside the winner cost.
    """
    labels, sizes, members, totals = clusters[:4]
    potentials = totals.potentials
    for i in range(start, stop):
        winners[i] = -1
        own = np.int64(labels[i])
        weight = pick(weights, i)
        if weight == 0.0 or members[own] == 1:
            continue
        if clusters.touched[own] > clusters.left[i]:
            rest = sizes[own] - weight
            frees = leaving(rows, i, weight, 1.0, constants, totals, sizes, own, rest)
            clusters.left[i], clusters.frees[i] = clusters.clock[0], frees
        frees = clusters.frees[i]
        seen = clusters.compared[i]
        second = clusters.bound[i]
        kind = LARGE if comfort * frees < second else SLIGHT
        if frees > second:  # its own has changed so that others might be cheaper now
            second = np.inf
            seen = np.int64(-1)
        if compare(rows, i, weight, clusters, own, kind, seen) == 0:
            continue
        least = np.inf
        winner = np.int64(-1)
        for c in range(sizes.shape[0]):
            if members[c] > 0 and c != own and clusters.changed[kind, c] > seen:
                kept = totals.joined[c] - potentials[c] - NOISE * abs(potentials[c])
                pays = pick(constants, i) - kept / weight
                if pays < least:
                    pays, least = least, pays
                    winner = np.int64(c)
                second = min(second, pays)
        clusters.compared[i] = clusters.clock[0]
        if is_worth_it(least, frees, 1.0):
            winners[i] = winner
        else:
            second = min(least, second)
        clusters.bound[i] = second


@kernel
def make_moves(rows, weights, constants, clusters, tolerances, winners):
    """Move rows to their ``winners`` where, after the moves before, that lowers the objective.

    Return how many have moved. IN tolerances (2,): parts of its weight by which a cluster changes
    slightly, and largely.
    """
    labels, sizes, members, totals = clusters[:4]
    n_moved = 0
    for i in range(labels.shape[0]):
        winner, own = winners[i], np.int64(labels[i])
        if winner < 0 or members[own] == 1:
            continue
        weight = pick(weights, i)
        rest = sizes[own] - weight
        frees = leaving(rows, i, weight, 1.0, constants, totals, sizes, own, rest)
        join(rows, i, weight, totals, sizes, winner, winner + 1)
        potential = totals.potentials[winner]
        kept = totals.joined[winner] - potential - NOISE * abs(potential)
        pays = pick(constants, i) - kept / weight
        if not is_worth_it(pays, frees, 1.0):
            clusters.bound[i] = min(clusters.bound[i], pays)
            continue
        labels[i] = winner
        clusters.left[i] = -1
        n_moved += 1
        transfer(rows, i, weight, own, winner, rest, totals, sizes, members)
        clusters.clock[0] += 1
        for c in (own, winner):
            clusters.touched[c] = clusters.clock[0]
            for kind in range(2):
                clusters.pending[kind, c] += weight
                if clusters.pending[kind, c] >= tolerances[kind] * sizes[c]:
                    clusters.changed[kind, c] = clusters.clock[0]
                    clusters.pending[kind, c] = 0.0
    return n_moved


@kernel
def unite_slots(clusters, a, b):
    """Give the rows of cluster b to a; slot b is free."""
    labels, sizes, members, totals = clusters[:4]
    for i in range(labels.shape[0]):
        if labels[i] == b:
            labels[i] = a
    sizes[a] = absorb(totals, sizes, a, b)
    members[a] += members[b]
    members[b] = 0
    clusters.clock[0] += 1
    note_change(clusters, a)


@kernel
def part_from(rows, weights, clusters, ids, c, new):
    """Give rows ``ids`` of cluster c to the free slot ``new``."""
    labels, sizes, members, totals = clusters[:4]
    for p in range(ids.shape[0]):
        i = ids[p]
        weight = pick(weights, i)
        labels[i] = new
        add(rows, i, -weight, totals, c)
        add(rows, i, weight, totals, new)
        sizes[c] -= weight
        sizes[new] += weight
        members[c] -= np.int64(weight > 0.0)
        members[new] += np.int64(weight > 0.0)
    clusters.clock[0] += 1
    for slot in (c, new):
        refresh(totals, sizes[slot], slot)
        note_change(clusters, slot)
