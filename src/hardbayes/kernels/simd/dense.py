"""Hand-written vector code for dense rows: scores against blocks of centres.

It has the speed of a tuned matrix product without its threads, copies or output matrix: of the
scores of a few blocks only the smallest, the second smallest and the smallest one's index are kept.

A block holds L centres, one per lane. ``theta`` is (blocks, d, L), one block after another, so that
a block stays in cache while many rows are scored against it.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.simd.vectors import _I32, QUAD, _at, _int, _Lanes, _operands, _working


class _Running:
    """Running minimum over blocks: each lane's two smallest scores and the smallest one's block."""

    def __init__(self, builder, lanes):
        self.builder = builder
        self.lanes = lanes
        self.blocks = ir.VectorType(_I32, lanes.count)
        infinite = ir.Constant(lanes.vector, [float("inf")] * lanes.count)
        self.least = cgutils.alloca_once_value(builder, infinite)
        self.second = cgutils.alloca_once_value(builder, infinite)
        self.block = cgutils.alloca_once_value(builder, ir.Constant(self.blocks, [0] * lanes.count))

    def take(self, scores, block):
        """Update with the scores of the next block."""
        builder = self.builder
        least, second = builder.load(self.least), builder.load(self.second)
        below = builder.fcmp_ordered("<", scores, least)
        loser = builder.select(below, least, scores)
        smaller = builder.fcmp_ordered("<", second, loser)
        first = builder.insert_element(
            ir.Constant(self.blocks, ir.Undefined), block, ir.Constant(_I32, 0)
        )
        here = builder.shuffle_vector(
            first, first, ir.Constant(self.blocks, [0] * self.lanes.count)
        )
        builder.store(builder.select(below, scores, least), self.least)
        builder.store(builder.select(smaller, second, loser), self.second)
        builder.store(builder.select(below, here, builder.load(self.block)), self.block)

    def per_lane(self):
        """Return the two smallest scores of each lane and the block of the first."""
        return [self.builder.load(value) for value in (self.least, self.second, self.block)]

    def result(self):
        """Return the two smallest scores of all blocks and lanes, and the index of the first."""
        builder = self.builder
        least, second, lane = self.lanes.two_smallest(builder.load(self.least))
        other = builder.extract_element(builder.load(self.second), lane)
        second = builder.select(builder.fcmp_ordered("<", second, other), second, other)
        block = builder.extract_element(builder.load(self.block), lane)
        place = builder.add(builder.mul(block, ir.Constant(_I32, self.lanes.count)), lane)
        return least, second, place


@intrinsic
def score_quad(
    typing, x, members, first, theta, block, n_blocks, offset, smallest, second, place, cell
):
    """Score dense rows ``members[first], ..., members[first + 3]`` of x against n_blocks blocks.

    IN x (batch, d), members int64, theta, offset (slots,); OUT smallest, second (batch, cells),
    place (batch, cells) int32, the index of the smallest, counted from the first of the blocks.
    """
    signature = types.void(
        x, members, types.int64, theta, types.int64, types.int64, offset, smallest, second, place,
        types.int64,
    )  # fmt: skip

    def generate(context, builder, signature, args):
        x, members, first, theta, block, n_blocks, offset, *outputs, cell = _operands(
            context, builder, signature, args
        )
        lanes = _Lanes(context, builder, signature.args[0].dtype)
        d = cgutils.unpack_tuple(builder, x.shape)[1]
        rows = [
            builder.load(builder.gep(members.data, [builder.add(first, _int(u))]))
            for u in range(QUAD)
        ]
        items = [_at(builder, x, row, _int(0)) for row in rows]
        running = [_Running(builder, lanes) for _ in range(QUAD)]
        with cgutils.for_range_slice(builder, _int(0), n_blocks, _int(1)) as (b, _):
            slot = builder.mul(builder.add(block, b), _int(lanes.count))
            centres = builder.gep(theta.data, [builder.mul(slot, d)])
            sums = [lanes.accumulator() for _ in range(QUAD)]
            with cgutils.for_range_slice(builder, _int(0), d, _int(1)) as (j, _):
                lane = lanes.load(builder.gep(centres, [builder.mul(j, _int(lanes.count))]))
                for u in range(QUAD):
                    item = lanes.splat(builder.load(builder.gep(items[u], [j])))
                    lanes.add_product(item, lane, sums[u])
            offsets = lanes.load(builder.gep(offset.data, [slot]))
            for u in range(QUAD):
                scores = builder.fsub(offsets, builder.load(sums[u]))
                running[u].take(scores, builder.trunc(b, _I32))
        for u in range(QUAD):
            for output, value in zip(outputs, running[u].result(), strict=True):
                builder.store(value, _at(builder, output, rows[u], cell))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def read_lanes(typing, values, row, shift, scale, x, place):
    """Write ``(values[row] - shift) scale`` to ``x[place]``; return its ``sum_j x_j^2``."""
    signature = x.dtype(values, types.int64, shift, types.float64, x, types.int64)

    def generate(context, builder, signature, args):
        values, row, shift, scale, x, place = _operands(context, builder, signature, args)
        raw_type, type_ = signature.args[0].dtype, signature.args[4].dtype
        d = cgutils.unpack_tuple(builder, values.shape)[1]
        source = _at(builder, values, row, _int(0))
        target = _at(builder, x, place, _int(0))

        # Whole vectors first, then shorter ones: one by one, sums would wait for each other.
        sums = []
        start = _int(0)
        for count in (_Lanes(context, builder, type_).count, 4, 1):
            lanes = _Lanes(context, builder, type_, count)
            raw = _Lanes(context, builder, raw_type, count)
            double = _Lanes(context, builder, types.float64, count)
            factor, squares = double.splat(scale), lanes.accumulator()
            stop = builder.sub(d, builder.srem(d, _int(count)))
            with cgutils.for_range_slice(builder, start, stop, _int(count)) as (j, _):
                item = raw.load(builder.gep(source, [j]))
                offset = double.load(builder.gep(shift.data, [j]))
                item = _working(builder, item, offset, factor)
                if item.type != lanes.vector:
                    item = builder.fptrunc(item, lanes.vector)
                lanes.store(item, builder.gep(target, [j]))
                lanes.add_product(item, item, squares)
            sums.append(lanes.fold(builder.load(squares), builder.fadd))
            start = stop
        return builder.fadd(builder.fadd(sums[0], sums[1]), sums[2])

    return signature, generate
