"""A partition that gains or loses one cluster at a time: the steps of a path.

Rows move one by one by the rule of `single_row`, but a row is compared only with clusters that have
changed since it was last compared. A bound on what all others would cost it still holds. So no move
is missed, and after a step few rows have much to do.
"""

from typing import NamedTuple

import numpy as np

from numba.extending import overload

from hardbayes.kernels.compiling import INLINE, kernel, part
from hardbayes.kernels.partition.cluster_totals import ClusterTotals, absorb, add, join, refresh
from hardbayes.kernels.partition.rows import entries, pick, row_cost, squared_gap
from hardbayes.kernels.partition.single_row import NOISE, is_worth_it, leaving, transfer
from hardbayes.tuples import Centres


# Slots are compared together where one in so many of them has changed, or more.
SEVERAL = 3


class IncrementalClusters(NamedTuple):
    """Clusters in slots, and when rows were compared with them; a slot without members is free."""

    labels: np.ndarray  # (n,) int32: slots
    sizes: np.ndarray  # (slots,): weights, with the prior's
    members: np.ndarray  # (slots,) int64: rows of positive weight
    table: Centres | ClusterTotals
    changed: np.ndarray  # (slots,) int64: when rows last came or went
    pending: np.ndarray  # (slots,): weight that came and went since, too little to count
    older: np.ndarray  # (slots + 1,) int64: a ring of clusters by time of change, and its
    newer: np.ndarray  # (slots + 1,) int64: inverse; the last place begins and ends the ring
    apart: np.ndarray  # (slots, slots): squared distance of a slot's centre and a later one's;
    measured: np.ndarray  # (slots, slots) int64: when measured; both empty where there is none
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
    clusters.pending[c] = 0.0


@part
def separation(clusters, a, b):
    """Return the squared distance of two centres, measured anew only where one has changed."""
    first, last = min(a, b), max(a, b)
    if clusters.measured[first, last] < max(clusters.changed[a], clusters.changed[b]):
        clusters.apart[first, last] = squared_gap(clusters.table.exact, a, b)
        clusters.measured[first, last] = clusters.clock[0]
    return clusters.apart[first, last]


def compare(rows, i, weight, clusters, seen):
    """Prepare `joining` row i to all clusters that have changed since ``seen``."""


def joining(rows, i, weight, constants, clusters, k):
    """What row i pays to join cluster k, for each unit of its weight."""


@overload(compare, jit_options=INLINE)
def _compare(rows, i, weight, clusters, seen):
    if clusters.types[3].instance_class is Centres:
        return lambda rows, i, weight, clusters, seen: None

    def find(rows, i, weight, clusters, seen):
        sizes, table = clusters.sizes, clusters.table
        ring = sizes.shape[0]
        n_changed, first, last = 0, ring, 0
        c = clusters.older[ring]
        while c != ring and clusters.changed[c] > seen:
            n_changed, first, last = n_changed + 1, min(first, c), max(last, c + 1)
            c = clusters.older[c]
        if n_changed * SEVERAL > last - first:  # one by one, each takes longer
            join(rows, i, weight, table, sizes, first, last)
            return
        c = clusters.older[ring]
        while c != ring and clusters.changed[c] > seen:
            join(rows, i, weight, table, sizes, c, c + 1)
            c = clusters.older[c]

    return find


@overload(joining, jit_options=INLINE)
def _joining(rows, i, weight, constants, clusters, k):
    if clusters.types[3].instance_class is Centres:

        def pay(rows, i, weight, constants, clusters, k):
            sizes = clusters.sizes
            return sizes[k] / (sizes[k] + weight) * row_cost(rows, i, constants, clusters.table, k)

    else:

        def pay(rows, i, weight, constants, clusters, k):
            table = clusters.table
            kept = table.joined[k] - table.potentials[k] - NOISE * abs(table.potentials[k])
            return pick(constants, i) - kept / weight

    return pay


