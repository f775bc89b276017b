"""The partition's decision: each row goes to its cheapest centre.

Scores in the data's own precision propose, the direct formula in float64 decides: every centre whose score is within the error
bound of the best is evaluated directly, ties go to the centre created first. Where costs are squared distances, bounds
carried from sweep to sweep prove for most rows that nothing can have changed: ``upper`` bounds the distance to the row's own
centre, ``lower[g]`` to all other centres of group ``g`` (Hamerly 2010 with one group, Ding et al. 2015 with many). Rows that the bounds
do not settle are scored together, in batches.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.rows import (
    pick,
    read_row,
    row_cost,
    score_block,
    score_error,
    sum_of_squares,
)

# Bounds live in float32; each update gives away more than its rounding error can take.
WIDEN = np.float64(1 + 1e-6)
NARROW = np.float64(1 - 1e-6)
NARROW32 = np.float32(1 - 1e-6)
TINY = np.float32(1e-37)


class Bounds(NamedTuple):
    """Distance bounds, and how far the centres have moved since they held."""

    upper: np.ndarray  # (n,) float32; empty where costs are not distances
    lower: np.ndarray  # (n, groups) float32
    drift: np.ndarray  # (slots,) float32, rounded up
    group_drift: np.ndarray  # (groups,) float32, rounded up
    span: int  # blocks in a group


@kernel
def above(distance):
    """Round up to float32 with room to spare."""
    return np.float32(distance * WIDEN) + TINY


@kernel
def below(distance):
    """Round down to float32 with room to spare."""
    return np.float32(distance * NARROW) - TINY


@kernel
def own_slot(labels, centres, i):
    """Slot of the row's living cluster, or -1."""
    own = np.int64(labels[i])
    return own if own >= 0 and centres.rank[own] >= 0 else np.int64(-1)


@kernel
def assign(rows, weights, prices, constants, centres, bounds, labels, dear, batch, start, stop):
    """Give rows ``start`` to ``stop`` to their cheapest centres.

    IN weights, prices, constants (n,) or (1,); IN/OUT bounds, labels (n,) int32; OUT dear (n,) uint8: 1 where even the
    cheapest centre costs more than the row's price; SCRATCH batch. Returns the number of such rows.
    """
    batch_size = batch.x.shape[0]
    upper, lower = bounds.upper, bounds.lower
    bounded = upper.shape[0] > 0
    n_groups = bounds.group_drift.shape[0]
    n_dear = 0
    size = 0
    for i in range(start, stop):
        own = own_slot(labels, centres, i) if bounded else np.int64(-1)
        reach = np.float32(np.inf)
        if own >= 0:
            reach = above(np.float64(upper[i]) + bounds.drift[own])
            n_open = 0
            for g in range(n_groups):
                low = lower[i, g] * NARROW32 - bounds.group_drift[g]
                lower[i, g] = low
                n_open += low <= reach
            if n_open == 0 and pick(weights, i) * (np.float64(reach) * reach) <= pick(prices, i):
                upper[i] = reach
                continue

        m = read_row(rows, i, batch.x[size], batch.exact, batch.columns)
        cost = np.inf
        if own >= 0:
            cost = row_cost(rows, centres, constants[0], batch.exact, batch.columns, m, own)
            reach = above(np.sqrt(cost))
            n_open = 0
            for g in range(n_groups):
                n_open += lower[i, g] <= reach
            if n_open == 0:
                upper[i] = reach
                if pick(weights, i) * cost > pick(prices, i):
                    dear[i] = 1
                    n_dear += 1
                continue

        squares = sum_of_squares(batch.exact, m)
        error = score_error(batch.x, m, squares, centres)
        batch.ids[size] = i
        batch.cost[size] = cost
        batch.reach[size] = reach
        batch.squares[size] = squares
        batch.error[size] = error
        batch.limit[size] = cost - squares + error
        size += 1
        if size == batch_size:
            score_open_groups(rows, centres, bounds, batch, size, m)
            n_dear += settle(rows, weights, prices, constants, centres, bounds, labels, dear, batch, size)
            size = 0
    if size > 0:
        score_open_groups(rows, centres, bounds, batch, size, 0)
        n_dear += settle(rows, weights, prices, constants, centres, bounds, labels, dear, batch, size)
    return n_dear


