"""A fixed number of clusters, one more or one fewer: the steps of a path, each as local as it can.

Rows move one by one by the rule of `kernels.local.relocate`, but a row looks only at clusters that
have changed since it last looked. For it keeps a bound on what all others would cost it: these
still cost what they did. Nothing is missed by that, and after a step few rows have much to do.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.local import FLOOR, NOISE
from hardbayes.kernels.partition.rows import Centres, blend, pick, row_cost, squared_gap


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


@kernel
def total_cost(rows, weights, constants, clusters):
    """Return the sum of the weighted costs of all rows."""
    total = 0.0
    for i in range(clusters.labels.shape[0]):
        total += pick(weights, i) * row_cost(rows, i, constants, clusters.table, clusters.labels[i])
    return total
