"""Compiled moves between Gaussian clusters: single rows, births, divisions in two by cuts and EM.

With ``m = |W (x - mu)|^2``, a row of weight w adds ``log(1 + w n / (n + w) m)`` to the cost of a
cluster of weight n that it joins, and takes ``-log(1 - t)``, ``t = w n / (n - w) m``, from one that
it leaves, by the matrix determinant lemma. So a move lowers the objective where
``w n / (n + w) m < t / (1 - t)``: no logarithm is needed. Where covariances are diagonal this holds
for each column, and ratios of determinants are products over columns.
"""

import numpy as np

from hardbayes.core.compiling import inlined, kernel
from hardbayes.core.rows import squared_gap
from hardbayes.gaussian.compiled.statistics import PRECISION, add_outer, distance, invert_root

RELATIVE_TOLERANCE = 1e-10  # of what a row saves where it leaves: it moves only if it gains more


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
    best = shrinkage(rows, i, means, roots, own, w * (sizes[own] / left), gap) * (
        1.0 - RELATIVE_TOLERANCE
    )
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


@inlined
def bisect_by_likelihood(
    rows, weights, ids, begin, end, stride, sides, scale, pooled_rows, floor, sizes, means,
    scatters, scratch, is_common, n_rounds,
):  # fmt: skip
    """Let rows ids[begin:end:stride] choose between two Gaussians, which follow them.

    The pooled covariance of the two counts as ``pooled_rows`` rows of each; where ``is_common``,
    both have it, and no shares. ``floor`` (d,) is added to variances. IN/OUT sides (n,) uint8;
    OUT sizes (2,), means (2, d), scatters (2, h, d), lower triangles. scratch (5, h, d). Return
    False where a side is left without weight.
    """
    d = rows.shape[1]
    h = scatters.shape[1]
    gap = scratch[4, 0]
    for step in range(n_rounds + 1):
        for side in range(2):
            sizes[side] = 0.0
            for m in range(d):
                means[side, m] = 0.0
                for j in range(h):
                    scatters[side, j, m] = 0.0
        for p in range(begin, end, stride):
            i = ids[p]
            side = np.int64(sides[i])
            sizes[side] += scale * weights[i]
            for j in range(d):
                means[side, j] += scale * weights[i] * rows[i, j]
        if not (sizes[0] > 0.0 and sizes[1] > 0.0):
            return False
        for side in range(2):
            for j in range(d):
                means[side, j] /= sizes[side]
        for p in range(begin, end, stride):
            i = ids[p]
            for j in range(d):
                gap[j] = rows[i, j] - means[sides[i], j]
            add_outer(scatters, np.int64(sides[i]), scale * weights[i], gap)
        if step == n_rounds:
            break
        first_offset = 0.0
        second_offset = 0.0
        for side in range(2):
            for j in range(h):
                for m in range(d if h == 1 else j + 1):
                    value = (scatters[0, j, m] + scatters[1, j, m]) / (sizes[0] + sizes[1])
                    if not is_common:
                        value = (scatters[side, j, m] + pooled_rows * value) / (
                            sizes[side] + pooled_rows
                        )
                    if h == 1 or j == m:
                        value += floor[m]
                    scratch[2 + side, j, m] = value
            offset = invert_root(scratch, 2 + side, scratch, side, 0.0, PRECISION)
            if not is_common:
                offset -= 2.0 * np.log(sizes[side])
            if side == 0:
                first_offset = offset
            else:
                second_offset = offset
        moved = False
        for p in range(begin, end, stride):
            i = ids[p]
            nearest = np.inf
            chosen = 0
            for side in range(2):
                apart = first_offset if side == 0 else second_offset
                if apart < nearest:
                    apart += distance(rows, i, means, scratch, side, nearest - apart, gap)
                    if apart < nearest:
                        nearest = apart
                        chosen = side
            moved |= chosen != sides[i]
            sides[i] = chosen
        if not moved:
            break
    return True


