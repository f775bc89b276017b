"""The features of eight rows at a time, from their residuals.

Single flips come first, for all eight side by side. A margin of the Gram matrix then proves for
most rows that no other subset is cheaper. For the others all subsets are compared or, with many
features, flips of two at once are tried.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, shared
from hardbayes.kernels.features.layout import LOW, MOST_EXACT, project
from hardbayes.kernels.simd.flips import ROUNDING, flip_eight, project_eight, rows_in_doubt
from hardbayes.kernels.simd.subsets import best_lane, most_gained

KEEP, FLIP, FLIP_PAIRS, EXACT = 0, 1, 2, 3
MOST_PASSES = 4  # of single flips, before pairs or all subsets
MOST_ROUNDS = 100  # of pair flips in one row; each lowers its cost, so a handful is enough


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
    for _ in range(1 if rule == FLIP else MOST_PASSES):
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
        if a < MOST_EXACT:
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
    if not most > gain + ROUNDING * (noise + size):
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
    for _ in range(MOST_ROUNDS):
        again = False
        for a in range(features.components.shape[0]):
            square = features.gram[a, a]
            if 2.0 * signs[a, r] * products[a, r] - square > ROUNDING * square:
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
            if gain > most and gain > ROUNDING * size:
                most = gain
                first, second = a, b
    return first, second
