"""A partition that gains or loses one cluster at a time, where clusters are given by totals.

All rows find where to move by the rule of `single_row`, in parallel, while no cluster changes; then
they move one by one, each only where that still pays after the moves before. A row is compared only
with clusters that have changed enough since it was last compared: by a small part of their weight,
or by a larger one where the row's own cluster is much cheaper for it than the others were then.

Most of the time goes into logarithms. Of many rows, scores that are linear in the row pick the two
clusters that are compared: ``f(T + a) - f(T)`` is taken for ``a`` times its slope at a usual entry
of the column. What is wrong with that is much the same for all clusters, and is remembered for each
row.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel, part
from hardbayes.core.rows import entries, entry, pick
from hardbayes.dp_means.compiled.cluster_totals import (
    LANES,
    POTENTIAL_TOLERANCE,
    ClusterTotals,
    absorb,
    add,
    join,
    potential,
    refresh,
    t_log_t,
)
from hardbayes.dp_means.compiled.single_row import is_worth_it, leaving, transfer

SLIGHT, LARGE = 0, 1  # kinds of changes
# Slots are compared together where one in so many of them has changed, or more.
SEVERAL = 3
# Linear scores decide where all others cost a row so many times its own; the second is compared
# where it costs less than so many times the first.
DOUBT, CLOSE = 1.03, 1.03


class LinearScores(NamedTuple):
    """What a row adds to ``sum_j f(T_j)`` of each cluster, about; for no columns: not used."""

    usual: np.ndarray  # (d,): an entry of each column times its weight
    slopes: np.ndarray  # (d, slots) float32: of ``f`` between ``T`` and ``T`` with such an entry
    shift: np.ndarray  # (n,): what is to be added to what a row pays by these; NaN: not yet known
    sums: np.ndarray  # (slots,) float32 SCRATCH


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
    scores: LinearScores


@part
def note_change(clusters, c):
    """Note that a cluster has become another."""
    clusters.touched[c] = clusters.clock[0]
    clusters.changed[:, c] = clusters.clock[0]
    clusters.pending[:, c] = 0.0


@kernel
def find_usual(rows, weights, n_rows, usual, squares):
    """OUT usual (d,): mean of each column's entries times weights, weighted by itself.

    IN/OUT squares (d,): zeros; of these entries.
    """
    for i in range(n_rows):
        weight, scale = pick(weights, i), pick(rows.scale, i)
        first, last = entries(rows, i)
        for p in range(first, last):
            j, value = entry(rows, i, p, scale)
            usual[j] += weight * value
            squares[j] += weight * value * (weight * value)
    for j in range(usual.shape[0]):
        if usual[j] > 0.0:
            usual[j] = squares[j] / usual[j]


@kernel
def find_slopes(clusters, since, start, stop):
    """OUT clusters.scores.slopes: columns ``start`` to ``stop`` of clusters touched ``since``."""
    totals, terms, slopes = clusters.totals.totals, clusters.totals.terms, clusters.scores.slopes
    for j in range(start, stop):
        added = clusters.scores.usual[j]
        if added > 0.0:
            for c in range(slopes.shape[1]):
                if clusters.touched[c] > since:
                    slopes[j, c] = (t_log_t(totals[j, c] + added) - terms[j, c]) / added


@part
def compare(rows, i, weight, clusters, own, kind, seen):
    """OUT clusters.totals.joined: with row i, in clusters changed since.

    Return how many did, and whether their potentials are linear scores only.
    """
    changed, members, sizes = clusters.changed, clusters.members, clusters.sizes
    n_changed, first, last = 0, sizes.shape[0], 0
    for c in range(sizes.shape[0]):
        if members[c] > 0 and c != own and changed[kind, c] > seen:
            n_changed, first, last = n_changed + 1, min(first, c), c + 1
    is_rough = n_changed > 0 and clusters.scores.slopes.shape[0] > 0
    if is_rough:
        first, last = first - first % LANES, last + -last % LANES
        join_roughly(rows, i, weight, clusters, first, last)
    elif n_changed * SEVERAL > last - first:  # one by one, each takes longer
        first, last = first - first % LANES, last + -last % LANES
        join(rows, i, weight, clusters.totals, sizes, first, last)
    else:
        for c in range(first, last):
            if members[c] > 0 and c != own and changed[kind, c] > seen:
                join(rows, i, weight, clusters.totals, sizes, c, c + 1)
    return n_changed, is_rough


@inlined
def join_roughly(rows, i, weight, clusters, first, last):
    """OUT clusters.totals.joined: about the potentials of some slots with row i, of this weight."""
    totals, sums = clusters.totals, clusters.scores.sums[first:last]
    for c in range(sums.shape[0]):
        sums[c] = np.float32(0.0)
    scale = pick(rows.scale, i)
    start, stop = entries(rows, i)
    total = 0.0
    for p in range(start, stop):
        j, value = entry(rows, i, p, scale)
        total += weight * value
        added = np.float32(weight * value)
        slopes = clusters.scores.slopes[j, first:last]
        for c in range(sums.shape[0]):
            sums[c] += added * slopes[c]
    for c in range(first, last):
        terms = totals.term_sums[c] + sums[c - first]
        size = clusters.sizes[c] + weight
        totals.joined[c] = potential(totals, size, totals.sums[c] + total, terms)


@inlined
def paid(i, weight, constants, totals, c):
    """Return what row i pays in slot c, for one of its weight, by its potential with the row."""
    was = totals.potentials[c]
    return pick(constants, i) - (totals.joined[c] - was - POTENTIAL_TOLERANCE * abs(was)) / weight


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
    for i in range(start, stop):
        winners[i] = -1
        own = np.int64(labels[i])
        weight = pick(weights, i)
        if weight == 0.0 or members[own] == 1:
            continue
        second = clusters.bound[i]
        is_far = comfort * clusters.frees[i] < second
        when = clusters.changed[SLIGHT, own] if is_far else clusters.touched[own]
        if when > clusters.left[i]:
            rest = sizes[own] - weight
            frees = leaving(rows, i, weight, 1.0, constants, totals, sizes, own, rest)
            clusters.left[i], clusters.frees[i] = clusters.clock[0], frees
        frees = clusters.frees[i]
        seen = clusters.compared[i]
        kind = LARGE if comfort * frees < second else SLIGHT
        if frees > second:  # its own has changed so that others might be cheaper now
            second = np.inf
            seen = np.int64(-1)
        n_changed, is_rough = compare(rows, i, weight, clusters, own, kind, seen)
        if n_changed == 0:
            continue
        least, runner, others = np.inf, np.inf, np.inf
        winner, rival = np.int64(-1), np.int64(-1)
        for c in range(sizes.shape[0]):
            if members[c] > 0 and c != own and clusters.changed[kind, c] > seen:
                pays = paid(i, weight, constants, totals, c)
                if pays < least:
                    others, runner, least = runner, least, pays
                    rival, winner = winner, np.int64(c)
                elif pays < runner:
                    others, runner = runner, pays
                    rival = np.int64(c)
                else:
                    others = min(others, pays)
        if is_rough:
            shift = clusters.scores.shift[i]
            if least + shift > DOUBT * frees:
                least, runner, others = least + shift, runner + shift, others + shift
            else:
                join(rows, i, weight, totals, sizes, winner, winner + 1)
                pays = paid(i, weight, constants, totals, winner)
                shift = pays - least
                clusters.scores.shift[i] = shift
                least, others, runner = pays, others + shift, runner + shift
                if runner < CLOSE * least:
                    join(rows, i, weight, totals, sizes, rival, rival + 1)
                    runner = paid(i, weight, constants, totals, rival)
                    if runner < least:
                        least, runner = runner, least
                        winner = rival
        clusters.compared[i] = clusters.clock[0]
        second = min(second, runner, others)
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
        pays = paid(i, weight, constants, totals, winner)
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
