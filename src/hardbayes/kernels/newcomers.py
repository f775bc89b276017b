"""The partition's decision about centres opened during a sweep: only rows visited later may choose them."""

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.nearest import WIDEN, above, beats
from hardbayes.kernels.rows import (
    pick,
    read_row,
    row_cost,
    score_block,
    score_error,
    sum_of_squares,
)


@kernel
def consider(
    rows, weights, prices, constants, centres, upper, labels, dear, ids, visits, opened,
    first, last, batch, start, stop,
):  # fmt: skip
    """Let rows choose among the centres of blocks ``first`` to ``last`` that were opened before their visit.

    IN ids (m,) row numbers, or empty for all rows; visits (n,) int32; opened (slots,) int64: the visit at which each slot
    opened; IN/OUT labels, upper; IN/OUT dear: 2 means settled already, 1 becomes 0 where a centre is cheap enough.
    """
    batch_size = batch.x.shape[0]
    everyone = ids.shape[0] == 0
    size = 0
    m = 0
    for p in range(start, stop + 1):
        if p < stop:
            i = p if everyone else ids[p]
            if dear[i] == 2:
                continue
            m = read_row(rows, i, batch.x[size], batch.exact, batch.columns)
            constant = pick(constants, i)
            cost = row_cost(rows, centres, constant, batch.exact, batch.columns, m, labels[i])
            squares = sum_of_squares(batch.exact, m)
            batch.ids[size] = i
            batch.cost[size] = cost
            base = squares if centres.squared else constant
            batch.limit[size] = cost - base + score_error(batch.x, m, squares, centres)
            size += 1
        if size == 0 or (p < stop and size < batch_size):
            continue
        for b in range(first, last):
            for r in range(size):
                batch.members[r] = r
            score_block(rows, batch, size, m, centres, b)
        for r in range(size):
            choose(
                rows, weights, prices, constants, centres, upper, labels, dear, visits, opened,
                first, last, batch, r, batch.ids[r], batch.cost[r], batch.limit[r],
            )  # fmt: skip
        size = 0


@kernel
def choose(
    rows, weights, prices, constants, centres, upper, labels, dear, visits, opened,
    first, last, batch, r, i, best, limit,
):  # fmt: skip
    """Decide for one scored row by the direct formula."""
    lanes = centres.theta.shape[2]
    winner = np.int64(labels[i])
    before = winner
    constant = pick(constants, i)
    visit = visits[i]
    m = np.int64(-1)
    for b in range(first, last):
        if batch.smallest[r, b] > limit:
            continue
        for k in range(b * lanes, (b + 1) * lanes):
            if batch.scores[r, k] <= limit and opened[k] < visit:
                if m < 0:
                    m = read_row(rows, i, batch.x[r], batch.exact, batch.columns)
                cost = row_cost(rows, centres, constant, batch.exact, batch.columns, m, k)
                if beats(cost, k, best, winner, centres):
                    limit -= best - cost
                    best = cost
                    winner = np.int64(k)
    if winner != before:
        labels[i] = winner
        if upper.shape[0] > 0:
            upper[i] = above(np.sqrt(best))
    if dear[i] == 1 and pick(weights, i) * best <= pick(prices, i):
        dear[i] = 0


@kernel
def next_opening(rows, weights, prices, constants, centres, dear, ids, first, last, batch, start, stop):
    """Position in ``ids[start:stop]`` of the first dear row that no centre of the blocks can hold.

    Every living centre of those blocks is taken to have been opened before the rows looked at.
    """
    lanes = centres.theta.shape[2]
    for p in range(start, stop):
        i = ids[p]
        if dear[i] != 1:
            continue
        price = pick(prices, i)
        weight = pick(weights, i)
        m = read_row(rows, i, batch.x[0], batch.exact, batch.columns)
        constant = pick(constants, i)
        squares = sum_of_squares(batch.exact, m)
        base = squares if centres.squared else constant
        limit = price / weight * WIDEN - base + score_error(batch.x, m, squares, centres)
        held = False
        for b in range(first, last):
            batch.members[0] = 0
            score_block(rows, batch, 1, m, centres, b)
            if batch.smallest[0, b] > limit:
                continue
            for k in range(b * lanes, (b + 1) * lanes):
                if batch.scores[0, k] <= limit and centres.rank[k] >= 0:
                    cost = row_cost(rows, centres, constant, batch.exact, batch.columns, m, k)
                    if weight * cost <= price:
                        held = True
                        break
            if held:
                break
        if not held:
            return p
    return stop
