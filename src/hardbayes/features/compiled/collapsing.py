"""Decisions with components integrated out, and combinations of columns of Z.

The collapsed decision (Broderick, Kulis & Jordan 2013, section 4.1). Without row i, let A be the
least-squares components of the other rows and H the inverse of their Z'WZ. The row with features z
adds

    w |x_i - zA|^2 / (1 + w zHz')

to the objective of the others, so subsets are compared exactly. Removing a row, or adding it,
changes A and H by rank one.

Whether a combination of two columns of Z should replace one or both of them. The change of the fit
term after least squares is exact without a refit. With H the inverse of Z'WZ, removing columns S
costs ``A_S' (H_SS)^-1 A_S``. A new column c then gains ``|c'WR|^2 / (c'Wc - c'WPc)``, P being the
projection on the columns that stay and R their residuals.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel, shared
from hardbayes.core.rows import pick
from hardbayes.core.simd.vectors import sum_of_squares
from hardbayes.features.compiled.layout import ONLY, inner_product, list_members
from hardbayes.features.compiled.simd import subtract_members

# A row changes only if its cost falls by more than this part of it; less is rounding.
RELATIVE_TOLERANCE = 1e-10
# A new column is dependent if no more than this share of it is outside the span of the others.
DEPENDENT = 1e-9
# With more leverage than this, a column of Z would depend on the others without the row.
ALONE = 1.0 - DEPENDENT
DONE, OPENS, STANDS_ALONE = 0, 1, 2  # why a pass ends
MAX_ROUNDS = 100  # of single flips of one row; each lowers its cost, so a handful is enough
MAX_EXACT = 8  # features up to which all subsets are compared; each costs more than in a sweep
# Combinations of columns a and b as alpha a + beta b + delta ab, elementwise.
EITHER, ONE_OF_TWO, BOTH, ONLY_FIRST, ONLY_SECOND = 0, 1, 2, 3, 4
COMBINATIONS = np.array(
    [[1.0, 1.0, -1.0], [1.0, 1.0, -2.0], [0.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]
)
# The difference of two nearly equal numbers is exact only up to this share of them.
PIVOT_ROUNDING = 1e-12


class Collapsed(NamedTuple):
    """Components and the inverse of Z'WZ, of all rows between calls; and scratch."""

    components: np.ndarray  # (k, d)
    inverse: np.ndarray  # (k, k)
    origin: np.ndarray  # (1, d)
    direction: np.ndarray  # (k,): Hz of the row
    residual: np.ndarray  # (1, d)
    gram: np.ndarray  # (k, k): components @ components.T
    products: np.ndarray  # (k,): residual with each component
    subset_direction: np.ndarray  # (k,): Hz of state.subset
    subset: np.ndarray  # (k,) uint8: a subset tried
    chosen: np.ndarray  # (k,) uint8: the best so far
    members: np.ndarray  # (k + 1,) int64: features of the row
    n_fixed: np.ndarray  # (1,) int64: how many of the first features all rows have and keep


def new_collapsed(
    components: np.ndarray, inverse: np.ndarray, origin: np.ndarray, n_fixed: int = 0
) -> Collapsed:
    """Allocate scratch; components (k, d) and inverse (k, k) are not copied; ``origin`` (d,).

    ``n_fixed``: how many of the first features all rows have and keep.
    """
    k, d = components.shape
    return Collapsed(
        components, inverse, origin[np.newaxis], np.empty(k), np.empty((1, d)), np.empty((k, k)),
        np.empty(k), np.empty(k), np.empty(k, np.uint8), np.empty(k, np.uint8),
        np.empty(k + 1, np.int64), np.array([n_fixed]),
    )  # fmt: skip


