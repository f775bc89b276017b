"""Sweeps: which features each row has, at fixed components, and the sums for a refit; new features.

Four rules: KEEP the features; FLIP in one pass of single flips, as published; FLIP_PAIRS, single
and pair flips until none lowers the cost; EXACT, the best of all subsets. A row changes only if its
cost falls by more than rounding, so that equal subsets cannot alternate for ever.

Rows are decided eight at a time, from their residuals. Single flips come first, for all eight side
by side. A margin of the Gram matrix then proves for most rows that no other subset is cheaper. For
the others all subsets are compared or, with many features, flips of two at once are tried.
"""

import numpy as np

from hardbayes.core.compiling import inlined, kernel, shared
from hardbayes.core.rows import pick
from hardbayes.features.compiled.layout import (
    LOW,
    MAX_EXACT,
    ONLY,
    inner_product,
    lay_out,
    list_members,
    project,
    refit,
)
from hardbayes.features.compiled.simd import (
    EIGHT,
    RELATIVE_TOLERANCE,
    add_residual,
    best_lane,
    flip_eight,
    most_gained,
    project_eight,
    rows_in_doubt,
    subtract_members,
)

KEEP, FLIP, FLIP_PAIRS, EXACT = 0, 1, 2, 3  # rules
MAX_GROWTH_ROUNDS = 10  # of one candidate for a new feature; sweeps that follow go on with it
MAX_PASSES = 4  # of single flips, before pairs or all subsets
MAX_FLIP_ROUNDS = 100  # of pair flips in one row; each lowers its cost, so a handful is enough


@kernel
def grow(
    rows, weights, components, origin, membership, seeds, candidates, gains, residuals, joined,
    total, members,
):  # fmt: skip
    """Grow a candidate from the residual of each of the rows ``seeds`` (m,), by one-feature search.

    A candidate is the mean residual of the rows whose cost it lowers, repeated until these are the
    same. IN rows (n, d), weights (n,) or (1,), components (k, d), origin (1, d), membership (n, k);
    OUT candidates (m, d); gains (m,): by how much each lowers the weighted sum of costs; residuals
    (n, d): of the rows. joined (n,) uint8, total (1, d) and members (k + 1,) int64 are scratch.
    """
    n, d = rows.shape
    for i in range(n):
        count = list_members(i, membership, components.shape[0], members)
        subtract_members(rows, i, members, count, components, origin, residuals, i)
    for m in range(seeds.shape[0]):
        for j in range(d):
            candidates[m, j] = residuals[seeds[m], j]
        joined[:] = 2  # neither in nor out
        for _ in range(MAX_GROWTH_ROUNDS):
            size = inner_product(candidates, m, candidates, m, d)
            total[:] = 0.0
            weight = 0.0
            gains[m] = 0.0
            changed = False
            for i in range(n):
                gain = 2.0 * inner_product(residuals, i, candidates, m, d) - size
                changed |= joined[i] != (gain > 0)
                joined[i] = gain > 0
                if gain > 0:
                    own = pick(weights, i)
                    weight += own
                    gains[m] += own * gain
                    for j in range(d):
                        total[0, j] += own * residuals[i, j]
            if not changed or weight == 0:
                break
            for j in range(d):
                candidates[m, j] = total[0, j] / weight


@kernel
def join(
    rows, weights, components, origin, membership, candidate, size, gains, joined, total, members,
    residual,
):  # fmt: skip
    """Let rows join a candidate (1, d) of squared length ``size`` where that lowers their cost.

    IN rows (n, d), weights (n,) or (1,), components (k, d), origin (1, d), membership (n, k); OUT
    gains (n,): by how much their cost falls; joined (n,) uint8: where that is above zero; INOUT
    total (d,): adds the weighted residuals of those rows. members (k + 1,) int64 and residual
    (1, d) are scratch. Returns the weight of the rows that joined.
    """
    n, d = rows.shape
    weight = 0.0
    for i in range(n):
        count = list_members(i, membership, components.shape[0], members)
        subtract_members(rows, i, members, count, components, origin, residual, 0)
        gains[i] = 2.0 * inner_product(residual, ONLY, candidate, ONLY, d) - size
        joined[i] = gains[i] > 0
        if joined[i]:
            own = pick(weights, i)
            weight += own
            for j in range(d):
                total[j] += own * residual[0, j]
    return weight


