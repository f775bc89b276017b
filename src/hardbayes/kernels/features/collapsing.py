"""The collapsed decision: the features of a row with the components integrated out.

Broderick, Kulis & Jordan 2013, section 4.1. With row i taken away, let A be the least-squares
components of the other rows and H the inverse of their Z'WZ. Giving the row the features z leaves
the objective of the others plus

    w |x_i - zA|^2 / (1 + w zHz'),

so subsets are compared exactly, and taking a row away or putting it back changes A and H by rank
one.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.features.layout import inner_product, list_members
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.simd.features import subtract_members
from hardbayes.kernels.simd.vectors import sum_of_squares

ROUNDING = 1e-10
# With this leverage or more, a row is all that keeps a column of Z apart from the others.
ALONE = 1.0 - 1e-9
DONE, OPENS, STANDS_ALONE = 0, 1, 2  # why a pass ends
MOST_ROUNDS = 100
MOST_EXACT = (
    8  # features up to which all subsets are looked at; each costs more here than elsewhere
)


class Collapsed(NamedTuple):
    """Components and the inverse of Z'WZ, both with all rows in them between calls; scratch."""

    components: np.ndarray  # (k, d)
    inverse: np.ndarray  # (k, k)
    origin: np.ndarray  # (1, d)
    reach: np.ndarray  # (k,): Hz of the present row
    residual: np.ndarray  # (1, d)
    gram: np.ndarray  # (k, k): components @ components.T
    products: np.ndarray  # (k,): residual with each component
    spread: np.ndarray  # (k,): Hz along a walk through subsets
    subset: np.ndarray  # (k,) uint8: the same for z
    chosen: np.ndarray  # (k,) uint8
    members: np.ndarray  # (k + 1,) int64: features of the present row


def new_collapsed(components: np.ndarray, inverse: np.ndarray, origin: np.ndarray) -> Collapsed:
    """Lay out components (k, d), which are not copied, nor is the inverse; ``origin`` (d,)."""
    k, d = components.shape
    return Collapsed(
        components,
        inverse,
        origin[np.newaxis],
        np.empty(k),
        np.empty((1, d)),
        np.empty((k, k)),
        np.empty(k),
        np.empty(k),
        np.empty(k, np.uint8),
        np.empty(k, np.uint8),
        np.empty(k + 1, np.int64),
    )


@kernel
def collapse(rows, weights, state, penalty, nothing, start, stop, membership):
    """Decide for rows ``start`` to ``stop``; end early where the set of features may change.

    INOUT state, membership (n, k) uint8; squares up to ``nothing`` are rounding. Returns why it
    ended, at which row, the cost of the last row and the number of rows changed. At OPENS the row
    costs more than the penalty, and state has it taken away; at STANDS_ALONE nothing was done to
    the row.
    """
    k = state.components.shape[0]
    changed = 0
    cost = 0.0
    for i in range(start, stop):
        weight = pick(weights, i)
        leverage = look_at(rows, i, state, membership)
        if weight * leverage > ALONE:
            return STANDS_ALONE, i, cost, changed
        exchange(-weight / (1.0 - weight * leverage), state)
        leverage = look_at(rows, i, state, membership)
        size = sum_of_squares(state.residual, 0, rows.shape[1])
        cost = size / (1.0 + weight * leverage)
        best = best_subset(i, weight, size, leverage, state, membership)
        if best < cost * (1.0 - ROUNDING) - nothing:
            cost = best
            for a in range(k):
                membership[i, a] = state.chosen[a]
            leverage = look_at(rows, i, state, membership)
            changed += 1
        cost *= weight
        if cost > penalty * (1.0 + ROUNDING) + nothing:
            return OPENS, i, cost, changed
        exchange(weight / (1.0 + weight * leverage), state)
    return DONE, stop, cost, changed


@inlined
def look_at(rows, i, state, membership):
    """OUT state.residual, state.reach of row i; returns its leverage zHz'."""
    k = state.components.shape[0]
    count = list_members(i, membership, k, state.members)
    subtract_members(
        rows, i, state.members, count, state.components, state.origin, state.residual, 0
    )
    leverage = 0.0
    for a in range(k):
        state.reach[a] = 0.0
        for b in range(k):
            if membership[i, b]:
                state.reach[a] += state.inverse[a, b]
        if membership[i, a]:
            leverage += state.reach[a]
    return leverage


@inlined
def exchange(factor, state):
    """Put the row that was looked at into components and inverse, or take it out."""
    k, d = state.components.shape
    for a in range(k):
        step = factor * state.reach[a]
        for b in range(k):
            state.inverse[a, b] -= step * state.reach[b]
        for j in range(d):
            state.components[a, j] += step * state.residual[0, j]


@inlined
def walk(a, state, size, leverage):
    """Flip feature a of state.subset; returns its squared residual and leverage afterwards."""
    sign = -1.0 if state.subset[a] else 1.0
    state.subset[a] = 1 - state.subset[a]
    size += state.gram[a, a] - 2.0 * sign * state.products[a]
    leverage += state.inverse[a, a] + 2.0 * sign * state.spread[a]
    for b in range(state.products.shape[0]):
        state.products[b] -= sign * state.gram[a, b]
        state.spread[b] += sign * state.inverse[a, b]
    return size, leverage


@inlined
def best_subset(i, weight, size, leverage, state, membership):
    """OUT state.chosen: the cheapest subset; returns its cost without the weight.

    All subsets of up to MOST_EXACT features in Gray's order; of more, single flips while one helps.
    """
    k, d = state.components.shape
    for a in range(k):
        state.subset[a] = membership[i, a]
        state.chosen[a] = membership[i, a]
        state.spread[a] = state.reach[a]
        state.products[a] = inner_product(state.residual, 0, state.components, a, d)
        for b in range(a + 1):
            state.gram[a, b] = inner_product(state.components, a, state.components, b, d)
            state.gram[b, a] = state.gram[a, b]
    best = size / (1.0 + weight * leverage)
    if k <= MOST_EXACT:
        for step in range(1, 1 << k):
            a = 0
            while (step >> a) & 1 == 0:
                a += 1
            size, leverage = walk(a, state, size, leverage)
            cost = size / (1.0 + weight * leverage)
            if cost < best * (1.0 - ROUNDING):
                best = cost
                for b in range(k):
                    state.chosen[b] = state.subset[b]
        return best
    for _ in range(MOST_ROUNDS):
        again = False
        for a in range(k):
            size, leverage = walk(a, state, size, leverage)
            cost = size / (1.0 + weight * leverage)
            if cost < best * (1.0 - ROUNDING):
                best = cost
                again = True
                state.chosen[a] = state.subset[a]
            else:
                size, leverage = walk(a, state, size, leverage)
        if not again:
            break
    return best