@kernel
def score_open_groups(rows, centres, bounds, batch, size, m):
    """Score each row of the batch against the groups that its bounds do not rule out."""
    n_blocks = centres.theta.shape[0]
    bounded = bounds.upper.shape[0] > 0
    for g in range(bounds.group_drift.shape[0]):
        first = g * bounds.span
        last = min(first + bounds.span, n_blocks)
        n_members = 0
        for r in range(size):
            if not bounded or bounds.lower[batch.ids[r], g] <= batch.reach[r]:
                batch.members[n_members] = r
                n_members += 1
            else:
                for b in range(first, last):
                    batch.smallest[r, b] = np.inf
        if n_members == 0:
            continue
        for b in range(first, last):
            score_block(rows, batch, n_members, m, centres, b)
        for p in range(n_members):
            r = batch.members[p]
            least = np.inf
            for b in range(first, last):
                least = min(least, np.float64(batch.smallest[r, b]))
            batch.limit[r] = min(batch.limit[r], least + 2 * batch.error[r])
            if bounded:
                lowest = batch.squares[r] + least - batch.error[r]
                bounds.lower[batch.ids[r], g] = below(np.sqrt(max(0.0, lowest)))


@kernel
def settle(rows, weights, prices, constants, centres, bounds, labels, dear, batch, size):
    """Decide for the scored rows of the batch by the direct formula; return how many are dear."""
    n_blocks, _, lanes = centres.theta.shape
    bounded = bounds.upper.shape[0] > 0
    span = bounds.span
    n_dear = 0
    for r in range(size):
        i = batch.ids[r]
        own = own_slot(labels, centres, i) if bounded else np.int64(-1)
        winner = own
        best = batch.cost[r]
        limit = batch.limit[r]
        constant = pick(constants, i)
        m = np.int64(-1)  # the row is read again only if a direct cost is asked for
        for b in range(n_blocks):
            if batch.smallest[r, b] > limit:
                continue
            for k in range(b * lanes, (b + 1) * lanes):
                if batch.scores[r, k] <= limit and k != own and centres.rank[k] >= 0:
                    if m < 0:
                        m = read_row(rows, i, batch.x[r], batch.exact, batch.columns)
                    cost = row_cost(rows, centres, constant, batch.exact, batch.columns, m, k)
                    if beats(cost, k, best, winner, centres):
                        best = cost
                        winner = np.int64(k)
        if winner < 0:  # scores beyond the range of their type: the direct formula alone
            m = read_row(rows, i, batch.x[r], batch.exact, batch.columns)
            for k in range(centres.rank.shape[0]):
                if centres.rank[k] >= 0:
                    cost = row_cost(rows, centres, constant, batch.exact, batch.columns, m, k)
                    if beats(cost, k, best, winner, centres):
                        best = cost
                        winner = np.int64(k)

        if bounded:
            bounds.upper[i] = above(np.sqrt(best))
            # The winner's group must be bounded without the winner, the loser's with it.
            g = winner // lanes // span
            first = g * span
            if batch.smallest[r, first] < np.inf:
                others = np.inf
                for k in range(first * lanes, min(first + span, n_blocks) * lanes):
                    if k != winner:
                        others = min(others, np.float64(batch.scores[r, k]))
                lowest = batch.squares[r] + others - batch.error[r]
                bounds.lower[i, g] = below(np.sqrt(max(0.0, lowest)))
            if own >= 0 and winner != own:
                g = own // lanes // span
                bounds.lower[i, g] = min(bounds.lower[i, g], below(np.sqrt(batch.cost[r])))
        labels[i] = winner
        if pick(weights, i) * best > pick(prices, i):
            dear[i] = 1
            n_dear += 1
    return n_dear


@kernel
def beats(cost, k, best, winner, centres):
    """Whether slot ``k`` is cheaper than the winner so far, or as cheap and older."""
    return (
        winner < 0 or cost < best or (cost == best and centres.rank[k] < centres.rank[winner])
    )
