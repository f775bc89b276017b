"""Whether a combination of two columns of Z should replace one or both of them.

The change of the fit term after least squares is exact without a refit. With H the inverse of Z'WZ,
removing columns S costs ``A_S' (H_SS)^-1 A_S``. A new column c then gains
``|c'WR|^2 / (c'Wc - c'WPc)``, P being the projection on the columns that stay and R their
residuals.
"""

import numpy as np

from hardbayes.core.compiling import inlined, kernel
from hardbayes.core.rows import pick
from hardbayes.features.compiled.layout import list_members
from hardbayes.features.compiled.simd import subtract_members

# Combinations of columns a and b as alpha a + beta b + delta ab, elementwise.
EITHER, ONE_OF_TWO, BOTH, ONLY_FIRST, ONLY_SECOND = 0, 1, 2, 3, 4
COMBINATIONS = np.array(
    [[1.0, 1.0, -1.0], [1.0, 1.0, -2.0], [0.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]
)
# The difference of two nearly equal numbers is exact only up to this share of them.
ROUNDING = 1e-12
DEPENDENT = 1e-9  # a new column is dependent if no more than this share is outside their span


@kernel
def pair_totals(
    rows, weights, components, origin, membership, first, totals, counts, members, residual
):  # fmt: skip
    """Add up residuals and memberships of rows that have both features ``first + a < b``.

    IN rows (n, d), weights (n,) or (1,), components (k, d), origin (1, d), membership (n, k); INOUT
    totals (m, k, d): adds weighted residuals at [a, b]; counts (m, k, k): adds at [a, b, c] the
    weight of those that also have c. members (k + 1,) int64 and residual (1, d) are scratch.
    """
    n, d = rows.shape
    for i in range(n):
        weight = pick(weights, i)
        if weight == 0:
            continue
        count = list_members(i, membership, components.shape[0], members)
        subtract_members(rows, i, members, count, components, origin, residual, 0)
        for low in range(count):
            a = members[low] - first
            if a < 0 or a >= totals.shape[0]:
                continue
            for high in range(low + 1, count):
                b = members[high]
                for third in range(count):
                    counts[a, b, members[third]] += weight
                for j in range(d):
                    totals[a, b, j] += weight * residual[0, j]


@kernel
def best_combination(
    first, totals, counts, gram, inverse, components, penalty, overlap, coefficients
):
    """Return the best change of the objective, a, b, the combination, and whether a and b go.

    IN totals (m, k, d), counts (m, k, k): by `pair_totals`, for pairs ``first + i < b``; gram
    (k, k) = Z'WZ and its inverse; components (k, d) at least squares. overlap, coefficients (k,)
    are scratch.
    """
    k = gram.shape[0]
    best = (np.inf, 0, 0, 0, True, True)
    for i in range(totals.shape[0]):
        a = first + i
        for b in range(a + 1, k):
            for kind in range(COMBINATIONS.shape[0]):
                alpha, beta, delta = COMBINATIONS[kind]
                left = alpha * gram[a, a] + beta * gram[b, b] + delta * gram[a, b]
                least = DEPENDENT * max(left, DEPENDENT)
                for c in range(k):
                    overlap[c] = alpha * gram[a, c] + beta * gram[b, c] + delta * counts[i, b, c]
                for c in range(k):
                    coefficients[c] = 0.0
                    for e in range(k):
                        coefficients[c] += overlap[e] * inverse[e, c]
                    left -= coefficients[c] * overlap[c]
                # If one of the two stays, "either" spans the same as "only the other".
                if kind <= BOTH:
                    change = change_without_both(
                        a, b, inverse, components, coefficients, left, least, delta, totals, i
                    )
                    if change - penalty < best[0]:
                        best = (change - penalty, a, b, kind, True, True)
                if kind in (ONLY_FIRST, ONE_OF_TWO, BOTH):
                    change = change_without_one(
                        a, b, inverse, components, coefficients, left, least, delta, totals, i
                    )
                    if change < best[0]:
                        best = (change, a, b, kind, True, False)
                if kind in (ONLY_SECOND, ONE_OF_TWO, BOTH):
                    change = change_without_one(
                        b, b, inverse, components, coefficients, left, least, delta, totals, i
                    )
                    if change < best[0]:
                        best = (change, a, b, kind, False, True)
    return best


@inlined
def change_without_one(
    removed, b, inverse, components, coefficients, left, least, delta, totals, i
):
    """Return the change of the fit term if the combination replaces column ``removed``."""
    freed = 1.0 / inverse[removed, removed]
    along = coefficients[removed] * freed
    left += along * coefficients[removed]
    if not left > least:
        return np.inf
    loss = gain = 0.0
    for j in range(components.shape[1]):
        # Residuals are orthogonal to columns a and b: only the product of the two counts.
        product = delta * totals[i, b, j] + along * components[removed, j]
        gain += product * product
        loss += components[removed, j] * components[removed, j]
    return loss * freed * (1.0 + ROUNDING) - gain / left


@inlined
def change_without_both(a, b, inverse, components, coefficients, left, least, delta, totals, i):
    """Return the change of the fit term if the combination replaces columns a and b."""
    determinant = inverse[a, a] * inverse[b, b] - inverse[a, b] * inverse[a, b]
    own = inverse[b, b] / determinant
    cross = -inverse[a, b] / determinant
    other = inverse[a, a] / determinant
    along_a = coefficients[a] * own + coefficients[b] * cross
    along_b = coefficients[a] * cross + coefficients[b] * other
    left += along_a * coefficients[a] + along_b * coefficients[b]
    if not left > least:
        return np.inf
    loss = gain = 0.0
    for j in range(components.shape[1]):
        x, y = components[a, j], components[b, j]
        product = delta * totals[i, b, j] + along_a * x + along_b * y
        gain += product * product
        loss += own * x * x + 2.0 * cross * x * y + other * y * y
    return loss * (1.0 + ROUNDING) - gain / left
