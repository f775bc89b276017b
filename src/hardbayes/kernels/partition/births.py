"""The partition's decision about newborn centres: only rows visited later may choose them."""

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.bounds import carries, cost_slack, from_above
from hardbayes.kernels.partition.nearest import DEAR, PLACED, beats
from hardbayes.kernels.partition.rows import pick, read_row, row_cost, score_blocks, score_error


@kernel
def consider(
    rows, weights, prices, constants, centres, bounds, radii, labels, dear, ids, visits,
    opened, block_opened, first, last, batch, start, stop,
):  # fmt: skip
    """Let rows choose among centres that were opened before their visit.

    Those of blocks ``first`` to ``last`` are looked at.

    IN radii (slots,) float32: rows with a lower upper bound need not look; ids (m,) row numbers, or
    empty for all rows; visits (n,): each row's turn; opened (slots,), block_opened (blocks,) int64:
    the turn at which a slot was opened, and the last slot of a block; IN/OUT labels, bounds; IN/OUT
    dear: who is PLACED does not choose, DEAR becomes 0 where a centre is cheap enough; SCRATCH
    batch.
    """
    batch_size = batch.x.shape[0]
    everyone = ids.shape[0] == 0
    carried = carries(bounds)
    size = 0
    for p in range(start, stop + 1):
        if p < stop:
            i = p if everyone else ids[p]
            if dear[i] == PLACED or (carried and bounds.upper[i] < radii[labels[i]]):
                continue
            m, squares = read_row(rows, i, batch, size)
            base = squares if centres.squared else pick(constants, i)
            batch.cost[size] = row_cost(rows, i, constants, centres, labels[i])
            batch.error[size] = score_error(m, squares, base, centres)
            batch.limit[size] = batch.cost[size] - base + batch.error[size]
            size += 1
        if size == 0 or (p < stop and size < batch_size):
            continue
        for r in range(size):
            batch.members[r] = r
        score_blocks(rows, batch, size, centres, first, last, 1)
        for r in range(size):
            choose(
                rows, weights, prices, constants, centres, bounds, labels, dear, visits, opened,
                block_opened, first, last, batch, r,
            )  # fmt: skip
        size = 0


@part
def choose(
    rows, weights, prices, constants, centres, bounds, labels, dear, visits, opened, block_opened,
    first, last, batch, r,
):  # fmt: skip
    """Decide for one scored row by the direct formula at centres that score near the least."""
    lanes = centres.lanes
    i = batch.ids[r]
    visit = visits[i]
    limit = batch.limit[r]
    for b in range(first, last):
        if block_opened[b] < visit:
            limit = min(limit, np.float64(batch.smallest[r, b]) + 2 * batch.error[r])
    before = np.int64(labels[i])
    winner = before
    best = batch.cost[r]
    for b in range(first, last):
        if batch.smallest[r, b] > limit:
            continue
        alone = block_opened[b] < visit and batch.second[r, b] > limit
        for k in range(b * lanes, (b + 1) * lanes):
            if opened[k] < visit and (not alone or k == b * lanes + batch.place[r, b]):
                cost = row_cost(rows, i, constants, centres, k)
                if beats(cost, k, best, winner, centres.rank):
                    best = cost
                    winner = np.int64(k)
    if winner != before:
        labels[i] = winner
        if carries(bounds):
            radius = np.float64(pick(bounds.radius, i))
            slack = cost_slack(pick(constants, i), radius, centres, bounds)
            bounds.upper[i] = from_above(best, slack, centres.squared)
    if dear[i] == DEAR and pick(weights, i) * best <= pick(prices, i):
        dear[i] = 0


@kernel
def find_openings(
    rows, weights, prices, constants, candidates, ids, opening, n_opening, start, stop
):
    """Walk through rows in order: each opens a cluster unless one opened before can hold it.

    IN ids (m,): rows dearer than their price so far; candidates: the centre that each would open;
    IN/OUT opening (m,) int64: positions of those that open, ``n_opening`` of them before this call.
    Returns how many there are after it.
    """
    for p in range(start, stop):
        i = ids[p]
        price = pick(prices, i)
        weight = pick(weights, i)
        held = False
        for q in range(n_opening):
            if weight * row_cost(rows, i, constants, candidates, opening[q]) <= price:
                held = True
                break
        if not held:
            opening[n_opening] = p
            n_opening += 1
    return n_opening
