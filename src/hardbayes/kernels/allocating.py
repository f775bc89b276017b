"""The decision of BP-means and K-features: which features each row has, components frozen.

Four rules: leave the row as it is; one pass of single flips, as published; single and pair flips
until none helps; the best of all subsets. A row keeps its features unless others are cheaper by
more than rounding, so that equal subsets cannot take turns for ever.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.feature_lanes import add_residual, subtract_members
from hardbayes.kernels.features import LOW, list_members, project
from hardbayes.kernels.flip_lanes import EIGHT, ROUNDING, flip_eight, project_eight, rows_in_doubt
from hardbayes.kernels.rows import pick
from hardbayes.kernels.subset_lanes import best_lane, most_gained

KEEP, FLIP, FLIP_PAIRS, EXACT = 0, 1, 2, 3
MOST_ROUNDS = 100  # of pair flips in one row; each lowers its cost, so a handful is enough


@kernel
def allocate(rows, weights, features, rule, membership, costs, gram, correction, room):
    """Decide for every row, and collect what the refit needs.

    IN rows (n, d), weights (n,) or (1,), rule; INOUT membership (n, k) uint8; OUT costs (n,): the
    squared residuals; INOUT gram (k, k): adds Z'WZ; correction (k, d): adds Z'WR of the residuals
    R. Returns the weighted sum of costs and the number of rows that changed.
    """
    clear(room)
    fit, changed = decide(rows, weights, features, rule, membership, costs, gram, correction, room)
    deal_out(room, gram, correction)
    return fit, changed


@kernel
def read_and_allocate(
    values, shift, scale, weights, features, rule, membership, costs, gram, correction, room
):  # fmt: skip
    """Do the same for rows ``(values - shift) * scale``, some at a time, so that they stay near."""
    n, d = values.shape
    size = room.rows.shape[0]
    fit = 0.0
    changed = 0
    clear(room)
    for start in range(0, n, size):
        stop = min(start + size, n)
        for i in range(start, stop):
            for j in range(d):
                room.rows[i - start, j] = (np.float64(values[i, j]) - shift[j]) * scale
        own = weights[start:stop] if weights.shape[0] > 1 else weights
        more, others = decide(
            room.rows[: stop - start], own, features, rule, membership[start:stop],
            costs[start:stop], gram, correction, room,
        )  # fmt: skip
        fit += more
        changed += others
    deal_out(room, gram, correction)
    return fit, changed


@kernel
def decide(rows, weights, features, rule, membership, costs, gram, correction, room):
    """Do the work of `allocate`, with what belongs to whole subsets left in ``room``."""
    margin = 1.0 if rule == FLIP else features.margin[0]
    near = margin * least_square(features.gram) / 4.0
    k = features.components.shape[0]
    fit = 0.0
    changed = 0
    for first in range(0, rows.shape[0], EIGHT):
        count = min(EIGHT, rows.shape[0] - first)
        farthest = 0.0
        for r in range(count):
            room.chosen[r] = subset_of(first + r, membership, k)
            costs[first + r] = leave(rows, first + r, r, features, membership, room)
            farthest = max(farthest, costs[first + r])
        if rule != KEEP and farthest > near:
            moved = choose(rows, first, count, rule, margin, features, membership, room)
            for r in range(count):
                if (moved >> r) & 1:
                    changed += 1
                    costs[first + r] = leave(rows, first + r, r, features, membership, room)
        for r in range(count):
            weight = pick(weights, first + r)
            fit += weight * costs[first + r]
            if weight > 0:
                collect(first + r, r, weight, features, membership, gram, correction, room)
    return fit, changed


@inlined
def leave(rows, i, r, features, membership, room):
    """OUT residual number r: what its features leave of row i; returns its square.

    IN room.chosen[r]: the row's subset, where there is a table of subsets.
    """
    k = features.components.shape[0]
    members, residuals = room.members, room.residuals
    if features.sums.shape[0] > 0:
        members[0] = room.chosen[r]
        return subtract_members(rows, i, members, 1, features.sums, features.origin, residuals, r)
    count = list_members(i, membership, k, members)
    return subtract_members(
        rows, i, members, count, features.components, features.origin, residuals, r
    )


@inlined
def collect(i, r, weight, features, membership, gram, correction, room):
    """Add residual number r, of row i, to what the refit needs."""
    k = features.components.shape[0]
    members = room.members
    if features.sums.shape[0] > 0:
        members[0] = room.chosen[r]
        room.weights[members[0]] += weight
        add_residual(room.residuals, r, weight, members, 1, room.totals)
        return
    count = list_members(i, membership, k, members)
    add_residual(room.residuals, r, weight, members, count, correction)
    for m in range(count):
        for other in range(count):
            gram[members[m], members[other]] += weight


@inlined
def choose(rows, first, count, rule, margin, features, membership, room):
    """Decide for ``count`` rows from ``first`` on, by their residuals; returns which moved."""
    k = features.components.shape[0]
    products, signs = room.pulls, room.signs
    everyone = (1 << count) - 1
    for block in range(features.across.shape[0]):
        project_eight(room.residuals, features.across, block, products)
    for r in range(count):
        for a in range(k):
            signs[a, r] = 1.0 - 2.0 * membership[first + r, a]
    doubt = rows_in_doubt(products, signs, features.gram, margin) & everyone
    if doubt == 0:
        return 0
    moved = flip_eight(products, signs, features.gram)
    if rule == EXACT:
        again = moved
        while again & doubt:  # cheaper than to look at all subsets
            again = flip_eight(products, signs, features.gram)
            moved |= again
            doubt = rows_in_doubt(products, signs, features.gram, margin) & everyone
    elif rule == FLIP_PAIRS:
        for r in range(count):
            if (doubt >> r) & 1 and flip_pairs(r, features, products, signs):
                moved |= 1 << r
    moved &= everyone
    for r in range(count):
        if (moved >> r) & 1:
            take(first + r, r, signs, membership, room)
        if rule == EXACT and (doubt >> r) & 1:
            project(rows, first + r, features, room.products)
            moved |= take_best_subset(first + r, r, features, membership, room) << r
    return moved


@inlined
def take(i, r, signs, membership, room):
    """Give row i the features that its signs tell."""
    subset = 0
    for a in range(signs.shape[0]):
        has = signs[a, r] < 0
        membership[i, a] = has
        subset |= np.int64(has) << a
    room.chosen[r] = subset


@inlined
def clear(room):
    """Forget the totals of all subsets."""
    room.totals[:] = 0.0
    room.weights[:] = 0.0


@inlined
def subset_of(i, membership, k):
    """Return the features of row i as the bits of a number."""
    subset = 0
    for a in range(k):
        subset |= np.int64(membership[i, a]) << a
    return subset


@inlined
def least_square(gram):
    """Return the least squared length of a component."""
    least = np.inf
    for a in range(gram.shape[0]):
        least = min(least, gram[a, a])
    return least


@inlined
def deal_out(room, gram, correction):
    """Give the totals of every subset to each of its features."""
    k, d = correction.shape
    for subset in range(room.weights.shape[0]):
        weight = room.weights[subset]
        if weight == 0:
            continue
        for a in range(k):
            if (subset >> a) & 1:
                for b in range(k):
                    if (subset >> b) & 1:
                        gram[a, b] += weight
                for j in range(d):
                    correction[a, j] += room.totals[subset, j]


@inlined
def take_best_subset(i, r, features, membership, room):
    """Give row i its cheapest subset, from ``|zA|^2 - 2 z (products)``; returns 1 if it changed."""
    k = features.components.shape[0]
    noise = 0.0
    for a in range(k):
        room.products[a] *= 2.0
        noise += abs(room.products[a])
    room.high[0] = 0.0
    for a in range(4, k):
        for subset in range(1 << (a - 4)):
            room.high[(1 << (a - 4)) + subset] = room.high[subset] + room.products[a]
    gain = gain_of(room.chosen[r], features, room)
    size = abs(features.subsets[room.chosen[r] // LOW, room.chosen[r] % LOW])
    most = most_gained(features.subsets, room.products, room.high)
    if not most > gain + ROUNDING * (noise + size):
        return 0
    lane = best_lane(features.subsets, room.products, room.high)
    chosen = lane
    most = -np.inf
    for row in range(features.subsets.shape[0]):
        gain = room.high[row] - features.subsets[row, lane]
        if gain > most:
            most = gain
            chosen = row * LOW + lane
    for a in range(k):
        membership[i, a] = (chosen >> a) & 1
    room.chosen[r] = chosen
    return 1


@inlined
def gain_of(subset, features, room):
    """Return what a subset is cheaper than none, but for what is the same for all."""
    gain = room.high[subset // LOW] - features.subsets[subset // LOW, subset % LOW]
    for a in range(4):  # without a branch, which chance would often mispredict
        gain += ((subset >> a) & 1) * room.products[a]
    return gain


@inlined
def turn(r, a, features, products, signs):
    """Flip feature a of row r; INOUT products of its residual with each component, signs."""
    for b in range(features.components.shape[0]):
        products[b, r] -= signs[a, r] * features.gram[a, b]
    signs[a, r] = -signs[a, r]


@inlined
def flip_pairs(r, features, products, signs):
    """Flip one feature or two of row r until neither makes it cheaper; returns whether any did."""
    changed = False
    for _ in range(MOST_ROUNDS):
        again = False
        for a in range(features.components.shape[0]):
            square = features.gram[a, a]
            if 2.0 * signs[a, r] * products[a, r] - square > ROUNDING * square:
                turn(r, a, features, products, signs)
                again = True
        if not again:
            first, second = best_pair(r, features, products, signs)
            if first < 0:
                break
            turn(r, first, features, products, signs)
            turn(r, second, features, products, signs)
        changed = True
    return changed


@inlined
def best_pair(r, features, products, signs):
    """Return the two features whose joint flip gains most, or -1, -1."""
    most = 0.0
    first = second = -1
    for a in range(features.components.shape[0]):
        alone = 2.0 * signs[a, r] * products[a, r] - features.gram[a, a]
        for b in range(a):
            size = features.gram[a, a] + features.gram[b, b]
            gain = alone + 2.0 * signs[b, r] * products[b, r] - features.gram[b, b]
            gain -= 2.0 * signs[a, r] * signs[b, r] * features.gram[a, b]
            if gain > most and gain > ROUNDING * size:
                most = gain
                first, second = a, b
    return first, second