@inlined
def choose(rows, first, count, rule, margin, features, membership, workspace):
    """Decide for ``count`` rows from ``first`` on; returns the bits of those that changed.

    IN rows (n, d), workspace.residuals and chosen; INOUT membership; OUT workspace.chosen.
    """
    moved, doubt = 0, (1 << count) - 1
    if rule != EXACT or margin > 0:
        moved, doubt = flip_rows(first, count, rule, margin, features, membership, workspace)
    for r in range(count):
        if rule == EXACT and (doubt >> r) & 1:
            project(rows, first + r, features, workspace.products)
            moved |= choose_subset(first + r, r, features, membership, workspace) << r
    return moved


@inlined
def flip_rows(first, count, rule, margin, features, membership, workspace):
    """Flip what lowers the cost; returns the bits of rows changed, and of rows not proved best."""
    k = features.components.shape[0]
    products, signs, gram = workspace.correlations, workspace.signs, features.gram
    in_use = (1 << count) - 1
    for block in range(features.blocks.shape[0]):
        project_eight(workspace.residuals, features.blocks, block, products)
    for r in range(count):
        for a in range(k):
            signs[a, r] = 1.0 - 2.0 * membership[first + r, a]
    moved = 0
    doubt = rows_in_doubt(products, signs, gram, margin) & in_use
    for _ in range(1 if rule == FLIP else MAX_PASSES):
        if doubt == 0:
            break
        again = flip_eight(products, signs, gram) & in_use
        if again == 0:
            break
        moved |= again
        doubt = rows_in_doubt(products, signs, gram, margin) & in_use
    for r in range(count):
        if rule == FLIP_PAIRS and (doubt >> r) & 1 and flip_pairs(r, features, products, signs):
            moved |= 1 << r
        if (moved >> r) & 1:
            store_signs(first + r, r, signs, membership, workspace)
    return moved, doubt


@inlined
def store_signs(i, r, signs, membership, workspace):
    """Give row i the features whose sign is negative."""
    subset = 0
    for a in range(signs.shape[0]):
        has = signs[a, r] < 0
        membership[i, a] = has
        if a < MAX_EXACT:
            subset |= np.int64(has) << a
    workspace.chosen[r] = subset


