"""Totals of rows per cluster, exact under adding and taking away.

Each product weight * x is split into a coarse part, a multiple of one quantum, and a fine part, a multiple of a
smaller one; sums of either never round. So a total depends on the cluster's members alone, not on the order,
the path or the number of threads by which they came.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.rows import pick, read_row


class Totals(NamedTuple):
    """Sums over the members of each slot, as coarse plus fine parts."""

    coarse: np.ndarray  # (slots, d) float64
    fine: np.ndarray  # (slots, d) float64
    weight_coarse: np.ndarray  # (slots,) float64
    weight_fine: np.ndarray  # (slots,) float64


@kernel
def _add(value, sign, coarse, fine, k, j, snap_coarse, snap_fine):
    # Adding and taking away a large number rounds to a multiple of its last place.
    rounded = (value + snap_coarse) - snap_coarse
    coarse[k, j] += sign * rounded
    fine[k, j] += sign * (((value - rounded) + snap_fine) - snap_fine)


@kernel
def move(rows, weights, before, after, totals, snaps, weight_snaps, batch, first, last):
    """Move every row whose label changed, for columns ``first`` to ``last`` of the totals.

    IN before, after (n,) int32 (-1: nowhere); IN/OUT totals; IN snaps: the two rounding constants. Column 0's owner moves the weights.
    """
    for i in range(before.shape[0]):
        source = before[i]
        target = after[i]
        if source == target:
            continue
        weight = pick(weights, i)
        m = read_row(rows, i, batch.x[0], batch.exact, batch.columns)
        for p in range(m):
            j = batch.columns[p]
            if j < first:
                continue
            if j >= last:
                break
            value = weight * batch.exact[p]
            if source >= 0:
                _add(value, -1.0, totals.coarse, totals.fine, source, j, snaps[0], snaps[1])
            if target >= 0:
                _add(value, 1.0, totals.coarse, totals.fine, target, j, snaps[0], snaps[1])
        if first == 0:
            rounded = (weight + weight_snaps[0]) - weight_snaps[0]
            rest = ((weight - rounded) + weight_snaps[1]) - weight_snaps[1]
            if source >= 0:
                totals.weight_coarse[source] -= rounded
                totals.weight_fine[source] -= rest
            if target >= 0:
                totals.weight_coarse[target] += rounded
                totals.weight_fine[target] += rest
