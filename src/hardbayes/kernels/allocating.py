"""The decision of BP-means and K-features: which features each row has, components frozen.

Four rules: leave the row as it is; one pass of single flips, as published; single and pair flips
until none helps; the best of all subsets. A row keeps its features unless others are cheaper by
more than rounding, so that equal subsets cannot take turns for ever.
"""

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.features import LOW, leave_residual, project
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
    n, d = rows.shape
    k = features.components.shape[0]
    fit = 0.0
    changed = 0
    for i in range(n):
        if rule == EXACT:
            project(rows, i, features, room.products)
            changed += take_best_subset(i, features, membership, room)
        elif rule != KEEP:
            leave_residual(
                rows, i, membership, features.components, features.origin, room.residual
            )
            project(room.residual, 0, features, room.products)
            changed += flip(i, features, membership, room.products, rule == FLIP_PAIRS)
        cost = leave_residual(
            rows, i, membership, features.components, features.origin, room.residual
        )
        costs[i] = cost
        weight = pick(weights, i)
        fit += weight * cost
        if weight == 0:
            continue
        for a in range(k):
            if membership[i, a]:
                for b in range(k):
                    if membership[i, b]:
                        gram[a, b] += weight
                for j in range(d):
                    correction[a, j] += weight * room.residual[0, j]
    return fit, changed


@inlined
def take_best_subset(i, features, membership, room):
    """Give row i its cheapest subset, from ``|zA|^2 - 2 z (products)``; returns 1 if it changed."""
    k = features.components.shape[0]
    room.low[0] = 0.0
    room.high[0] = 0.0
    current = 0
    noise = 0.0
    for a in range(k):
        double = 2.0 * room.products[a]
        noise += abs(double)
        sums, first = (room.low, 1 << a) if a < 4 else (room.high, 1 << (a - 4))
        for subset in range(first):
            sums[first + subset] = sums[subset] + double
        current += membership[i, a] << a
    width = 1 << min(k, 4)
    for lane in range(width, LOW):
        room.low[lane] = 0.0
    for lane in range(LOW):
        room.best[lane] = features.subsets[0, lane] - room.low[lane]
        room.place[lane] = 0
    for row in range(1, features.subsets.shape[0]):
        high = room.high[row]
        for lane in range(LOW):
            score = features.subsets[row, lane] - (room.low[lane] + high)
            if score < room.best[lane]:
                room.best[lane] = score
                room.place[lane] = row
    lane = 0
    for other in range(1, width):
        if room.best[other] < room.best[lane]:
            lane = other
    chosen = room.place[lane] * LOW + lane
    if chosen == current:
        return 0
    present = features.subsets[current // LOW, current % LOW]
    noise = ROUNDING * (noise + abs(present))
    score = present - (room.low[current % LOW] + room.high[current // LOW])
    if not room.best[lane] < score - noise:
        return 0
    for a in range(k):
        membership[i, a] = (chosen >> a) & 1
    return 1


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
