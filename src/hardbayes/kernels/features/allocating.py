"""Sweeps: which features each row has, at fixed components, and the sums for a refit.

Four rules: KEEP the features; FLIP in one pass of single flips, as published; FLIP_PAIRS, single
and pair flips until none lowers the cost; EXACT, the best of all subsets. A row changes only if its
cost falls by more than rounding, so that equal subsets cannot alternate for ever.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel, shared
from hardbayes.kernels.features.choosing import FLIP, KEEP, choose
from hardbayes.kernels.features.layout import MOST_EXACT, lay_out, list_members
from hardbayes.kernels.features.least_squares import refit
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.simd.features import add_residual, subtract_members
from hardbayes.kernels.simd.flips import EIGHT


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
    """Return the first MOST_EXACT features of row i as the bits of a number."""
    subset = 0
    for a in range(min(k, MOST_EXACT)):
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
