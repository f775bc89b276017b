"""A partition that gains or loses one cluster at a time, where clusters are given by totals.

Rows move one by one by the rule of `single_row`. A row is compared only with clusters that have
changed enough since it was last compared: by a small part of their weight, or by a larger one where
the row's own cluster is much cheaper for it than the others were then.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.cluster_totals import (
    NOISE,
    ClusterTotals,
    absorb,
    add,
    join,
    refresh,
)
from hardbayes.kernels.partition.rows import entries, pick
from hardbayes.kernels.partition.single_row import is_worth_it, leaving, transfer

SLIGHT, LARGE = 0, 1  # kinds of changes
# Slots are compared together where one in so many of them has changed, or more.
SEVERAL = 3


class SteppedClusters(NamedTuple):
    """Clusters in slots, and when rows were compared with them; a slot without members is free."""

    labels: np.ndarray  # (n,) int32: slots
    sizes: np.ndarray  # (slots,): weights with the prior's
    members: np.ndarray  # (slots,) int64: rows of positive weight
    totals: ClusterTotals
    changed: np.ndarray  # (2, slots) int64: when each last changed slightly, and largely
    pending: np.ndarray  # (2, slots): weight that came and went since
    compared: np.ndarray  # (n,) int64: when each row was last compared
    bound: np.ndarray  # (n,): what the other clusters cost it then at least, by its weight
    clock: np.ndarray  # (1,) int64


@part
def note_change(clusters, c):
    """Note that a cluster has become another."""
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
        join(rows, i, weight, clusters.totals, sizes, first, last)
    else:
        for c in range(first, last):
            if members[c] > 0 and c != own and changed[kind, c] > seen:
                join(rows, i, weight, clusters.totals, sizes, c, c + 1)
    return n_changed


@kernel
def relocate_stepped(
    rows, weights, constants, clusters, max_changes, tolerances, comfort, progress, budget
):
    """Move rows while the objective falls, until at most ``max_changes`` move in a pass.

    Return whether that is reached, else call again. The last row of a cluster stays, and so do rows
    without weight.

    IN tolerances (2,): parts of its weight by which a cluster changes slightly, and largely;
    comfort: rows are compared with clusters that changed largely, if others cost so many times
    their own; IN/OUT progress (2,) int64: the next row, and how many have moved in this pass, zeros
    at first; IN budget: so many entries of rows are compared with clusters in a call.
    """
    labels, sizes, members, totals = clusters[:4]
    potentials = totals.potentials
    n = labels.shape[0]
    while budget >= 0:
        for i in range(progress[0], n):
            own = np.int64(labels[i])
            weight = pick(weights, i)
            if weight == 0.0 or members[own] == 1:
                continue
            left = sizes[own] - weight
            frees = leaving(rows, i, weight, 1.0, constants, totals, sizes, own, left)
            seen = clusters.compared[i]
            second = clusters.bound[i]
            kind = LARGE if comfort * frees < second else SLIGHT
            if frees > second:  # its own has changed so that others might be cheaper now
                second = np.inf
                seen = np.int64(-1)
            n_changed = compare(rows, i, weight, clusters, own, kind, seen)
            if n_changed == 0:
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
            first, last = entries(rows, i)
            budget -= n_changed * (last - first)
            if is_worth_it(least, frees, 1.0):
                labels[i] = winner
                progress[1] += 1
                clusters.bound[i] = second
                transfer(rows, i, weight, own, winner, left, totals, sizes, members)
                clusters.clock[0] += 1
                for c in (own, winner):
                    for k in range(2):
                        clusters.pending[k, c] += weight
                        if clusters.pending[k, c] >= tolerances[k] * sizes[c]:
                            clusters.changed[k, c] = clusters.clock[0]
                            clusters.pending[k, c] = 0.0
            else:
                clusters.bound[i] = min(least, second)
            if budget < 0 and i < n - 1:
                progress[0] = i + 1
                return False
        if progress[1] <= max_changes:
            return True
        progress[:] = 0
    return False


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
