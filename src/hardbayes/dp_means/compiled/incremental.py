"""A partition that gains or loses one cluster at a time: the steps of a path.

Rows move one by one by the rule of `single_row`, but a row is compared only with clusters that have
changed since it was last compared. A bound on what all others would cost it still holds. So no move
is missed, and after a step few rows have much to do.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.arrays import Centres
from hardbayes.core.compiling import kernel, part
from hardbayes.core.rows import pick, row_cost, squared_gap
from hardbayes.dp_means.compiled.single_row import is_worth_it, transfer

MANY_PASSES = 1000  # after which moves that only rounding makes are suspected


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
