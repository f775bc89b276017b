"""Vector code for features: residuals, single flips, the cheapest of all subsets.

Written by hand, as in `core.simd.vectors`: sums stay in vector registers, in a fixed order.

- The residual of a row, and its products with components.
- Single flips of eight rows side by side. Branches on single rows would often be mispredicted,
  which costs more than the work. So eight rows do all steps together, with a mask of those that
  flip.
- The best of all subsets of one row: a table, with those of the first four features side by side.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.core.simd.vectors import QUAD, _at, _int, _Lanes, _operands

UNROLL = 4  # vectors side by side, so that additions need not wait for each other
EIGHT = 8  # rows side by side: the lanes of a vector
# A flip must lower the cost of a row by more than this part of its terms: rounding in float64.
RELATIVE_TOLERANCE = 1e-13


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


@intrinsic
def project_eight(typing, rows, blocks, block, products):
    """OUT products (blocks * LANES, EIGHT): of rows (EIGHT, d) with the components of a block."""
    signature = types.void(rows, blocks, types.int64, products)

    def generate(context, builder, signature, args):
        rows, blocks, block, products = _operands(context, builder, signature, args)
        lanes = _Lanes(context, builder, types.float64)
        d = cgutils.unpack_tuple(builder, rows.shape)[1]
        first = builder.mul(block, _int(lanes.count))
        components = builder.gep(blocks.data, [builder.mul(first, d)])
        for start in range(0, EIGHT, QUAD):
            items = [_at(builder, rows, _int(start + u), _int(0)) for u in range(QUAD)]
            sums = [lanes.accumulator() for _ in range(QUAD)]
            with cgutils.for_range_slice(builder, _int(0), d, _int(1)) as (j, _):
                lane = lanes.load(builder.gep(components, [builder.mul(j, _int(lanes.count))]))
                for u in range(QUAD):
                    item = lanes.splat(builder.load(builder.gep(items[u], [j])))
                    lanes.add_product(item, lane, sums[u])
            for u in range(QUAD):
                total = builder.load(sums[u])
                for at in range(lanes.count):
                    value = builder.extract_element(total, _int(at))
                    target = _at(builder, products, builder.add(first, _int(at)), _int(start + u))
                    builder.store(value, target)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def rows_in_doubt(typing, products, signs, gram, margin):
    """Return the bits of those of eight rows that might be cheaper with other features.

    IN products (at least k, EIGHT) of their residuals with each component; signs (k, EIGHT): 1
    where a row lacks a feature, -1 where it has it; gram (k, k). Flips with signs e change the cost
    of a row by ``|eA|^2 - 2 e products``, at least the sum over them of
    ``margin |A_a|^2 - 2 e_a products_a``. If none of these is negative, no subset is cheaper.
    """
    signature = types.int64(products, signs, gram, types.float64)

    def generate(context, builder, signature, args):
        products, signs, gram, margin = _operands(context, builder, signature, args)
        lanes = _Lanes(context, builder, types.float64)
        k = cgutils.unpack_tuple(builder, gram.shape)[0]
        factor = builder.fmul(margin, ir.Constant(margin.type, 0.5))
        doubt = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(EIGHT), 0))
        with cgutils.for_range_slice(builder, _int(0), k, _int(1)) as (a, _):
            square = builder.load(_at(builder, gram, a, a))
            gain = builder.fmul(
                lanes.load(_at(builder, signs, a, _int(0))),
                lanes.load(_at(builder, products, a, _int(0))),
            )
            exceeds = builder.fcmp_ordered(">", gain, lanes.splat(builder.fmul(square, factor)))
            bits = builder.bitcast(exceeds, ir.IntType(EIGHT))
            builder.store(builder.or_(builder.load(doubt), bits), doubt)
        return builder.zext(builder.load(doubt), _int(0).type)

    return signature, generate


@intrinsic
def flip_eight(typing, products, signs, gram):
    """Flip each feature, in order, of those of eight rows whose cost falls; return their bits.

    INOUT products (at least k, EIGHT), signs (k, EIGHT), as in `rows_in_doubt`; IN gram (k, k).
    """
    signature = types.int64(products, signs, gram)

    def generate(context, builder, signature, args):
        products, signs, gram = _operands(context, builder, signature, args)
        lanes = _Lanes(context, builder, types.float64)
        number = lanes.vector.element
        k = cgutils.unpack_tuple(builder, gram.shape)[0]
        none = ir.Constant(ir.IntType(EIGHT), 0)
        flipped = cgutils.alloca_once_value(builder, none)

        with cgutils.for_range_slice(builder, _int(0), k, _int(1)) as (a, _):
            square = builder.load(_at(builder, gram, a, a))
            least = builder.fmul(square, ir.Constant(number, 0.5 * (1.0 + RELATIVE_TOLERANCE)))
            place = _at(builder, signs, a, _int(0))
            sign = lanes.load(place)
            gain = builder.fmul(sign, lanes.load(_at(builder, products, a, _int(0))))
            flips = builder.fcmp_ordered(">", gain, lanes.splat(least))
            bits = builder.bitcast(flips, ir.IntType(EIGHT))
            with builder.if_then(builder.icmp_unsigned("!=", bits, none), likely=True):
                builder.store(builder.or_(builder.load(flipped), bits), flipped)
                lanes.store(builder.select(flips, builder.fsub(lanes.zero, sign), sign), place)
                step = builder.select(flips, sign, lanes.zero)
                with cgutils.for_range_slice(builder, _int(0), k, _int(1)) as (b, _):
                    target = _at(builder, products, b, _int(0))
                    product = lanes.splat(builder.load(_at(builder, gram, a, b)))
                    change = builder.fmul(step, product)
                    lanes.store(builder.fsub(lanes.load(target), change), target)
        return builder.zext(builder.load(flipped), _int(0).type)

    return signature, generate


def _gains(context, builder, signature, args):
    """Return the lanes, the largest gain in each of LOW lanes (two vectors), and of all."""
    subsets, products, high = _operands(context, builder, signature, args)
    lanes = _Lanes(context, builder, types.float64)
    starts = (0, lanes.count)

    def larger(left, right):
        return builder.select(builder.fcmp_ordered(">", left, right), left, right)

    n_rows = cgutils.unpack_tuple(builder, subsets.shape)[0]
    lowest = ir.Constant(lanes.vector, [float("-inf")] * lanes.count)
    most = [cgutils.alloca_once_value(builder, lowest) for _ in starts]
    # The first four features are the same for all rows of a lane: added at the end.
    with cgutils.for_range_slice(builder, _int(0), n_rows, _int(1)) as (row, _):
        item = lanes.splat(builder.load(builder.gep(high.data, [row])))
        for half, at in enumerate(starts):
            gain = builder.fsub(item, lanes.load(_at(builder, subsets, row, _int(at))))
            builder.store(larger(gain, builder.load(most[half])), most[half])
    totals = []
    for half, at in enumerate(starts):
        total = builder.load(most[half])
        for bit in range(4):
            chosen = [float((at + lane) >> bit & 1) for lane in range(lanes.count)]
            item = lanes.splat(builder.load(builder.gep(products.data, [_int(bit)])))
            total = builder.fadd(total, builder.fmul(item, ir.Constant(lanes.vector, chosen)))
        totals.append(total)
    return lanes, totals, lanes.fold(larger(*totals), larger)


@intrinsic
def most_gained(typing, subsets, products, high):
    """Return the largest of ``high[r] + low[lane] - subsets[r, lane]``.

    IN subsets (rows, LOW), products (at least 4,), high (rows,); LOW is twice the lanes of a
    vector; low[lane] is the sum of the first four products, as the bits of the lane choose.
    """
    signature = types.float64(subsets, products, high)

    def generate(context, builder, signature, args):
        return _gains(context, builder, signature, args)[2]

    return signature, generate


@intrinsic
def best_lane(typing, subsets, products, high):
    """Return the lane of what `most_gained` returns, the first of equals."""
    signature = types.int64(subsets, products, high)

    def generate(context, builder, signature, args):
        lanes, totals, most = _gains(context, builder, signature, args)
        bits, both = ir.IntType(lanes.count), ir.IntType(2 * lanes.count)
        low, top = (
            builder.zext(
                builder.bitcast(builder.fcmp_ordered("==", total, lanes.splat(most)), bits), both
            )
            for total in totals
        )
        found = builder.or_(low, builder.shl(top, ir.Constant(both, lanes.count)))
        # With a NaN no bit is set; one more bit keeps the lane within the table.
        found = builder.or_(found, ir.Constant(both, 1 << (2 * lanes.count - 1)))
        lane = builder.cttz(found, ir.Constant(ir.IntType(1), 1))
        return builder.zext(lane, _int(0).type)

    return signature, generate
