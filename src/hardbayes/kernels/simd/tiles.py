"""Hand-written vector code for tiles of dense rows, one row per lane.

A tile is read once and scored against every centre. The least scores of a row stay in its lane, so
nothing is compared across lanes. Where each row is scored against centres of its own,
`kernels.simd.dense` is faster: there the lanes are centres.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.simd.dense import _Running
from hardbayes.kernels.simd.vectors import _I32, QUAD, _at, _int, _Lanes, _operands, _working


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
