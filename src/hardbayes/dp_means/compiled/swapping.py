"""So many clusters of few rows: single-row moves until none pays, and swaps of whole clusters.

A swap unites two clusters that lose little by it and opens one around a row that is far from its
centre (Fränti 2018). Rows then move one by one by Hartigan's rule. Each is compared only with those
clusters that have changed since it was last compared, as long as a bound on what the others would
cost it decides. So a swap costs little more than the rows that it moves, and many are tried.
Squared distances of dense rows of positive weight.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel, part
from hardbayes.core.simd.vectors import squared_distance
from hardbayes.dp_means.compiled.single_row import is_worth_it

# Of rows at a tie, which rounding alone may move to and fro.
MAX_PASSES = 200
# A swap must lower the fit term by more than rounding could pretend.
TOLERANCE = 1e-12
# Passes as good as the last that rows may hope for: with more, fewer swaps are given up that would
# have paid, and all take longer (benchmarks.exact_k).
HOPE = 2.0
# A cluster without a row has no weight left, if it is less than this part of that of the row.
ALONE = 1e-9


class FewRows(NamedTuple):
    """Rows, and what kernels need beside them."""

    points: np.ndarray  # (n, d) float64
    weights: np.ndarray  # (n,): positive
    zeros: np.ndarray  # (d,)
    same: float  # the squared distance that rounding may put between equal rows
    costs: np.ndarray  # (n,): what rows add to the fit term before a swap
    tried: np.ndarray  # (n,): and after it
    partners: np.ndarray  # (slots,) int64: scratch
    losses: np.ndarray  # (slots,): scratch


class FewClusters(NamedTuple):
    """Clusters in the slots from 0 on, and when rows were compared with them."""

    labels: np.ndarray  # (n,) int64
    sizes: np.ndarray  # (slots,): weights
    centres: np.ndarray  # (slots, d)
    changed: np.ndarray  # (slots,) int64: when a row last came or went
    compared: np.ndarray  # (n,) int64: when each row was last compared
    bound: np.ndarray  # (n,): what other clusters, unchanged since then, would cost it at least
    counts: np.ndarray  # (2,) int64: clusters; moves so far


@inlined
def gap(rows, i, centres, k):
    """Return the squared distance of a row and a centre."""
    return squared_distance(rows.points, i, rows.zeros, 1.0, centres, k)


@part
def fit_of(rows, clusters, costs):
    """Return the fit term; OUT costs (n,): what each row adds to it."""
    total = 0.0
    for i in range(rows.points.shape[0]):
        costs[i] = rows.weights[i] * gap(rows, i, clusters.centres, clusters.labels[i])
        total += costs[i]
    return total


@part
def copy(source, target):
    """Copy clusters; a slice would be copied twice."""
    for i in range(source.labels.shape[0]):
        target.labels[i] = source.labels[i]
        target.compared[i] = source.compared[i]
        target.bound[i] = source.bound[i]
    for k in range(source.counts[0]):
        target.sizes[k] = source.sizes[k]
        target.changed[k] = source.changed[k]
        for j in range(source.centres.shape[1]):
            target.centres[k, j] = source.centres[k, j]
    for q in range(2):
        target.counts[q] = source.counts[q]


@part
def shift_centre(rows, i, part, centres, k):
    """Move a centre by a part of the way to a row."""
    for j in range(centres.shape[1]):
        centres[k, j] += part * (rows.points[i, j] - centres[k, j])


@part
def settle(rows, clusters, fit, goal):
    """Move rows one by one while that lowers the fit term; return it.

    Ends early where so many passes as HOPE, each as good as the last, would not reach a goal.
    """
    labels, sizes, centres, changed, compared, bound, counts = clusters
    n = labels.shape[0]
    for _ in range(MAX_PASSES):
        before = counts[1]
        gain = 0.0
        for i in range(n):
            seen = compared[i]
            own = labels[i]
            weight = rows.weights[i]
            left = sizes[own] - weight
            # The last row of a cluster stays.
            if seen == counts[1] or left <= ALONE * weight:
                continue
            compared[i] = counts[1]
            frees = sizes[own] / left * gap(rows, i, centres, own)
            least = bound[i]
            second = bound[i]
            to = np.int64(-1)
            for _ in range(2):
                for k in range(counts[0]):
                    if k != own and changed[k] > seen:
                        pays = sizes[k] / (sizes[k] + weight) * gap(rows, i, centres, k)
                        if pays < least:
                            second = least
                            least = pays
                            to = np.int64(k)
                        elif pays < second:
                            second = pays
                if to >= 0 or not least < frees:
                    break
                least = second = np.inf  # the bound does not decide: all clusters are compared
                seen = np.int64(-1)
            if to < 0 or not is_worth_it(least, frees, 1.0):
                bound[i] = least
                continue
            bound[i] = second
            gain += weight * (frees - least)
            shift_centre(rows, i, -weight / left, centres, own)
            shift_centre(rows, i, weight / (sizes[to] + weight), centres, to)
            sizes[own] = left
            sizes[to] += weight
            labels[i] = to
            counts[1] += 1
            changed[own] = changed[to] = counts[1]
        fit -= gain
        if counts[1] == before or fit - HOPE * gain > goal:
            break
    return fit


@part
def unite(rows, clusters, rank):
    """Unite the pair that is so many-th of the cheapest; return the slot that is free now."""
    labels, sizes, centres, changed = clusters[:4]
    partners, losses = rows.partners, rows.losses
    n_clusters = clusters.counts[0]
    for a in range(1, n_clusters):
        losses[a] = np.inf
        partners[a] = 0
        for b in range(a):
            loss = sizes[a] * sizes[b] / (sizes[a] + sizes[b])
            loss *= squared_distance(centres, a, rows.zeros, 1.0, centres, b)
            if loss < losses[a]:
                losses[a] = loss
                partners[a] = b
    free = np.int64(1)
    for _ in range(rank + 1):
        free = np.int64(1)
        for a in range(1, n_clusters):
            if losses[a] < losses[free]:
                free = np.int64(a)
        losses[free] = np.inf
    to = partners[free]
    both = sizes[to] + sizes[free]
    for j in range(centres.shape[1]):
        centres[to, j] += sizes[free] / both * (centres[free, j] - centres[to, j])
    sizes[to] = both
    clusters.counts[1] += 1
    changed[to] = clusters.counts[1]
    for i in range(labels.shape[0]):
        if labels[i] == free:
            labels[i] = to
    return free


@part
def open_around(rows, clusters, slot, total, draws):
    """Open a cluster around the best of some rows drawn by their costs, with the rows nearer to it.

    Return whether there is one. IN draws (tries,) in [0, 1); ``total``: the sum of the costs.
    """
    labels, sizes, centres, changed = clusters[:4]
    n = labels.shape[0]
    best = np.int64(-1)
    most = -1.0
    for t in range(draws.shape[0]):
        target = draws[t] * total
        row = np.int64(-1)
        for i in range(n):
            if rows.costs[i] > rows.weights[i] * rows.same:
                row = np.int64(i)
                target -= rows.costs[i]
                if target < 0.0:
                    break
        gain = 0.0
        if row >= 0:
            for i in range(n):
                gain += max(rows.costs[i] - rows.weights[i] * gap(rows, i, rows.points, row), 0.0)
        if gain > most:
            best = row
            most = gain
    if best < 0:
        return False
    clusters.counts[1] += 1
    size = 0.0
    for p in range(n + 1):
        i = best if p == 0 else p - 1  # its own row first, which stays where others leave
        weight = rows.weights[i]
        own = labels[i]
        left = sizes[own] - weight
        if own == slot or left <= ALONE * weight:
            continue
        if p > 0 and weight * gap(rows, i, rows.points, best) >= rows.costs[i]:
            continue
        shift_centre(rows, i, -weight / left, centres, own)
        sizes[own] = left
        changed[own] = clusters.counts[1]
        if size == 0.0:
            for j in range(centres.shape[1]):
                centres[slot, j] = rows.points[i, j]
        size += weight
        shift_centre(rows, i, weight / size, centres, slot)
        labels[i] = slot
    sizes[slot] = size
    changed[slot] = clusters.counts[1]
    return size > 0.0


@kernel
def add_clusters(rows, clusters, draws):
    """Open clusters one after the other; return whether there were rows to open all around.

    IN draws (clusters, tries): numbers in [0, 1).
    """
    for t in range(draws.shape[0]):
        total = fit_of(rows, clusters, rows.costs)
        if not open_around(rows, clusters, clusters.counts[0], total, draws[t]):
            return False
        clusters.counts[0] += 1
    return True


@kernel
def drop_cluster(rows, clusters):
    """Unite the two clusters that lose least by it; the last slot is free."""
    free = unite(rows, clusters, 0)
    last = clusters.counts[0] - 1
    clusters.counts[0] = last
    if free != last:
        clusters.sizes[free] = clusters.sizes[last]
        clusters.changed[free] = clusters.changed[last]
        for j in range(clusters.centres.shape[1]):
            clusters.centres[free, j] = clusters.centres[last, j]
        for i in range(clusters.labels.shape[0]):
            if clusters.labels[i] == last:
                clusters.labels[i] = free


@kernel
def swap_clusters(rows, clusters, saved, draws, patience, goal):
    """Let rows settle, then try swaps until so many in a row fail; return the fit term.

    IN draws (tries, rows): numbers in [0, 1), a line for each swap; goal: a fit term, where rows
    that will not reach it need not settle; IN/OUT clusters; SCRATCH saved: as the clusters.
    """
    settle(rows, clusters, fit_of(rows, clusters, rows.tried), goal)
    best = fit_of(rows, clusters, rows.costs)
    failures = np.int64(0)
    n_clusters = clusters.counts[0]
    if patience > 0:
        copy(clusters, saved)
    for t in range(draws.shape[0]):
        if failures == patience or n_clusters == 1:
            break
        slot = unite(rows, clusters, failures % (n_clusters - 1))
        fit = np.inf
        if open_around(rows, clusters, slot, best, draws[t]):
            fit = settle(rows, clusters, fit_of(rows, clusters, rows.tried), best)
        if fit < best - TOLERANCE * best:
            best = fit_of(rows, clusters, rows.costs)
            copy(clusters, saved)
            failures = 0
        else:
            copy(saved, clusters)
            failures += 1
    return best
