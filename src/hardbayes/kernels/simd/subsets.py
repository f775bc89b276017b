"""Vector code for features: the cheapest of all subsets of one row.

The subsets are a table, with those of the first four features side by side.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.simd.vectors import _at, _int, _Lanes, _operands


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
