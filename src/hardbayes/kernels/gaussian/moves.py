"""Moves between clusters with covariances: single rows, births, and divisions in two.

With ``m = |W (x - mu)|^2`` a row of weight w pays ``log(1 + w n / (n + w) m)`` to join a cluster of
weight n and frees ``-log(1 - t)``, ``t = w n / (n - w) m``, where it leaves one: the matrix
determinant lemma. So it pays to move where ``w n / (n + w) m < t / (1 - t)``, without any
logarithm. Where covariances are diagonal this holds for each column, and ratios of determinants are
products over columns.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.gaussian.costs import distance
from hardbayes.kernels.gaussian.scatters import add_outer, invert_root, mirror
from hardbayes.kernels.partition.rows import squared_gap

NOISE = 1e-10  # of what is compared: no row moves for less


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
def better_home(rows, weights, i, own, sizes, members, means, roots, gap):
    """Return the cluster where row i is best off, all others staying where they are."""
    w = weights[i]
    left = sizes[own] - w
    if w == 0.0 or members[own] < 2 or not left > 0.0:
        return own
    best = shrinkage(rows, i, means, roots, own, w * (sizes[own] / left), gap) * (1.0 - NOISE)
    winner = own
    for c in range(means.shape[0]):
        if c != own and members[c] > 0:
            factor = w * (sizes[c] / (sizes[c] + w))
            price = growth(rows, i, means, roots, c, factor, best, gap)
            if price < best:
                best = price
                winner = c
    return winner


@kernel
def restless(rows, weights, labels, sizes, members, means, roots, marks, gap, start, stop):
    """OUT marks (n,) bool: rows that would gain by moving; members (k,): rows of weight."""
    for i in range(start, stop):
        own = labels[i]
        home = better_home(rows, weights, i, own, sizes, members, means, roots, gap)
        marks[i] = home != own


@inlined
def change(rows, i, w, c, sizes, means, scatters, roots, gap):
    """Add row i with weight w to cluster c, or take it away where w < 0."""
    d = rows.shape[1]
    size = sizes[c]
    for j in range(d):
        gap[j] = rows[i, j] - means[c, j]
    add_outer(scatters, c, w * (size / (size + w)), gap)
    sizes[c] = size + w
    for j in range(d):
        means[c, j] += w / (size + w) * gap[j]
    invert_root(scatters, c, roots)


@kernel
def relocate(rows, weights, ids, labels, sizes, members, means, scatters, roots, gap, start, stop):
    """Let rows ``ids`` move one by one while clusters follow; return the number of moves.

    IN/OUT labels (n,) int64, sizes (k,), members (k,) int64, means (k, d), scatters (k, h, d), the
    lower triangles, roots (k, h, d). Nobody leaves a cluster that holds one row of weight.
    """
    n_moves = 0
    for p in range(start, stop):
        i = ids[p]
        own = labels[i]
        home = better_home(rows, weights, i, own, sizes, members, means, roots, gap)
        if home != own:
            change(rows, i, -weights[i], own, sizes, means, scatters, roots, gap)
            change(rows, i, weights[i], home, sizes, means, scatters, roots, gap)
            members[own] -= 1
            members[home] += 1
            labels[i] = home
            n_moves += 1
    return n_moves


@kernel
def open_clusters(rows, weights, dear, distances, price, born, n_born, start, stop):
    """Visit rows ``dear`` (m,) in their order; those dearer than ``price`` to all open a cluster.

    IN/OUT distances (n,); OUT born (most,) int64: the rows that did. A cluster of one row has the
    prior's covariance, so that distances from it are plain ones. Returns how many are born by now.
    """
    for p in range(start, stop):
        i = dear[p]
        for b in range(n_born):
            distances[i] = min(distances[i], squared_gap(rows, i, born[b]))
        if weights[i] * distances[i] > price and n_born < born.shape[0]:
            born[n_born] = i
            n_born += 1
    return n_born


@kernel
def choose_births(rows, born, place, labels, distances, k, start, stop):
    """Let rows choose among the clusters born before their own turn, or at it.

    IN place (n,): the turn of each row; IN/OUT labels (n,) int64, births being clusters from k on;
    distances (n,).
    """
    for i in range(start, stop):
        for b in range(born.shape[0]):
            if place[born[b]] > place[i]:
                break
            if born[b] == i:
                labels[i] = k + b
                distances[i] = 0.0
                break
            between = squared_gap(rows, i, born[b])
            if between < distances[i]:
                labels[i] = k + b
                distances[i] = between


@kernel
def bisect(rows, weights, ids, factor, sides, sizes, means, scatters, roots, gap, n_rounds):
    """Let rows ``ids`` choose between two clusters that follow them, until none moves.

    Weights count ``factor`` times. IN/OUT sides (m,) uint8; sizes (2,), means (2, d), scatters and
    roots (2, h, d) are those of the two in the end. Returns their log-determinants' sum; infinity
    where one has no weight.
    """
    d = rows.shape[1]
    for step in range(n_rounds + 1):
        sizes[:] = 0.0
        means[:, :] = 0.0
        scatters[:, :, :] = 0.0
        for p in range(ids.shape[0]):
            side = sides[p]
            w = factor * weights[ids[p]]
            sizes[side] += w
            for j in range(d):
                means[side, j] += w * rows[ids[p], j]
        if not (sizes[0] > 0.0 and sizes[1] > 0.0):
            return np.inf
        for side in range(2):
            for j in range(d):
                means[side, j] /= sizes[side]
        for p in range(ids.shape[0]):
            side = sides[p]
            for j in range(d):
                gap[j] = rows[ids[p], j] - means[side, j]
            add_outer(scatters, side, factor * weights[ids[p]], gap)
        total = invert_root(scatters, 0, roots) + invert_root(scatters, 1, roots)
        if step == n_rounds:
            break
        moved = False
        for p in range(ids.shape[0]):
            near = distance(rows, ids[p], means, roots, 0, np.inf, gap)
            side = np.uint8(distance(rows, ids[p], means, roots, 1, near, gap) < near)
            moved |= side != sides[p]
            sides[p] = side
        if not moved:
            break
    mirror(scatters, 0)
    mirror(scatters, 1)
    return total