@kernel
def collapse(rows, weights, state, opening_cost, negligible, start, stop, membership):
    """Decide for rows ``start`` to ``stop``; end early where a feature may be opened or closed.

    IN rows (n, d), weights (n,) or (1,); costs up to ``negligible`` are rounding. INOUT state,
    membership (n, k) uint8. Returns why it ended, at which row, the cost of the last row and the
    number of rows changed. At OPENS the row costs more than ``opening_cost``, and is removed from
    state; at STANDS_ALONE it is as it was.
    """
    k = state.components.shape[0]
    changed = 0
    cost = 0.0
    for i in range(start, stop):
        weight = pick(weights, i)
        leverage = measure_row(rows, i, state, membership)
        if weight * leverage > ALONE:
            return STANDS_ALONE, i, cost, changed
        update(-weight / (1.0 - weight * leverage), state)
        leverage = measure_row(rows, i, state, membership)
        size = sum_of_squares(state.residual, 0, rows.shape[1])
        cost = size / (1.0 + weight * leverage)
        best = best_subset(i, weight, size, leverage, state, membership)
        if best < cost * (1.0 - RELATIVE_TOLERANCE) - negligible:
            cost = best
            for a in range(k):
                membership[i, a] = state.chosen[a]
            leverage = measure_row(rows, i, state, membership)
            changed += 1
        cost *= weight
        if cost > opening_cost * (1.0 + RELATIVE_TOLERANCE) + negligible:
            return OPENS, i, cost, changed
        update(weight / (1.0 + weight * leverage), state)
    return DONE, stop, cost, changed


@shared
def measure_row(rows, i, state, membership):
    """OUT state.residual, direction: of row i; returns its leverage zHz'."""
    k = state.components.shape[0]
    count = list_members(i, membership, k, state.members)
    subtract_members(
        rows, i, state.members, count, state.components, state.origin, state.residual, 0
    )
    leverage = 0.0
    for a in range(k):
        state.direction[a] = 0.0
        for b in range(k):
            if membership[i, b]:
                state.direction[a] += state.inverse[a, b]
        if membership[i, a]:
            leverage += state.direction[a]
    return leverage


@shared
def update(factor, state):
    """Add the row that was measured to components and inverse, or remove it."""
    k, d = state.components.shape
    for a in range(k):
        step = factor * state.direction[a]
        for b in range(k):
            state.inverse[a, b] -= step * state.direction[b]
        for j in range(d):
            state.components[a, j] += step * state.residual[0, j]


@shared
def flip(a, state, size, leverage):
    """Flip feature a of state.subset; returns its squared residual and leverage."""
    sign = -1.0 if state.subset[a] else 1.0
    state.subset[a] = 1 - state.subset[a]
    size += state.gram[a, a] - 2.0 * sign * state.products[a]
    leverage += state.inverse[a, a] + 2.0 * sign * state.subset_direction[a]
    for b in range(state.products.shape[0]):
        state.products[b] -= sign * state.gram[a, b]
        state.subset_direction[b] += sign * state.inverse[a, b]
    return size, leverage


@inlined
def best_subset(i, weight, size, leverage, state, membership):
    """OUT state.chosen: the cheapest subset; returns its cost per weight.

    Up to MAX_EXACT features, all subsets in Gray code order; with more, single flips while one
    lowers the cost.
    """
    k, d = state.components.shape
    fixed = state.n_fixed[0]
    for a in range(k):
        state.subset[a] = membership[i, a]
        state.chosen[a] = membership[i, a]
        state.subset_direction[a] = state.direction[a]
        state.products[a] = inner_product(state.residual, ONLY, state.components, a, d)
        for b in range(a + 1):
            state.gram[a, b] = inner_product(state.components, a, state.components, b, d)
            state.gram[b, a] = state.gram[a, b]
    best = size / (1.0 + weight * leverage)
    if k - fixed <= MAX_EXACT:
        for step in range(1, 1 << (k - fixed)):
            a = fixed
            while (step >> (a - fixed)) & 1 == 0:
                a += 1
            size, leverage = flip(a, state, size, leverage)
            cost = size / (1.0 + weight * leverage)
            if cost < best * (1.0 - RELATIVE_TOLERANCE):
                best = cost
                for b in range(k):
                    state.chosen[b] = state.subset[b]
        return best
    for _ in range(MAX_ROUNDS):
        again = False
        for a in range(fixed, k):
            size, leverage = flip(a, state, size, leverage)
            cost = size / (1.0 + weight * leverage)
            if cost < best * (1.0 - RELATIVE_TOLERANCE):
                best = cost
                again = True
                state.chosen[a] = state.subset[a]
            else:
                size, leverage = flip(a, state, size, leverage)
        if not again:
            break
    return best


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
    return loss * freed * (1.0 + PIVOT_ROUNDING) - gain / left


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
    return loss * (1.0 + PIVOT_ROUNDING) - gain / left
