"""The decision on columns of Z: whether a combination of two should stand for one or both of them.

What least squares would leave afterwards is exact and needs no refit. With H the inverse of Z'WZ,
taking columns S away costs ``A_S' (H_SS)^-1 A_S``, and a new column c then earns
``|c'WR_S|^2 / (c'Wc - c'W P c)``, P being the projection on the columns that stay and R_S what they
leave of the rows.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel

# Combinations of columns a and b as alpha a + beta b + delta ab, elementwise.
EITHER, ONE_OF_TWO, BOTH, ONLY_FIRST, ONLY_SECOND = 0, 1, 2, 3, 4
COMBINATIONS = np.array(
    [[1.0, 1.0, -1.0], [1.0, 1.0, -2.0], [0.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]
)
# Of two large numbers that nearly cancel, what is left must be more than this share of them.
ROUNDING = 1e-12
DEPENDENT = 1e-9  # a new column of which the others leave no more than this share is one of them


@kernel
def best_combination(first, totals, counts, gram, inverse, components, penalty, overlap, reach):
    """Return the best exchange: its change, a, b, which combination, and what of a and b goes.

    IN totals (m, k, d), counts (m, k, k): residuals and memberships summed over the rows that have
    both features ``first + i < b``; gram (k, k) = Z'WZ and its inverse; components (k, d) at least
    squares. overlap, reach (k,) are scratch.
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
                    reach[c] = 0.0
                    for e in range(k):
                        reach[c] += overlap[e] * inverse[e, c]
                    left -= reach[c] * overlap[c]
                # With b staying, "either" would span what "only the first" does.
                if kind <= BOTH:
                    change = both_go(
                        a, b, inverse, components, reach, left, least, delta, totals, i
                    )
                    if change - penalty < best[0]:
                        best = (change - penalty, a, b, kind, True, True)
                if kind in (ONLY_FIRST, ONE_OF_TWO, BOTH):
                    change = one_goes(
                        a, b, inverse, components, reach, left, least, delta, totals, i
                    )
                    if change < best[0]:
                        best = (change, a, b, kind, True, False)
                if kind in (ONLY_SECOND, ONE_OF_TWO, BOTH):
                    change = one_goes(
                        b, b, inverse, components, reach, left, least, delta, totals, i
                    )
                    if change < best[0]:
                        best = (change, a, b, kind, False, True)
    return best


@inlined
def one_goes(gone, b, inverse, components, reach, left, least, delta, totals, i):
    """Change of the fit term if the combination stands for column ``gone``."""
    freed = 1.0 / inverse[gone, gone]
    along = reach[gone] * freed
    left += along * reach[gone]
    if not left > least:
        return np.inf
    loss = gain = 0.0
    for j in range(components.shape[1]):
        # Residuals are orthogonal to the columns themselves: only rows with both matter.
        pull = delta * totals[i, b, j] + along * components[gone, j]
        gain += pull * pull
        loss += components[gone, j] * components[gone, j]
    return loss * freed * (1.0 + ROUNDING) - gain / left


@inlined
def both_go(a, b, inverse, components, reach, left, least, delta, totals, i):
    """Change of the fit term if the combination stands for columns a and b."""
    determinant = inverse[a, a] * inverse[b, b] - inverse[a, b] * inverse[a, b]
    own = inverse[b, b] / determinant
    cross = -inverse[a, b] / determinant
    other = inverse[a, a] / determinant
    along_a = reach[a] * own + reach[b] * cross
    along_b = reach[a] * cross + reach[b] * other
    left += along_a * reach[a] + along_b * reach[b]
    if not left > least:
        return np.inf
    loss = gain = 0.0
    for j in range(components.shape[1]):
        x, y = components[a, j], components[b, j]
        pull = delta * totals[i, b, j] + along_a * x + along_b * y
        gain += pull * pull
        loss += own * x * x + 2.0 * cross * x * y + other * y * y
    return loss * (1.0 + ROUNDING) - gain / left
