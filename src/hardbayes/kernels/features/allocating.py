"""The decision of BP-means and K-features: which features each row has, components frozen.

Four rules: leave the row as it is; one pass of single flips, as published; single and pair flips
until none helps; the best of all subsets. A row keeps its features unless others are cheaper by
more than rounding, so that equal subsets cannot take turns for ever.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.features.choosing import FLIP, KEEP, choose
from hardbayes.kernels.features.layout import MOST_EXACT, list_members
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.simd.features import add_residual, subtract_members
from hardbayes.kernels.simd.flips import EIGHT


@kernel
def allocate(
    values, shift, scale, weights, features, rule, membership, costs, gram, correction, room
):  # fmt: skip
    """Decide for every row ``(values - shift) * scale``, and collect what the refit needs.

    IN values (n, d), shift (d,), weights (n,) or (1,), rule; INOUT membership (n, k) uint8; OUT
    costs (n,): the squared residuals; INOUT gram (k, k): adds Z'WZ; correction (k, d): adds Z'WR of
    the residuals R. Returns the weighted sum of costs and the number of rows that changed.
    """
    n, d = values.shape
    size = room.rows.shape[0]
    fit = 0.0
    changed = 0
    room.totals[:] = 0.0
    room.weights[:] = 0.0
    for start in range(0, n, size):  # some at a time, so that they stay near
        stop = min(start + size, n)
        for i in range(start, stop):
            for j in range(d):
                room.rows[i - start, j] = (np.float64(values[i, j]) - shift[j]) * scale
        more, others = decide(
            room.rows[: stop - start], weights[start:stop] if weights.shape[0] > 1 else weights,
            features, rule, membership[start:stop], costs[start:stop], gram, correction, room,
        )  # fmt: skip
        fit += more
        changed += others
    deal_out(room, gram, correction)
    return fit, changed


@inlined
def decide(rows, weights, features, rule, membership, costs, gram, correction, room):
    """Do the same for rows (m, d), with what belongs to whole subsets left in ``room``."""
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
def subset_of(i, membership, k):
    """Return the first dozen features of row i as the bits of a number."""
    subset = 0
    for a in range(min(k, MOST_EXACT)):
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