@inlined
def choose_subset(i, r, features, membership, workspace):
    """Give row i the subset of least ``|zA - origin|^2 - 2 z products``; returns 1 if it is new."""
    k = features.components.shape[0]
    noise = 0.0
    for a in range(k):
        workspace.products[a] *= 2.0
        noise += abs(workspace.products[a])
    workspace.high[0] = 0.0
    for a in range(4, k):
        for subset in range(1 << (a - 4)):
            workspace.high[(1 << (a - 4)) + subset] = workspace.high[subset] + workspace.products[a]
    gain = gain_of(workspace.chosen[r], features, workspace)
    size = abs(features.subsets[workspace.chosen[r] // LOW, workspace.chosen[r] % LOW])
    most = most_gained(features.subsets, workspace.products, workspace.high)
    if not most > gain + RELATIVE_TOLERANCE * (noise + size):
        return 0
    lane = best_lane(features.subsets, workspace.products, workspace.high)
    chosen = lane
    most = -np.inf
    for row in range(features.subsets.shape[0]):
        gain = workspace.high[row] - features.subsets[row, lane]
        if gain > most:
            most = gain
            chosen = row * LOW + lane
    for a in range(k):
        membership[i, a] = (chosen >> a) & 1
    workspace.chosen[r] = chosen
    return 1


@inlined
def gain_of(subset, features, workspace):
    """Return how much a subset lowers the cost, up to a constant."""
    gain = workspace.high[subset // LOW] - features.subsets[subset // LOW, subset % LOW]
    for a in range(4):  # without a branch: it would often be mispredicted
        gain += ((subset >> a) & 1) * workspace.products[a]
    return gain


@inlined
def flip(r, a, features, products, signs):
    """Flip feature a of row r; INOUT products of its residual with each component, signs."""
    for b in range(features.components.shape[0]):
        products[b, r] -= signs[a, r] * features.gram[a, b]
    signs[a, r] = -signs[a, r]


@shared
def flip_pairs(r, features, products, signs):
    """Flip one feature or two of row r while that lowers its cost; returns whether any did."""
    changed = False
    for _ in range(MAX_FLIP_ROUNDS):
        again = False
        for a in range(features.components.shape[0]):
            square = features.gram[a, a]
            if 2.0 * signs[a, r] * products[a, r] - square > RELATIVE_TOLERANCE * square:
                flip(r, a, features, products, signs)
                again = True
        if not again:
            first, second = best_pair(r, features, products, signs)
            if first < 0:
                break
            flip(r, first, features, products, signs)
            flip(r, second, features, products, signs)
        changed = True
    return changed


@inlined
def best_pair(r, features, products, signs):
    """Return the two features whose joint flip lowers the cost most, or -1, -1."""
    most = 0.0
    first = second = np.int64(-1)
    for a in range(features.components.shape[0]):
        alone = 2.0 * signs[a, r] * products[a, r] - features.gram[a, a]
        for b in range(a):
            size = features.gram[a, a] + features.gram[b, b]
            gain = alone + 2.0 * signs[b, r] * products[b, r] - features.gram[b, b]
            gain -= 2.0 * signs[a, r] * signs[b, r] * features.gram[a, b]
            if gain > most and gain > RELATIVE_TOLERANCE * size:
                most = gain
                first, second = a, b
    return first, second


@kernel
def allocate(
    values, shift, scale, weights, features, rule, is_search, is_refitted, membership, costs, gram,
    correction, fits, workspace,
):  # fmt: skip
    """Sweep once or, in a search, alternate sweeps and refits until no row changes.

    One kernel for both, because a sweep takes long to compile. A search needs all rows; with none,
    it only lays out the features. Where rows are one tile, starts run side by side: between calls
    the interpreter would serialise them.

    IN ``is_search``: if not, features are laid out before, and sums are added to gram and
    correction; ``is_refitted``: whether components are at least squares. INOUT
    features.components; OUT fits (max_sweeps,): the fit term after each sweep; the rest of
    features, and otherwise as in `sweep`, the last one's. Returns the number of sweeps, the rows
    changed in the last, and False if it ended at a singular gram.
    """
    changed = 0
    for step in range(fits.shape[0]):
        if is_search:
            lay_out(features, workspace)
            gram[:] = 0.0
            correction[:] = 0.0
        fits[step], changed = sweep(
            values, shift, scale, weights, features, rule, membership, costs, gram, correction,
            workspace,
        )  # fmt: skip
        if not is_search or (changed == 0 and is_refitted):
            return step + 1, changed, True
        if not refit(features.components, gram, correction, workspace.factor):
            return step + 1, changed, False
        is_refitted = True
    return fits.shape[0], changed, True


@shared
def sweep(
    values, shift, scale, weights, features, rule, membership, costs, gram, correction, workspace
):  # fmt: skip
    """Decide for every row ``(values - shift) * scale``, and sum up for a refit.

    IN values (n, d), shift (d,), weights (n,) or (1,), features as laid out, rule; INOUT membership
    (n, k) uint8; OUT costs (n,): squared residuals; INOUT gram (k, k): adds Z'WZ; correction
    (k, d): adds Z'WR, R being the residuals. Returns the weighted sum of costs and the number of
    rows that changed.
    """
    n, d = values.shape
    k = features.components.shape[0]
    size = workspace.rows.shape[0]
    margin = 1.0 if rule == FLIP else features.margin[0]
    # A row this near to the sum of its components has no better subset.
    near = margin * smallest_diagonal(features.gram) / 4.0
    fit = 0.0
    changed = 0
    workspace.totals[:] = 0.0
    workspace.weights[:] = 0.0
    for start in range(0, n, size):  # some at a time, so that they stay in cache
        stop = min(start + size, n)
        rows, members, paid = workspace.rows, membership[start:stop], costs[start:stop]
        total = 0.0
        for i in range(start, stop):
            for j in range(d):
                rows[i - start, j] = (np.float64(values[i, j]) - shift[j]) * scale
        for first in range(0, stop - start, EIGHT):
            count = min(EIGHT, stop - start - first)
            for r in range(count):
                workspace.chosen[r] = subset_of(first + r, members, k)
            new = (1 << count) - 1  # the bits of rows whose residuals are to be found
            for is_again in range(2):
                farthest = 0.0
                for r in range(count):
                    if (new >> r) & 1:
                        i = first + r
                        paid[i] = residual_of(rows, i, r, features, members, workspace)
                        farthest = max(farthest, paid[i])
                if is_again or rule == KEEP or farthest <= near:
                    break
                new = choose(rows, first, count, rule, margin, features, members, workspace)
                for r in range(count):
                    changed += (new >> r) & 1
            for r in range(count):
                weight = pick(weights, start + first + r)
                total += weight * paid[first + r]
                if weight > 0:
                    collect(first + r, r, weight, features, members, gram, correction, workspace)
        fit += total
    distribute(workspace, gram, correction)
    return fit, changed


@inlined
def residual_of(rows, i, r, features, membership, workspace):
    """OUT workspace.residuals[r]: row i less its features; returns its square.

    IN workspace.chosen[r]: the row's subset, where sums are tabled.
    """
    members, residuals = workspace.members, workspace.residuals
    summands = features.components
    if features.sums.shape[0] > 0:
        summands = features.sums
        members[0] = workspace.chosen[r]
        count = 1
    else:
        count = list_members(i, membership, summands.shape[0], members)
    return subtract_members(rows, i, members, count, summands, features.origin, residuals, r)


@inlined
def collect(i, r, weight, features, membership, gram, correction, workspace):
    """Add workspace.residuals[r], of row i, to the sums."""
    members, sums = workspace.members, correction
    if features.sums.shape[0] > 0:
        sums = workspace.totals
        members[0] = workspace.chosen[r]
        count = 1
        workspace.weights[members[0]] += weight
    else:
        count = list_members(i, membership, features.components.shape[0], members)
        for m in range(count):
            for other in range(count):
                gram[members[m], members[other]] += weight
    add_residual(workspace.residuals, r, weight, members, count, sums)


@inlined
def subset_of(i, membership, k):
    """Return the first MAX_EXACT features of row i as the bits of a number."""
    subset = 0
    for a in range(min(k, MAX_EXACT)):
        subset |= np.int64(membership[i, a]) << a
    return subset


@inlined
def smallest_diagonal(gram):
    """Return the smallest entry of the diagonal."""
    least = np.inf
    for a in range(gram.shape[0]):
        least = min(least, gram[a, a])
    return least


@shared
def distribute(workspace, gram, correction):
    """Add the totals of every subset to the sums of each of its features."""
    k, d = correction.shape
    for subset in range(workspace.weights.shape[0]):
        weight = workspace.weights[subset]
        if weight == 0:
            continue
        for a in range(k):
            if (subset >> a) & 1:
                for b in range(k):
                    if (subset >> b) & 1:
                        gram[a, b] += weight
                for j in range(d):
                    correction[a, j] += workspace.totals[subset, j]