@kernel
def relocate_changed(rows, weights, constants, clusters, max_changes, tolerance, progress, budget):
    """Move rows while the objective falls, until at most ``max_changes`` move in a pass.

    Return whether that is reached, else call again. What a row pays and frees is compared without
    the factor of its weight, so that rows without weight go where they are nearest (but stay where
    clusters are given by their totals). The last row of a cluster stays.

    IN tolerance: a cluster counts as changed once this part of its weight has come or gone; IN/OUT
    progress (2,) int64: the next row, and how many have moved in this pass, zeros at first;
    IN budget: so many entries of rows are compared with clusters in a call.
    """
    labels, sizes, members, table = clusters[:4]
    changed, older = clusters.changed, clusters.older
    ring = sizes.shape[0]
    n = labels.shape[0]
    if tolerance == 0.0:
        for k in range(ring):
            if clusters.pending[k] > 0.0:
                leave_ring(clusters, k)
                enter_ring(clusters, k)
    while budget >= 0:
        for i in range(progress[0], n):
            seen = clusters.compared[i]
            c = older[ring]
            own = np.int64(labels[i])
            weight = pick(weights, i)
            if changed[c] <= seen or (weight > 0.0 and members[own] == 1):
                continue
            left = sizes[own] - weight
            frees = leaving(rows, i, weight, 1.0, constants, table, sizes, own, left)
            second = clusters.bound[i]
            if frees > second:  # its own has changed so that others might be cheaper now
                second = np.inf
                seen = np.int64(-1)
            least = np.inf
            winner = np.int64(-1)
            start, stop = entries(rows, i)
            compare(rows, i, weight, clusters, seen)
            while c != ring and changed[c] > seen:
                if c != own:
                    pays = joining(rows, i, weight, constants, clusters, c)
                    if pays < least:
                        pays, least = least, pays
                        winner = c
                    second = min(second, pays)
                    budget -= stop - start
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
                    clusters.pending[c] += weight
                    if clusters.pending[c] >= tolerance * sizes[c]:
                        leave_ring(clusters, c)
                        enter_ring(clusters, c)
            else:
                clusters.bound[i] = min(least, second)
            if budget < 0 and i < n - 1:
                progress[0] = i + 1
                return False
        if progress[1] <= max_changes:
            return True
        progress[:] = 0
    return False


def swallow(table, sizes, a, b):
    """Add cluster b to a, and empty it; return the size of both."""


@overload(swallow, jit_options=INLINE)
def _swallow(table, sizes, a, b):
    if table.instance_class is not Centres:
        return lambda table, sizes, a, b: absorb(table, sizes, a, b)

    def mix(table, sizes, a, b):
        total = sizes[a] + sizes[b]
        square = 0.0
        for j in range(table.exact.shape[1]):
            c = (sizes[a] * table.exact[a, j] + sizes[b] * table.exact[b, j]) / total
            table.exact[a, j] = c
            square += c * c
        table.exact_offset[a] = square
        sizes[b] = 0.0
        return total

    return mix


@kernel
def unite(clusters, a, b):
    """Give the rows of cluster b to a; slot b is free."""
    labels, sizes, members, table = clusters[:4]
    for i in range(labels.shape[0]):
        if labels[i] == b:
            labels[i] = a
    sizes[a] = swallow(table, sizes, a, b)
    members[a] += members[b]
    members[b] = 0
    clusters.clock[0] += 1
    leave_ring(clusters, b)
    leave_ring(clusters, a)
    enter_ring(clusters, a)


@kernel
def part_from(rows, weights, clusters, ids, c, new):
    """Give rows ``ids`` of cluster c to the free slot ``new``; clusters are given by totals."""
    labels, sizes, members, table = clusters[:4]
    for p in range(ids.shape[0]):
        i = ids[p]
        weight = pick(weights, i)
        labels[i] = new
        add(rows, i, -weight, table, c)
        add(rows, i, weight, table, new)
        sizes[c] -= weight
        sizes[new] += weight
        members[c] -= np.int64(weight > 0.0)
        members[new] += np.int64(weight > 0.0)
    clusters.clock[0] += 1
    leave_ring(clusters, c)
    for slot in (c, new):
        refresh(table, sizes[slot], slot)
        enter_ring(clusters, slot)


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


@kernel
def total_cost(rows, weights, constants, clusters):
    """Return the sum of the weighted costs of all rows."""
    total = 0.0
    for i in range(clusters.labels.shape[0]):
        total += pick(weights, i) * row_cost(rows, i, constants, clusters.table, clusters.labels[i])
    return total
