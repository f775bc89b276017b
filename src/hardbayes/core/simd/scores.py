"""Vector code written by hand: scores of dense rows, tiles and sparse rows.

*Dense rows*, against blocks of centres. It has the speed of a tuned matrix product without its
threads, copies or output matrix: of the scores of a few blocks only the smallest, the second
smallest and the smallest one's index are kept.

A block holds L centres, one per lane. ``theta`` is (blocks, d, L), one block after another, so that
a block stays in cache while many rows are scored against it.

*Tiles of dense rows*, one row per lane. A tile is read once and scored against every centre. The
least scores of a row stay in its lane, so nothing is compared across lanes. Where each row is
scored against centres of its own, lanes of centres are faster.

*Sparse rows*, against blocks of centres. ``theta`` is (1, d, slots): each entry of a row reads one
contiguous run of memory, its column of theta for all centres, and the sums of a few blocks stay in
registers from the first entry to the last. Columns are far apart in memory, so most of the time
goes into loading them; entries are independent, so that the processor can have many loads in
flight.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.core.simd.vectors import _I32, _I64, QUAD, _at, _int, _Lanes, _operands, _working


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


@intrinsic
def read_tile(typing, values, first, n_rows, shift, scale, x, squares):
    """Read rows ``first`` to ``first + n_rows`` into the lanes of a tile, the last one repeatedly.

    IN values (n, d), shift (d,), scale (lanes,) float64; OUT x (d, lanes): ``(values - shift)
    scale``; squares (lanes,): its ``sum_j x_j^2``.
    """
    signature = types.void(values, types.int64, types.int64, shift, scale, x, squares)

    def generate(context, builder, signature, args):
        values, first, n_rows, shift, scale, x, squares = _operands(
            context, builder, signature, args
        )
        lanes = _Lanes(context, builder, signature.args[5].dtype)
        raw = _Lanes(context, builder, signature.args[0].dtype, lanes.count)
        double = _Lanes(context, builder, types.float64, lanes.count)
        d = cgutils.unpack_tuple(builder, values.shape)[1]
        last = builder.sub(n_rows, _int(1))
        sources = []
        for u in range(lanes.count):
            within = builder.icmp_signed("<", _int(u), last)
            row = builder.add(first, builder.select(within, _int(u), last))
            sources.append(_at(builder, values, row, _int(0)))
        factor = double.load(scale.data)
        total = lanes.accumulator()

        def write(items, j):
            offset = double.splat(builder.load(builder.gep(shift.data, [j])))
            item = _working(builder, items, offset, factor)
            if item.type != lanes.vector:
                item = builder.fptrunc(item, lanes.vector)
            lanes.store(item, _at(builder, x, j, _int(0)))
            lanes.add_product(item, item, total)

        whole = builder.sub(d, builder.srem(d, _int(lanes.count)))
        with cgutils.for_range_slice(builder, _int(0), whole, _int(lanes.count)) as (j, _):
            square = [raw.load(builder.gep(source, [j])) for source in sources]
            for u, column in enumerate(raw.transposed(square)):
                write(column, builder.add(j, _int(u)))
        with cgutils.for_range_slice(builder, whole, d, _int(1)) as (j, _):
            column = raw.undefined
            for u, source in enumerate(sources):
                item = builder.load(builder.gep(source, [j]))
                column = builder.insert_element(column, item, ir.Constant(_I32, u))
            write(column, j)
        lanes.store(builder.load(total), squares.data)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def score_tile(typing, x, theta, n_slots, offset, least, second, place):
    """Score each row of a tile against slots 0 to ``n_slots``, rounded up to a multiple of QUAD.

    IN x (d, lanes), theta (blocks, d, lanes), offset (slots,); OUT least, second (lanes,), place
    (lanes,) int32: the two least scores and the slot of the first.
    """
    signature = types.void(x, theta, types.int64, offset, least, second, place)

    def generate(context, builder, signature, args):
        x, theta, n_slots, offset, *outputs = _operands(context, builder, signature, args)
        lanes = _Lanes(context, builder, signature.args[0].dtype)
        d = cgutils.unpack_tuple(builder, x.shape)[0]
        running = _Running(builder, lanes)
        with cgutils.for_range_slice(builder, _int(0), n_slots, _int(QUAD)) as (slot, _):
            lane = builder.srem(slot, _int(lanes.count))
            block = builder.sub(slot, lane)
            centres = builder.gep(theta.data, [builder.add(builder.mul(block, d), lane)])
            sums = [lanes.accumulator() for _ in range(QUAD)]
            with cgutils.for_range_slice(builder, _int(0), d, _int(1)) as (j, _):
                items = lanes.load(_at(builder, x, j, _int(0)))
                column = builder.gep(centres, [builder.mul(j, _int(lanes.count))])
                for u in range(QUAD):
                    value = lanes.splat(builder.load(builder.gep(column, [_int(u)])))
                    lanes.add_product(items, value, sums[u])
            for u in range(QUAD):
                here = builder.add(slot, _int(u))
                offsets = lanes.splat(builder.load(builder.gep(offset.data, [here])))
                scores = builder.fsub(offsets, builder.load(sums[u]))
                running.take(scores, builder.trunc(here, _I32))
        for output, value in zip(outputs, running.per_lane(), strict=True):
            pointer = builder.bitcast(output.data, value.type.as_pointer())
            builder.store(value, pointer, align=4)
        return context.get_dummy_value()

    return signature, generate


def _keep(builder, lanes, total, offset, outputs, row, block):
    """Write the two smallest scores ``offset - total`` of a row in a block, and the index."""
    found = lanes.two_smallest(builder.fsub(lanes.load(offset), total))
    for output, value in zip(outputs, found, strict=True):
        builder.store(value, _at(builder, output, row, block))


def _times(builder, item, scale):
    """Return an item multiplied in float64: a scale may be outside the range of float32."""
    if item.type == scale.type:
        return builder.fmul(item, scale)
    return builder.fptrunc(builder.fmul(builder.fpext(item, scale.type), scale), item.type)


def _score_row(n_blocks):
    """Make an intrinsic that scores one sparse row against ``n_blocks`` adjacent blocks."""

    @intrinsic
    def score_row(
        typing, values, columns, start, stop, scale, theta, block, offset, smallest, second, place
    ):
        """Score the row with the entries ``start`` to ``stop`` against blocks from ``block`` on.

        IN values, columns (nnz,), theta (1, d, slots), offset (slots,); OUT smallest, second
        (1.., blocks), place (1.., blocks) int32. A score is offset - <scale x, theta>.
        """
        signature = types.void(
            values, columns, types.int64, types.int64, types.float64, theta, types.int64, offset,
            smallest, second, place,
        )  # fmt: skip

        def generate(context, builder, signature, args):
            values, columns, start, stop, scale, theta, block, offset, *outputs = _operands(
                context, builder, signature, args
            )
            lanes = _Lanes(context, builder, signature.args[0].dtype)
            width = cgutils.unpack_tuple(builder, theta.shape)[2]
            slot = builder.mul(block, _int(lanes.count))
            centres = builder.gep(theta.data, [slot])
            sums = [lanes.accumulator() for _ in range(n_blocks)]
            with cgutils.for_range_slice(builder, start, stop, _int(1)) as (p, _):
                column = builder.load(builder.gep(columns.data, [p]))
                if column.type != _I64:
                    column = builder.sext(column, _I64)
                item = builder.load(builder.gep(values.data, [p]))
                item = _times(builder, item, scale)
                item = lanes.splat(item)
                entry = builder.gep(centres, [builder.mul(column, width)])
                for at, accumulator in enumerate(sums):
                    lane = lanes.load(builder.gep(entry, [_int(at * lanes.count)]))
                    lanes.add_product(item, lane, accumulator)
            for at, accumulator in enumerate(sums):
                offsets = builder.gep(offset.data, [builder.add(slot, _int(at * lanes.count))])
                total, place = builder.load(accumulator), builder.add(block, _int(at))
                _keep(builder, lanes, total, offsets, outputs, _int(0), place)
            return context.get_dummy_value()

        return signature, generate

    return score_row


# Five blocks would need more registers than AVX2 has.
score_row_1, score_row_2, score_row_3, score_row_4 = map(_score_row, (1, 2, 3, 4))
