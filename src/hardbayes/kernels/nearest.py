"""The partition's decision: each row goes to its cheapest centre.

Scores in the data's own precision propose, the direct formula in float64 decides: every centre
whose score is within the error bound of the best is evaluated directly, ties go to the centre created
first. Where costs are squared distances, bounds carried from sweep to sweep prove for most rows that
nothing can have changed: ``upper`` bounds the distance to the row's own centre, ``lower[g]`` to all
other centres of group ``g`` (Hamerly 2010 with one group, Ding et al. 2015 with many).
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.lanes import block_scores
from hardbayes.kernels.rows import pick, read_row, row_cost, score_error, scratch, sum_of_squares

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
def cheapest(rows, centres, constant, exact, columns, m):
    """Slot and cost of the row's cheapest centre, by the direct formula for every one."""
    winner = np.int64(-1)
    best = np.inf
    for k in range(centres.rank.shape[0]):
        if centres.rank[k] >= 0:
            cost = row_cost(rows, centres, constant, exact, columns, m, k)
            if (
                winner < 0
                or cost < best
                or (cost == best and centres.rank[k] < centres.rank[winner])
            ):
                best = cost
                winner = np.int64(k)
    return winner, best


@kernel
def assign(rows, weights, prices, constants, centres, bounds, labels, dear, start, stop):
    """Give rows ``start`` to ``stop`` to their cheapest centres.

    IN weights, prices, constants (n,) or (1,); IN/OUT bounds, labels (n,) int32; OUT dear (n,) uint8: 1 where
    even the cheapest centre costs more than the row's price. Returns the number of such rows.
    """
    x, exact, columns, scores, block_min = scratch(centres)
    n_blocks = centres.theta.shape[0]
    block_size = centres.theta.shape[1] * centres.theta.shape[2]
    lanes = centres.theta.shape[2]
    upper, lower = bounds.upper, bounds.lower
    bounded = upper.shape[0] > 0
    n_groups = bounds.group_drift.shape[0]
    span = bounds.span
    n_dear = 0
    for i in range(start, stop):
        own = np.int64(labels[i])
        if own >= 0 and centres.rank[own] < 0:
            own = np.int64(-1)
        price = pick(prices, i)
        weight = pick(weights, i)
        reach = np.float32(np.inf)
        if bounded and own >= 0:
            reach = above(np.float64(upper[i]) + bounds.drift[own])
            n_open = 0
            for g in range(n_groups):
                low = lower[i, g] * NARROW32 - bounds.group_drift[g]
                lower[i, g] = low
                n_open += low <= reach
            if n_open == 0 and weight * (np.float64(reach) * reach) <= price:
                upper[i] = reach
                continue

        m = read_row(rows, i, x, exact, columns)
        best = np.inf
        winner = np.int64(-1)
        if bounded and own >= 0:
            best = row_cost(rows, centres, constants[0], exact, columns, m, own)
            winner = own
            reach = above(np.sqrt(best))
            n_open = 0
            for g in range(n_groups):
                n_open += lower[i, g] <= reach
            if n_open == 0:
                upper[i] = reach
                if weight * best > price:
                    dear[i] = 1
                    n_dear += 1
                continue

        # Scores of every group that its bound does not rule out.
        squares = sum_of_squares(exact, m)
        error = score_error(x, m, squares, centres)
        own_cost = best
        limit = best - squares + error  # in units of scores; inf without an own centre
        for g in range(n_groups):
            first = g * span
            last = min(first + span, n_blocks)
            if own >= 0 and bounded and lower[i, g] > reach:
                for b in range(first, last):
                    block_min[b] = np.inf
                continue
            group_min = np.inf
            for b in range(first, last):
                lowest = np.float64(
                    block_scores(x, columns, m, centres.theta, b * block_size, centres.offset, b * lanes, scores)
                )
                block_min[b] = lowest
                group_min = min(group_min, lowest)
            limit = min(limit, group_min + 2 * error)
            if bounded:
                lower[i, g] = below(np.sqrt(max(0.0, squares + group_min - error)))

        constant = pick(constants, i)
        for b in range(n_blocks):
            if block_min[b] > limit:
                continue
            for k in range(b * lanes, (b + 1) * lanes):
                if scores[k] <= limit and k != own and centres.rank[k] >= 0:
                    cost = row_cost(rows, centres, constant, exact, columns, m, k)
                    if (
                        winner < 0
                        or cost < best
                        or (cost == best and centres.rank[k] < centres.rank[winner])
                    ):
                        best = cost
                        winner = np.int64(k)
        if winner < 0:  # scores beyond the range of their type: the direct formula alone
            winner, best = cheapest(rows, centres, constant, exact, columns, m)

        if bounded:
            upper[i] = above(np.sqrt(best))
            # The winner's group must be bounded without the winner, the loser's with it.
            g = winner // lanes // span
            first = g * span
            last = min(first + span, n_blocks)
            if block_min[first] < np.inf:
                others = np.inf
                for k in range(first * lanes, last * lanes):
                    if k != winner:
                        others = min(others, np.float64(scores[k]))
                lower[i, g] = below(np.sqrt(max(0.0, squares + others - error)))
            if own >= 0 and winner != own:
                g = own // lanes // span
                lower[i, g] = min(lower[i, g], below(np.sqrt(own_cost)))
        labels[i] = winner
        if weight * best > price:
            dear[i] = 1
            n_dear += 1
    return n_dear


