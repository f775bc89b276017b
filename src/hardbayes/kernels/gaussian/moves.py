"""Moves between clusters with covariances: single rows, births, and divisions in two.

With ``m = |W (x - mu)|^2``, a row of weight w adds ``log(1 + w n / (n + w) m)`` to the cost of a
cluster of weight n that it joins, and takes ``-log(1 - t)``, ``t = w n / (n - w) m``, from one that
it leaves, by the matrix determinant lemma. So a move lowers the objective where
``w n / (n + w) m < t / (1 - t)``: no logarithm is needed. Where covariances are diagonal this holds
for each column, and ratios of determinants are products over columns.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.gaussian.costs import distance
from hardbayes.kernels.gaussian.scatters import add_outer, invert_root
from hardbayes.kernels.partition.rows import squared_gap

NOISE = 1e-10  # a row moves only if it gains more than this part of what is compared


@inlined
def growth(rows, i, means, roots, c, factor, bound, gap):
    """Return ``|I + S + factor gap gap'| / |I + S| - 1``, or some number >= bound.

    For a cluster that row i joins, factor being ``w n / (n + w)``.
    """
    if roots.shape[1] > 1:
        return factor * distance(rows, i, means, roots, c, bound / factor, gap)
    total = 0.0
    for j in range(rows.shape[1]):
        along = (rows[i, j] - means[c, j]) * roots[c, 0, j]
        total += (1.0 + total) * factor * along * along
        if total >= bound:
            return total
    return total


@inlined
def shrinkage(rows, i, means, roots, c, factor, gap):
    """Return ``|I + S| / |I + S - factor gap gap'| - 1``, for a cluster that row i leaves."""
    if roots.shape[1] > 1:
        part = factor * distance(rows, i, means, roots, c, np.inf, gap)
        return part / (1.0 - part) if part < 1.0 else np.inf
    total = 0.0
    for j in range(rows.shape[1]):
        along = (rows[i, j] - means[c, j]) * roots[c, 0, j]
        part = factor * along * along
        if part >= 1.0:
            return np.inf
        total += (1.0 + total) * part / (1.0 - part)
    return total


@inlined
def best_cluster(rows, weights, i, own, sizes, members, means, roots, gap):
    """Return the cluster where row i costs least while all other rows stay."""
    w = weights[i]
    left = sizes[own] - w
    if w == 0.0 or members[own] < 2 or not left > 0.0:
        return own
    best = shrinkage(rows, i, means, roots, own, w * (sizes[own] / left), gap) * (1.0 - NOISE)
    winner = own
    for c in range(means.shape[0]):
        if c != own and members[c] > 0:
            factor = w * (sizes[c] / (sizes[c] + w))
            cost = growth(rows, i, means, roots, c, factor, best, gap)
            if cost < best:
                best = cost
                winner = c
    return winner


@kernel
def mark_candidates(rows, weights, labels, sizes, members, means, roots, marks, gap, start, stop):
    """OUT marks (n,) bool: rows that would move; members (k,) int64: counts of rows of weight."""
    for i in range(start, stop):
        own = labels[i]
        marks[i] = best_cluster(rows, weights, i, own, sizes, members, means, roots, gap) != own


@inlined
def add_row(rows, i, w, c, sizes, means, scatters, roots, gap):
    """Add row i with weight w to cluster c; remove it where w < 0."""
    d = rows.shape[1]
    size = sizes[c]
    for j in range(d):
        gap[j] = rows[i, j] - means[c, j]
    add_outer(scatters, c, w * (size / (size + w)), gap)
    sizes[c] = size + w
    for j in range(d):
        means[c, j] += w / (size + w) * gap[j]
    invert_root(scatters, c, roots, c, 1.0, 0.0)


@kernel
def move_rows(rows, weights, ids, labels, sizes, members, means, scatters, roots, gap, start, stop):
    """Move rows ``ids`` one by one, updating clusters after each; return the number of moves.

    IN/OUT labels (n,) int64, sizes (k,), members (k,) int64, means (k, d), scatters (k, h, d), the
    lower triangles, roots (k, h, d). The only row of weight of a cluster stays.
    """
    n_moves = 0
    for p in range(start, stop):
        i = ids[p]
        own = labels[i]
        best = best_cluster(rows, weights, i, own, sizes, members, means, roots, gap)
        if best != own:
            add_row(rows, i, -weights[i], own, sizes, means, scatters, roots, gap)
            add_row(rows, i, weights[i], best, sizes, means, scatters, roots, gap)
            members[own] -= 1
            members[best] += 1
            labels[i] = best
            n_moves += 1
    return n_moves


@kernel
def open_clusters(rows, weights, above, distances, opening_cost, births, n_births, start, stop):
    """Visit rows ``above`` (m,); those that cost more than ``opening_cost`` open clusters.

    IN/OUT distances (n,); OUT births (most,) int64: the rows that do. A cluster of one row has the
    prior's covariance, so distances from it are squared Euclidean. Returns the number of births.
    """
    for p in range(start, stop):
        i = above[p]
        for b in range(n_births):
            distances[i] = min(distances[i], squared_gap(rows, i, births[b]))
        if weights[i] * distances[i] > opening_cost and n_births < births.shape[0]:
            births[n_births] = i
            n_births += 1
    return n_births


@kernel
def choose_births(rows, births, visit_rank, labels, distances, k, gap, start, stop):
    """Assign rows to the births that precede their own visit, where these are nearer.

    IN visit_rank (n,); IN/OUT labels (n,) int64, births being clusters from k on; distances (n,).
    """
    for i in range(start, stop):
        for b in range(births.shape[0]):
            if visit_rank[births[b]] > visit_rank[i]:
                break
            if births[b] == i:
                labels[i] = k + b
                distances[i] = 0.0
                break
            between = squared_gap(rows, i, births[b])
            if between < distances[i]:
                labels[i] = k + b
                distances[i] = between


@kernel
def bisect(rows, weights, sides, sizes, means, scatters, roots, gap, n_rounds):
    """Alternate between assigning rows (m, d) to two clusters and refitting these.

    IN/OUT sides (m,) uint8; OUT sizes (2,), means (2, d), scatters (2, h, d), the lower triangles,
    and roots (2, h, d) of the two in the end. Returns the sum of their log-determinants; infinity
    where one has no weight.
    """
    d = rows.shape[1]
    for step in range(n_rounds + 1):
        sizes[:] = 0.0
        means[:, :] = 0.0
        scatters[:, :, :] = 0.0
        for p in range(rows.shape[0]):
            side = sides[p]
            sizes[side] += weights[p]
            for j in range(d):
                means[side, j] += weights[p] * rows[p, j]
        if not (sizes[0] > 0.0 and sizes[1] > 0.0):
            return np.inf
        for side in range(2):
            for j in range(d):
                means[side, j] /= sizes[side]
        for p in range(rows.shape[0]):
            side = sides[p]
            for j in range(d):
                gap[j] = rows[p, j] - means[side, j]
            add_outer(scatters, side, weights[p], gap)
        total = 0.0
        for side in range(2):
            total += invert_root(scatters, side, roots, side, 1.0, 0.0)
        if step == n_rounds:
            break
        moved = False
        for p in range(rows.shape[0]):
            near = distance(rows, p, means, roots, 0, np.inf, gap)
            side = np.uint8(distance(rows, p, means, roots, 1, near, gap) < near)
            moved |= side != sides[p]
            sides[p] = side
        if not moved:
            break
    return total