@kernel
def divide(
    rows, weights, order, places, values, cuts, tries, n_tries, max_rows, pooled_rows, floor,
    rounds, all_sizes, sides, sizes, means, scatters, found, scratch, start, stop,
):  # fmt: skip
    """Divide clusters start to stop in two, each in several ways.

    IN order (n,) and places (k + 1,) int64: rows by cluster, of which at most ``max_rows`` are
    used; values (m, n): rows along m directions; cuts (m, 2, k); tries (k, t) int64: direction * 2
    + cut, of which the first n_tries[c] count; rounds (2,) int64: with one covariance for both
    halves, and then with two; all_sizes (k,): weights of the clusters. sides (n,) uint8, scratch
    (5, h, d).
    OUT for 2 t divisions of each cluster, after either kind of rounds: sizes (k, 2 t, 2), means
    (k, 2 t, 2, d), scatters (k, 2 t, 2, h, d), lower triangles; found (k, 2 t) bool.
    """
    for c in range(start, stop):
        begin = places[c]
        end = places[c + 1]
        stride = max(1, -(-(end - begin) // max_rows))
        weight = 0.0
        for p in range(begin, end, stride):
            weight += weights[order[p]]
        for o in range(found.shape[1]):
            found[c, o] = False
        if end - begin < 2 or not weight > 0.0:
            continue
        scale = all_sizes[c] / weight
        for t in range(n_tries[c]):
            direction = tries[c, t] // 2
            cut = cuts[direction, tries[c, t] % 2, c]
            for p in range(begin, end, stride):
                sides[order[p]] = np.uint8(values[direction, order[p]] > cut)
            for kind in range(2):
                o = 2 * t + kind
                found[c, o] = bisect_by_likelihood(
                    rows, weights, order, begin, end, stride, sides, scale, pooled_rows, floor,
                    sizes[c, o], means[c, o], scatters[c, o], scratch, kind == 0, rounds[kind],
                )  # fmt: skip
                if not found[c, o]:
                    break


@kernel
def best_cuts(values, weights, order, places, least, floor, cuts, gains):
    """OUT cuts (2, k), gains (2, k): where to cut the values (n,) of each cluster in two.

    The first cut is the likeliest, the second that of two means. Both are rated by the
    classification likelihood of two Gaussians on a line over that of one. IN order (n,) and places
    (k + 1,) int64: rows by cluster, sorted by value within; least (k,): weight on either side;
    floor (k,): added to variances. A gain of minus infinity: there is no cut.
    """
    for c in range(places.shape[0] - 1):
        for kind in range(2):
            cuts[kind, c] = 0.0
            gains[kind, c] = -np.inf
        n = 0.0
        first = 0.0
        second = 0.0
        for p in range(places[c], places[c + 1]):
            i = order[p]
            n += weights[i]
            first += weights[i] * values[i]
            second += weights[i] * values[i] * values[i]
        if not n > 0.0:
            continue
        whole = n * np.log(max(second / n - (first / n) ** 2, 0.0) + floor[c])
        widest = 0.0
        m = 0.0
        s1 = 0.0
        s2 = 0.0
        for p in range(places[c], places[c + 1] - 1):
            i = order[p]
            m += weights[i]
            s1 += weights[i] * values[i]
            s2 += weights[i] * values[i] * values[i]
            following = values[order[p + 1]]
            rest = n - m
            if m < least[c] or rest < least[c] or not following > values[i]:
                continue
            left = max(s2 / m - (s1 / m) ** 2, 0.0) + floor[c]
            right = max((second - s2) / rest - ((first - s1) / rest) ** 2, 0.0) + floor[c]
            gain = 0.5 * (whole - m * np.log(left) - rest * np.log(right))
            gain += m * np.log(m / n) + rest * np.log(rest / n)
            if gain > gains[0, c]:
                gains[0, c] = gain
                cuts[0, c] = 0.5 * (values[i] + following)
            between = m * rest * (s1 / m - (first - s1) / rest) ** 2
            if between > widest:
                widest = between
                gains[1, c] = gain
                cuts[1, c] = 0.5 * (values[i] + following)
