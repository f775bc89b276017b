"""Which rows might lower the objective by moving alone: scores rule out most clusters."""

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.rows import pick, read_row, row_cost, score_blocks, score_error


@kernel
def mark_near_border(
    rows, weights, constants, centres, sizes, factors, block_factors, labels, prior_weight, batch,
    marks, start, stop,
):  # fmt: skip
    """Mark rows that pay no more at another cluster than they free; and those alone or in none.

    IN sizes (slots,): weights with the prior's; factors (slots,): what joining a slot costs, over
    the cost there; block_factors (blocks,): the least of each block; labels (n,) int32. OUT marks
    (n,) bool. SCRATCH batch.
    """
    size = np.int64(0)
    n_blocks = centres.rank.shape[0] // centres.block
    for i in range(start, stop + 1):
        if i < stop:
            own = np.int64(labels[i])
            weight = pick(weights, i)
            left = sizes[own] - weight
            marks[i] = own < 0 or left - prior_weight <= 1e-9 * weight
            if marks[i]:
                continue
            m, squares = read_row(rows, i, batch, size)
            base = squares if centres.squared else pick(constants, i)
            batch.base[size] = base
            batch.error[size] = score_error(m, squares, base, centres)
            batch.cost[size] = sizes[own] / left * row_cost(rows, i, constants, centres, own)
            size += 1
        if size == 0 or (i < stop and size < batch.x.shape[0]):
            continue
        for r in range(size):
            batch.members[r] = r
        score_blocks(rows, batch, size, centres, 0, n_blocks, 1)
        for r in range(size):
            own = np.int64(labels[batch.ids[r]])
            marks[batch.ids[r]] = gains_elsewhere(
                rows, constants, centres, factors, block_factors, own, batch, r
            )
        size = np.int64(0)


@part
def gains_elsewhere(rows, constants, centres, factors, block_factors, own, batch, r):
    """Whether a scored row pays no more at some other cluster than it frees, ``batch.cost``."""
    frees = batch.cost[r]
    found = False
    for b in range(block_factors.shape[0]):
        first = b * centres.block
        is_own = first + batch.place[r, b] == own
        low = np.float64(batch.second[r, b] if is_own else batch.smallest[r, b])
        if found or block_factors[b] * (batch.base[r] + low - batch.error[r]) > frees:
            continue
        for k in range(first, first + centres.block):
            if k != own and centres.rank[k] >= 0:
                pays = factors[k] * row_cost(rows, batch.ids[r], constants, centres, k)
                found |= pays <= frees
    return found
