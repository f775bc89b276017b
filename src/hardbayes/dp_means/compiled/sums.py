"""Totals of clusters, costs of rows by the direct formula, potentials.

Totals are exact under adding and taking away. Each product weight * x is split into a coarse part,
a multiple of one quantum, and a fine part, a multiple of a smaller one; sums of either never round.
So a total depends on the cluster's members alone, not on the order, the path or the number of
threads by which they came.

The potential, the sum over clusters of |total|^2 / weight, has twice the working precision. The
objective's trace is a constant minus this sum: float64 alone could show a rise where there is none.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from hardbayes.core.compiling import INLINE, inlined, kernel, part
from hardbayes.core.rows import DenseRows, pick, row_cost
from hardbayes.core.simd.vectors import _array, _at, _int, _Lanes, add_split


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


@kernel
def two_cheapest(costs, weights, cheapest, second, margins, excess):
    """Find the two cheapest of k >= 2 centres for each row.

    IN costs (m, k), weights (m,) float64; OUT cheapest, second (m,) int64; margins (m,): how much
    more the second costs; IN/OUT excess (k, k): the rows whose cheapest centre is i add to
    ``excess[i, j]`` how much more they cost at j, times their weights.
    """
    for row in range(costs.shape[0]):
        first, other = np.int64(0), np.int64(-1)
        least, next_cost = costs[row, 0], np.inf
        for c in range(1, costs.shape[1]):
            cost = costs[row, c]
            if cost < least:
                other, next_cost = first, least
                first, least = c, cost
            elif cost < next_cost or other < 0:
                other, next_cost = c, cost
        cheapest[row], second[row], margins[row] = first, other, next_cost - least
        for c in range(costs.shape[1]):
            excess[first, c] += weights[row] * (costs[row, c] - least)


SPLIT = 134217729.0  # 2^27 + 1: Veltkamp's split


class _TwoFold:
    """Sums and products of float64, or of vectors of them, with their rounding errors."""

    def __init__(self, builder, kind):
        self.add, self.subtract, self.multiply = builder.fadd, builder.fsub, builder.fmul
        self.kind = kind

    def number(self, value):
        scalar = not isinstance(self.kind, ir.VectorType)
        return ir.Constant(self.kind, value if scalar else [value] * self.kind.count)

    def sum(self, a, b):
        s = self.add(a, b)
        t = self.subtract(s, a)
        return s, self.add(self.subtract(a, self.subtract(s, t)), self.subtract(b, t))

    def square(self, a):
        p = self.multiply(a, a)
        t = self.multiply(self.number(SPLIT), a)
        high = self.subtract(t, self.subtract(t, a))
        low = self.subtract(a, high)
        cross = self.multiply(high, low)
        error = self.subtract(self.multiply(high, high), p)
        error = self.add(error, self.add(cross, cross))
        return p, self.add(error, self.multiply(low, low))


@intrinsic
def square_of_total(typing, coarse, fine, prior, k):
    """Return ``|coarse[k] + fine[k] + prior|^2`` as two numbers."""
    pair = types.UniTuple(types.float64, 2)
    signature = pair(coarse, fine, prior, types.int64)

    def generate(context, builder, signature, args):
        coarse, fine, prior = (
            _array(context, builder, signature.args[at], args[at]) for at in (0, 1, 2)
        )
        pointers = [_at(builder, part, args[3], _int(0)) for part in (coarse, fine)]
        pointers.append(prior.data)
        (d,) = cgutils.unpack_tuple(builder, prior.shape)
        lanes = _Lanes(context, builder, types.float64)
        number = lanes.vector.element

        def add(twofold, items, square, rest):
            """Add the squares of some columns to the accumulators."""
            high, low = twofold.sum(items[0], items[2])
            high, low = twofold.sum(high, builder.fadd(low, items[1]))
            p, error = twofold.square(high)
            total, carry = twofold.sum(builder.load(square), p)
            twice = builder.fmul(builder.fadd(high, high), low)
            more = builder.fadd(builder.fadd(carry, error), twice)
            builder.store(total, square)
            builder.store(builder.fadd(builder.load(rest), more), rest)

        squares, rests = lanes.accumulator(), lanes.accumulator()
        whole = builder.sub(d, builder.srem(d, _int(lanes.count)))
        with cgutils.for_range_slice(builder, _int(0), whole, _int(lanes.count)) as (j, _):
            items = [lanes.load(builder.gep(pointer, [j])) for pointer in pointers]
            add(_TwoFold(builder, lanes.vector), items, squares, rests)
        alone = _TwoFold(builder, number)
        total, left = alone.number(0.0), alone.number(0.0)
        for lane in range(lanes.count):
            at = ir.Constant(ir.IntType(32), lane)
            total, carry = alone.sum(total, builder.extract_element(builder.load(squares), at))
            left = builder.fadd(
                left, builder.fadd(carry, builder.extract_element(builder.load(rests), at))
            )
        square, rest = (cgutils.alloca_once_value(builder, value) for value in (total, left))
        with cgutils.for_range_slice(builder, whole, d, _int(1)) as (j, _):
            items = [builder.load(builder.gep(pointer, [j])) for pointer in pointers]
            add(alone, items, square, rest)
        return context.make_tuple(builder, pair, [builder.load(square), builder.load(rest)])

    return signature, generate


@inlined
def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inlined
def _two_product(a, b):
    p = a * b
    t = SPLIT * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLIT * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@part
def square_over(coarse, fine, prior, k, weight):
    """Return ``|total + prior|^2 / weight`` of slot k as two numbers."""
    square, rest = square_of_total(coarse, fine, prior, k)
    quotient = square / weight
    p, error = _two_product(quotient, weight)
    return quotient, ((square - p) - error + rest) / weight


@inlined
def add_term(value, remainder, term, rest):
    """Add a number and what float64 drops of it to another such pair."""
    value, rounding = _two_sum(value, term)
    return value, remainder + (rounding + rest)


@kernel
def squared_potential(totals, prior_weight, prior, slots, n_slots):
    """Return the sum over slots of ``|total + prior|^2 / (weight + prior_weight)`` in two numbers.

    IN totals, slots: the first ``n_slots`` count; prior (d,): the prior's own total.
    """
    value = 0.0
    remainder = 0.0
    for p in range(n_slots):
        k = slots[p]
        weight = totals.weight_coarse[k] + totals.weight_fine[k] + prior_weight
        term, rest = square_over(totals.coarse, totals.fine, prior, k, weight)
        value, remainder = add_term(value, remainder, term, rest)
    return _two_sum(np.float64(value), np.float64(remainder))