@kernel
def consider(
    rows, weights, prices, constants, centres, upper, labels, dear, ids, visits, opened, first, last, start, stop
):
    """Let rows choose among the centres of blocks ``first`` to ``last`` that were opened before their visit.

    IN ids (m,) row numbers, or empty for all rows; visits (n,) int32; opened (slots,) int64: the visit at which each slot
    opened; IN/OUT labels, upper; OUT dear: 1 if the row is still dear, 2 where the row is settled.
    """
    x, exact, columns, scores, _ = scratch(centres)
    lanes = centres.theta.shape[2]
    block_size = centres.theta.shape[1] * lanes
    for p in range(start, stop):
        i = ids[p] if ids.shape[0] > 0 else p
        if dear[i] == 2:
            continue
        m = read_row(rows, i, x, exact, columns)
        constant = pick(constants, i)
        winner = np.int64(labels[i])
        best = row_cost(rows, centres, constant, exact, columns, m, winner)
        squares = sum_of_squares(exact, m)
        error = score_error(x, m, squares, centres)
        base = squares if centres.squared else constant
        changed = False
        for b in range(first, last):
            lowest = block_scores(
                x, columns, m, centres.theta, b * block_size, centres.offset, b * lanes, scores
            )
            if lowest > best - base + error:
                continue
            for k in range(b * lanes, (b + 1) * lanes):
                if (
                    scores[k] <= best - base + error
                    and centres.rank[k] >= 0
                    and opened[k] < visits[i]
                ):
                    cost = row_cost(rows, centres, constant, exact, columns, m, k)
                    if cost < best or (cost == best and centres.rank[k] < centres.rank[winner]):
                        best = cost
                        winner = np.int64(k)
                        changed = True
        if changed:
            labels[i] = winner
            if upper.shape[0] > 0:
                upper[i] = above(np.sqrt(best))
        if dear[i] == 1 and pick(weights, i) * best <= pick(prices, i):
            dear[i] = 0


@kernel
def next_opening(rows, weights, prices, constants, centres, dear, ids, first, last, start, stop):
    """Position in ``ids[start:stop]`` of the first dear row that no centre of the blocks can hold.

    Every centre of those blocks is taken to be opened before the rows looked at.
    """
    x, exact, columns, scores, _ = scratch(centres)
    lanes = centres.theta.shape[2]
    block_size = centres.theta.shape[1] * lanes
    for p in range(start, stop):
        i = ids[p]
        if dear[i] != 1:
            continue
        price = pick(prices, i)
        weight = pick(weights, i)
        m = read_row(rows, i, x, exact, columns)
        constant = pick(constants, i)
        squares = sum_of_squares(exact, m)
        error = score_error(x, m, squares, centres)
        limit = price / weight * WIDEN - (squares if centres.squared else constant) + error
        held = False
        for b in range(first, last):
            lowest = block_scores(
                x, columns, m, centres.theta, b * block_size, centres.offset, b * lanes, scores
            )
            if lowest > limit:
                continue
            for k in range(b * lanes, (b + 1) * lanes):
                if scores[k] <= limit and centres.rank[k] >= 0:
                    cost = row_cost(rows, centres, constant, exact, columns, m, k)
                    if weight * cost <= price:
                        held = True
                        break
            if held:
                break
        if not held:
            return p
    return stop
