"""Costs by the direct formula in float64: of each row at one centre, or at all."""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.rows import pick, read_row, row_cost


@kernel
def costs(rows, constants, centres, labels, slot, out, batch, start, stop):
    """OUT out[i]: the cost of row i at its own centre, or at ``slot`` where that is not negative."""
    for i in range(start, stop):
        m = read_row(rows, i, batch.x[0], batch.exact, batch.columns)
        constant = pick(constants, i)
        k = slot if slot >= 0 else labels[i]
        out[i] = row_cost(rows, centres, constant, batch.exact, batch.columns, m, k)


@kernel
def all_costs(rows, constants, centres, slots, out, batch, start, stop):
    """OUT out (n, k): the cost of each row at each of ``slots`` (k,)."""
    for i in range(start, stop):
        m = read_row(rows, i, batch.x[0], batch.exact, batch.columns)
        constant = pick(constants, i)
        for j in range(slots.shape[0]):
            out[i, j] = row_cost(rows, centres, constant, batch.exact, batch.columns, m, slots[j])
