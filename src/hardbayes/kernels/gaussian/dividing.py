"""Divisions of clusters in two by classification EM."""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.gaussian.costs import distance
from hardbayes.kernels.gaussian.scatters import PRECISION, add_outer, invert_root


@inlined
def bisect(
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
                found[c, o] = bisect(
                    rows, weights, order, begin, end, stride, sides, scale, pooled_rows, floor,
                    sizes[c, o], means[c, o], scatters[c, o], scratch, kind == 0, rounds[kind],
                )  # fmt: skip
                if not found[c, o]:
                    break
