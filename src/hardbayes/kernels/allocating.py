"""The decision of BP-means and K-features: which features each row has, components frozen.

Four rules: leave the row as it is; one pass of single flips, as published; single and pair flips
until none helps; the best of all subsets. A row keeps its features unless others are cheaper by
more than rounding, so that equal subsets cannot take turns for ever.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.feature_lanes import add_residual, best_lane, subtract_members
from hardbayes.kernels.features import LOW, list_members, project
from hardbayes.kernels.rows import pick

KEEP, FLIP, FLIP_PAIRS, EXACT = 0, 1, 2, 3
ROUNDING = 1e-13
MOST_ROUNDS = 100  # of pair flips in one row; each lowers its cost, so a handful is enough


@kernel
def allocate(rows, weights, features, rule, membership, costs, gram, correction, room):
    """Decide for every row, and collect what the refit needs.

    IN rows (n, d), weights (n,) or (1,), rule; INOUT membership (n, k) uint8; OUT costs (n,): the
    squared residuals; INOUT gram (k, k): adds Z'WZ; correction (k, d): adds Z'WR of the residuals
    R. Returns the weighted sum of costs and the number of rows that changed.
    """
    n = rows.shape[0]
    k = features.components.shape[0]
    fit = 0.0
    changed = 0
    components, origin = features.components, features.origin
    members, residual = room.members, room.residual
    for i in range(n):
        if rule == EXACT:
            project(rows, i, features, room.products)
            changed += take_best_subset(i, features, membership, room)
        elif rule != KEEP:
            count = list_members(i, membership, k, members)
            subtract_members(rows, i, members, count, components, origin, residual)
            project(residual, 0, features, room.products)
            changed += flip(i, features, membership, room.products, rule == FLIP_PAIRS)
        count = list_members(i, membership, k, members)
        costs[i] = subtract_members(rows, i, members, count, components, origin, residual)
        weight = pick(weights, i)
        fit += weight * costs[i]
        if weight == 0:
            continue
        for m in range(count):
            for other in range(count):
                gram[members[m], members[other]] += weight
        add_residual(residual, weight, members, count, correction)
    return fit, changed


@inlined
def take_best_subset(i, features, membership, room):
    """Give row i its cheapest subset, from ``|zA|^2 - 2 z (products)``; returns 1 if it changed."""
    k = features.components.shape[0]
    noise = 0.0
    current = 0
    for a in range(k):
        room.products[a] *= 2.0
        noise += abs(room.products[a])
        current += membership[i, a] << a
    room.high[0] = 0.0
    for a in range(4, k):
        for subset in range(1 << (a - 4)):
            room.high[(1 << (a - 4)) + subset] = room.high[subset] + room.products[a]
    lane = best_lane(features.subsets, room.products, room.high)
    most = -np.inf
    chosen = lane
    for row in range(features.subsets.shape[0]):
        gain = room.high[row] - features.subsets[row, lane]
        if gain > most:
            most = gain
            chosen = row * LOW + lane
    if chosen == current:
        return 0
    best = score_of(chosen, features, room)
    score = score_of(current, features, room)
    size = abs(features.subsets[current // LOW, current % LOW])
    if not best < score - ROUNDING * (noise + size):
        return 0
    for a in range(k):
        membership[i, a] = (chosen >> a) & 1
    return 1


@inlined
def score_of(subset, features, room):
    """Cost of a subset, up to what is the same for all."""
    score = features.subsets[subset // LOW, subset % LOW] - room.high[subset // LOW]
    for a in range(4):
        if (subset >> a) & 1:
            score -= room.products[a]
    return score


@inlined
def flip_gain(i, a, features, membership, products):
    """How much cheaper row i becomes if it gains or loses feature a."""
    sign = -1.0 if membership[i, a] else 1.0
    gain = 2.0 * sign * products[a] - features.gram[a, a]
    return gain if gain > ROUNDING * features.gram[a, a] else 0.0


@inlined
def turn(i, a, features, membership, products):
    """Flip feature a of row i; INOUT products: of its residual with each component."""
    sign = -1.0 if membership[i, a] else 1.0
    membership[i, a] = 1 - membership[i, a]
    for b in range(features.components.shape[0]):
        products[b] -= sign * features.gram[a, b]


@inlined
def flip(i, features, membership, products, with_pairs):
    """Flip what makes row i cheaper; returns 1 if it changed.

    One pass in order; with pairs, until neither one flip nor two at once help.
    """
    k = features.components.shape[0]
    changed = 0
    for _ in range(MOST_ROUNDS):
        again = False
        for a in range(k):
            if flip_gain(i, a, features, membership, products) > 0:
                turn(i, a, features, membership, products)
                changed = 1
                again = True
        if not with_pairs:
            break
        if not again:
            first, second = best_pair(i, features, membership, products)
            if first < 0:
                break
            turn(i, first, features, membership, products)
            turn(i, second, features, membership, products)
            changed = 1
    return changed


@inlined
def best_pair(i, features, membership, products):
    """Return the two features whose joint flip gains most, or -1, -1."""
    k = features.components.shape[0]
    most = 0.0
    first = second = -1
    for a in range(k):
        sign = -1.0 if membership[i, a] else 1.0
        alone = 2.0 * sign * products[a] - features.gram[a, a]
        for b in range(a):
            other = -1.0 if membership[i, b] else 1.0
            size = features.gram[a, a] + features.gram[b, b]
            gain = alone + 2.0 * other * products[b] - features.gram[b, b]
            gain -= 2.0 * sign * other * features.gram[a, b]
            if gain > most and gain > ROUNDING * size:
                most = gain
                first, second = a, b
    return first, second
