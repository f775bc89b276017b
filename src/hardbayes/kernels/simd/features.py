"""Vector code for features: the residual of a row, and its products with components.

Written by hand, as in `simd.vectors`: sums stay in vector registers, in a fixed order.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.simd.vectors import _at, _int, _Lanes, _operands

UNROLL = 4


@intrinsic
def project_block(typing, rows, i, blocks, block, products):
    """OUT products (at least k,): of row i with the components ``blocks[block]`` (d, LANES)."""
    signature = types.void(rows, types.int64, blocks, types.int64, products)

    def generate(context, builder, signature, args):
        rows, i, blocks, block, products = _operands(context, builder, signature, args)
        lanes = _Lanes(context, builder, types.float64)
        d = cgutils.unpack_tuple(builder, rows.shape)[1]
        items = _at(builder, rows, i, _int(0))
        first = builder.mul(block, _int(lanes.count))
        components = builder.gep(blocks.data, [builder.mul(first, d)])
        sums = [lanes.accumulator() for _ in range(UNROLL)]

        def add(j, total):
            item = lanes.splat(builder.load(builder.gep(items, [j])))
            place = builder.mul(j, _int(lanes.count))
            lanes.add_product(item, lanes.load(builder.gep(components, [place])), total)

        whole = builder.sub(d, builder.srem(d, _int(UNROLL)))
        with cgutils.for_range_slice(builder, _int(0), whole, _int(UNROLL)) as (j, _):
            for u in range(UNROLL):
                add(builder.add(j, _int(u)), sums[u])
        with cgutils.for_range_slice(builder, whole, d, _int(1)) as (j, _):
            add(j, sums[0])
        total = builder.load(sums[0])
        for u in range(1, UNROLL):
            total = builder.fadd(total, builder.load(sums[u]))
        lanes.store(total, builder.gep(products.data, [first]))
        return context.get_dummy_value()

    return signature, generate


class _Strip:
    """Some columns of a row in registers: vectors side by side, or one number."""

    def __init__(self, context, builder, n_vectors, n_lanes):
        self._builder = builder
        self.lanes = _Lanes(context, builder, types.float64, n_lanes)
        self.starts = [n_lanes * v for v in range(n_vectors)]
        self.width = n_lanes * n_vectors

    def load(self, pointer):
        return [self.lanes.load(self._builder.gep(pointer, [_int(at)])) for at in self.starts]

    def store(self, values, pointer):
        for at, value in zip(self.starts, values, strict=True):
            self.lanes.store(value, self._builder.gep(pointer, [_int(at)]))


def _strips(context, builder):
    """Return the strips from wide to narrow: UNROLL vectors, one vector, half of one, a number."""
    return [_Strip(context, builder, *cut) for cut in ((UNROLL, 8), (1, 8), (1, 4), (1, 1))]


def _for_columns(builder, strips, d, body):
    """Generate ``body(strip, j)`` for strips that start at columns j and cover all d."""
    start = _int(0)
    for strip in strips:
        stop = builder.sub(d, builder.srem(d, _int(strip.width)))
        with cgutils.for_range_slice(builder, start, stop, _int(strip.width)) as (j, _):
            body(strip, j)
        start = stop


@intrinsic
def add_residual(typing, residuals, r, weight, members, count, correction):
    """Add ``weight * residuals[r]`` to the rows ``members`` of correction (k, d)."""
    signature = types.void(residuals, types.int64, types.float64, members, types.int64, correction)

    def generate(context, builder, signature, args):
        residuals, r, weight, members, count, correction = _operands(
            context, builder, signature, args
        )
        d = cgutils.unpack_tuple(builder, correction.shape)[1]

        def add(strip, j):
            factor = strip.lanes.splat(weight)
            items = strip.load(_at(builder, residuals, r, j))
            items = [builder.fmul(item, factor) for item in items]
            with cgutils.for_range_slice(builder, _int(0), count, _int(1)) as (m, _):
                target = _at(builder, correction, builder.load(builder.gep(members.data, [m])), j)
                old = strip.load(target)
                strip.store([builder.fadd(*pair) for pair in zip(old, items, strict=True)], target)

        _for_columns(builder, _strips(context, builder), d, add)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def subtract_members(typing, rows, i, members, count, components, origin, residuals, r):
    """OUT residuals[r] (d,): row i less (the sum of its components - origin); returns its square.

    The sum comes first: where rows are far from zero, it cancels with the origin.
    """
    signature = types.float64(
        rows, types.int64, members, types.int64, components, origin, residuals, types.int64
    )

    def generate(context, builder, signature, args):
        rows, i, members, count, components, origin, residuals, r = _operands(
            context, builder, signature, args
        )
        d = cgutils.unpack_tuple(builder, components.shape)[1]
        items = _at(builder, rows, i, _int(0))
        strips = _strips(context, builder)
        squares = {strip: [strip.lanes.accumulator() for _ in strip.starts] for strip in strips}

        def subtract(strip, j):
            totals = [
                cgutils.alloca_once_value(builder, builder.fsub(strip.lanes.zero, item))
                for item in strip.load(builder.gep(origin.data, [j]))
            ]
            with cgutils.for_range_slice(builder, _int(0), count, _int(1)) as (m, _):
                a = builder.load(builder.gep(members.data, [m]))
                parts = strip.load(_at(builder, components, a, j))
                for total, part in zip(totals, parts, strict=True):
                    builder.store(builder.fadd(builder.load(total), part), total)
            left = [
                builder.fsub(item, builder.load(total))
                for item, total in zip(strip.load(builder.gep(items, [j])), totals, strict=True)
            ]
            strip.store(left, _at(builder, residuals, r, j))
            for item, square in zip(left, squares[strip], strict=True):
                strip.lanes.add_product(item, item, square)

        _for_columns(builder, strips, d, subtract)
        sums = []
        for strip in strips:
            total = builder.load(squares[strip][0])
            for square in squares[strip][1:]:
                total = builder.fadd(total, builder.load(square))
            sums.append(strip.lanes.fold(total, builder.fadd))
        return builder.fadd(builder.fadd(sums[0], sums[1]), builder.fadd(sums[2], sums[3]))

    return signature, generate
