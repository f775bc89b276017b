"""The decision about clusters opened in a sweep: only rows visited later may choose them."""

import numpy as np

from hardbayes.core import arrays
from hardbayes.core.compiling import inlined, kernel, part
from hardbayes.core.rows import pick, read_row, row_cost, score_blocks, score_error, score_range
from hardbayes.dp_means.compiled.assign import ABOVE, COVERED, OPENER, beats
from hardbayes.dp_means.compiled.centres import carries, cost_slack, from_above

scramble = inlined(arrays.scramble)


@inlined
def visit_rank(order, i):
    """Return what `VisitOrder.ranks` does, of row ``i``."""
    number = np.int64(i) + np.int64(order.offset)
    return np.int64(scramble(np.uint64(number), order.key)) if order.is_random else number


@kernel
def consider(
    rows, weights, opening, constants, centres, bounds, radii, labels, marks, ids, order, opened,
    block_opened, earliest, first, last, batch, start, stop,
):  # fmt: skip
    """Let rows choose among the centres of blocks ``first`` to ``last`` opened before their visit.

    IN radii (slots,) float32: rows with a lower upper bound need no comparison; ids (m,) rows that
    were above their opening cost, or empty for all others; order; opened (slots,),
    block_opened (blocks,) int64: the visit rank at which a slot was opened, and the last slot of a
    block; earliest: rows visited no later see none of them; IN/OUT labels, bounds; IN/OUT marks: a
    row that is OPENER does not choose, ABOVE becomes COVERED where a centre costs no more than the
    opening cost; SCRATCH batch.
    """
    batch_size = batch.x.shape[0]
    others = ids.shape[0] == 0
    carried = carries(bounds)
    size = 0
    for p in range(start, stop + 1):
        if p < stop:
            i = p if others else ids[p]
            if marks[i] == OPENER or (others and marks[i] != 0) or visit_rank(order, i) <= earliest:
                continue
            if carried and bounds.upper[i] < radii[labels[i]]:
                continue
            m, squares = read_row(rows, i, batch, size)
            base = squares if centres.squared else pick(constants, i)
            batch.cost[size] = row_cost(rows, i, constants, centres, np.int64(labels[i]))
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
                rows, weights, opening, constants, centres, bounds, labels, marks, order, opened,
                block_opened, first, last, batch, r,
            )  # fmt: skip
        size = 0


@part
def choose(
    rows, weights, opening, constants, centres, bounds, labels, marks, order, opened, block_opened,
    first, last, batch, r,
):  # fmt: skip
    """Decide for one scored row by the direct formula at centres that score near the least."""
    block = centres.block
    i = batch.ids[r]
    visit = visit_rank(order, i)
    limit = batch.limit[r]
    for b in range(first, last):
        if block_opened[b] < visit:
            doubt = score_range(batch, r, centres, b * block + batch.place[r, b])
            limit = min(limit, np.float64(batch.smallest[r, b]) + doubt)
    before = np.int64(labels[i])
    winner = before
    best = batch.cost[r]
    for b in range(first, last):
        if batch.smallest[r, b] > limit:
            continue
        alone = block_opened[b] < visit and batch.second[r, b] > limit
        for k in range(b * block, (b + 1) * block):
            if opened[k] < visit and (not alone or k == b * block + batch.place[r, b]):
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
    if marks[i] == ABOVE and pick(weights, i) * best <= pick(opening, i):
        marks[i] = COVERED


@kernel
def find_openings(rows, weights, opening, constants, candidates, ids, found, n_found, start, stop):
    """Visit rows in order: each opens a cluster unless one opened before costs it little enough.

    IN ids (m,): rows above their opening cost so far; opening (m,) or (1,); candidates: the centre
    that each would open; IN/OUT found (m,) int64: positions of those that open, ``n_found`` of them
    before this call. Returns how many there are after it.
    """
    for p in range(start, stop):
        i = ids[p]
        limit = pick(opening, p)
        weight = pick(weights, i)
        held = False
        for q in range(n_found):
            if weight * row_cost(rows, i, constants, candidates, found[q]) <= limit:
                held = True
                break
        if not held:
            found[n_found] = p
            n_found += 1
    return n_found
