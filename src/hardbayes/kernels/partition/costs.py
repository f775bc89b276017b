"""Costs by the direct formula in float64: of each row at its own centre, or at several."""

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.partition.rows import row_cost


@kernel
def costs(rows, constants, centres, labels, out, start, stop):
    """OUT out (n,): the cost of each row at the centre in its slot, 0 where it has none (-1)."""
    for i in range(start, stop):
        own = np.int64(labels[i])
        out[i] = row_cost(rows, i, constants, centres, own) if own >= 0 else 0.0


@kernel
def all_costs(rows, constants, centres, ids, out, start, stop):
    """OUT out (m, k): the cost of each of rows ``ids`` (m,) at slots 0 to k - 1."""
    for p in range(start, stop):
        for k in range(out.shape[1]):
            out[p, k] = row_cost(rows, ids[p], constants, centres, k)
