"""Totals of rows per cluster, exact under adding and taking away.

Each product weight * x is split into a coarse part, a multiple of one quantum, and a fine part, a
multiple of a smaller one; sums of either never round. So a total depends on the cluster's members
alone, not on the order, the path or the number of threads by which they came.
"""

import numpy as np
from numba.extending import overload

from hardbayes.core.compiling import INLINE, inlined, kernel, part
from hardbayes.core.rows import DenseRows, pick
from hardbayes.core.simd.vectors import add_split


@inlined
def first_entry(columns, start, stop, column):
    """Return the first of the entries ``start`` to ``stop`` that is not left of ``column``."""
    if column > 0:
        while start < stop:
            middle = (start + stop) // 2
            if columns[middle] < column:
                start = middle + 1
            else:
                stop = middle
    return start


def add_row(rows, i, factor, k, totals, rounding, first, last):
    """IN/OUT totals: add ``factor`` times columns ``first`` to ``last`` of row i to slot k."""


@overload(add_row, jit_options=INLINE)
def _add_row(rows, i, factor, k, totals, rounding, first, last):
    if rows.instance_class is DenseRows:

        def add(rows, i, factor, k, totals, rounding, first, last):
            add_split(
                rows.values, i, rows.shift, pick(rows.scale, i), abs(factor), np.sign(factor),
                totals.coarse, totals.fine, k, rounding[0], rounding[1], first, last,
            )  # fmt: skip

    else:

        def add(rows, i, factor, k, totals, rounding, first, last):
            scale = pick(rows.scale, i)
            weight = abs(factor)
            sign = np.sign(factor)
            stop = rows.starts[i + 1]
            p = first_entry(rows.columns, rows.starts[i], stop, first)
            while p < stop and rows.columns[p] < last:
                j = rows.columns[p]
                value = weight * (rows.values[p] * scale)
                rounded = (value + rounding[0][j]) - rounding[0][j]
                totals.coarse[k, j] += sign * rounded
                rest = value - rounded
                if rest != 0.0:  # seldom, where entries are counts or float32
                    totals.fine[k, j] += sign * ((rest + rounding[1][j]) - rounding[1][j])
                p += 1

    return add


@part
def move_row(rows, i, weight, source, target, totals, rounding, weight_rounding, first, last):
    """IN/OUT totals: move columns ``first`` to ``last`` of row i between slots (-1: nowhere)."""
    source, target = np.int64(source), np.int64(target)
    if source >= 0:
        add_row(rows, i, -weight, source, totals, rounding, first, last)
    if target >= 0:
        add_row(rows, i, weight, target, totals, rounding, first, last)
    if first == 0:
        constant, fine_constant = weight_rounding[0][0], weight_rounding[1][0]
        rounded = (weight + constant) - constant
        rest = ((weight - rounded) + fine_constant) - fine_constant
        if source >= 0:
            totals.weight_coarse[source] -= rounded
            totals.weight_fine[source] -= rest
            totals.touched[source] = True
        if target >= 0:
            totals.weight_coarse[target] += rounded
            totals.weight_fine[target] += rest
            totals.touched[target] = True


@kernel
def move(rows, weights, before, after, totals, rounding, weight_rounding, first, last, start, stop):
    """Move rows ``start`` to ``stop`` where labels differ, in columns ``first`` to ``last``.

    IN before, after (n,) int32 (-1: nowhere); IN/OUT totals; IN rounding, weight_rounding: rounding
    constants. Column 0's owner moves the weights.
    """
    for i in range(start, stop):
        if before[i] != after[i]:
            move_row(
                rows, i, pick(weights, i), before[i], after[i], totals, rounding, weight_rounding,
                first, last,
            )  # fmt: skip


@kernel
def add_share(totals, share):
    """Add the slots that one thread has touched. IN/OUT totals; IN share, OUT: as if untouched."""
    for k in range(share.touched.shape[0]):
        if not share.touched[k]:
            continue
        for j in range(share.coarse.shape[1]):
            totals.coarse[k, j] += share.coarse[k, j]
            totals.fine[k, j] += share.fine[k, j]
            share.coarse[k, j] = 0.0
            share.fine[k, j] = 0.0
        totals.weight_coarse[k] += share.weight_coarse[k]
        totals.weight_fine[k] += share.weight_fine[k]
        share.weight_coarse[k] = 0.0
        share.weight_fine[k] = 0.0
        totals.touched[k] = True
        share.touched[k] = False
