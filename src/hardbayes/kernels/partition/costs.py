"""Costs by the direct formula in float64: of each row at one centre, or at all."""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.partition.rows import row_cost


@kernel
def costs(rows, constants, centres, labels, out, start, stop):
    """OUT out (n,): the cost of each row at its own centre, 0 where it has none (-1)."""
    for i in range(start, stop):
        out[i] = row_cost(rows, i, constants, centres, labels[i]) if labels[i] >= 0 else 0.0


@kernel
def all_costs(rows, constants, centres, slots, out, first, start, stop):
    """OUT out (m, k): the cost of rows from ``first`` on at each of ``slots`` (k,)."""
    for i in range(start, stop):
        for j in range(slots.shape[0]):
            out[i - first, j] = row_cost(rows, i, constants, centres, slots[j])
