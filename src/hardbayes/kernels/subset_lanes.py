"""Vector code written by hand for features: the cheapest of all subsets of one row.

The subsets are a table, those of the first four features side by side.
"""

from functools import partial

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.lanes import _array, _at, _int, _Lanes


@intrinsic
def best_lane(typing, subsets, products, high):
    """Return the lane that holds the least of ``subsets[r, lane] - high[r] - low[lane]``.

    IN subsets (rows, LOW), products (at least 4,), high (rows,); LOW is twice the lanes of a
    vector; low[lane] is the sum of the first four products, as the bits of the lane choose. Of
    equals the first is taken.
    """
    signature = types.int64(subsets, products, high)

    def generate(context, builder, signature, args):
        subsets, products, high = (
            _array(context, builder, signature.args[at], args[at]) for at in range(3)
        )
        lanes = _Lanes(context, builder, types.float64)
        starts = (0, lanes.count)

        n_rows = cgutils.unpack_tuple(builder, subsets.shape)[0]
        most = [cgutils.alloca_once_value(builder, _lowest(lanes)) for _ in starts]
        # The first four features are the same for all rows of a lane: they wait until the end.
        with cgutils.for_range_slice(builder, _int(0), n_rows, _int(1)) as (row, _):
            item = lanes.splat(builder.load(builder.gep(high.data, [row])))
            for half, at in enumerate(starts):
                gain = builder.fsub(item, lanes.load(_at(builder, subsets, row, _int(at))))
                old = builder.load(most[half])
                builder.store(_larger(builder, gain, old), most[half])

        totals = []
        for half, at in enumerate(starts):
            total = builder.load(most[half])
            for bit in range(4):
                chosen = [float((at + lane) >> bit & 1) for lane in range(lanes.count)]
                item = lanes.splat(builder.load(builder.gep(products.data, [_int(bit)])))
                total = builder.fadd(total, builder.fmul(item, ir.Constant(lanes.vector, chosen)))
            totals.append(total)
        largest = lanes.splat(lanes.fold(_larger(builder, *totals), partial(_larger, builder)))
        bits, both = ir.IntType(lanes.count), ir.IntType(2 * lanes.count)
        low, top = (
            builder.zext(builder.bitcast(builder.fcmp_ordered("==", total, largest), bits), both)
            for total in totals
        )
        found = builder.or_(low, builder.shl(top, ir.Constant(both, lanes.count)))
        # Where a NaN came in no bit is set; a stray one keeps the lane within the table.
        found = builder.or_(found, ir.Constant(both, 1 << (2 * lanes.count - 1)))
        lane = builder.cttz(found, ir.Constant(ir.IntType(1), 1))
        return builder.zext(lane, _int(0).type)

    return signature, generate


@intrinsic
def best_row(typing, turned, lane, high):
    """Return the row that holds the most of ``high[r] - turned[lane, r]``, the first of equals.

    IN turned (LOW, rows), high (rows,); rows are a multiple of the lanes of a vector.
    """
    signature = types.int64(turned, types.int64, high)

    def generate(context, builder, signature, args):
        turned, high = (_array(context, builder, signature.args[at], args[at]) for at in (0, 2))
        lanes = _Lanes(context, builder, types.float64)
        n_rows = cgutils.unpack_tuple(builder, high.shape)[0]
        column = _at(builder, turned, args[1], _int(0))

        def gains(row):
            sums = lanes.load(builder.gep(high.data, [row]))
            return builder.fsub(sums, lanes.load(builder.gep(column, [row])))

        most = cgutils.alloca_once_value(builder, _lowest(lanes))
        with cgutils.for_range_slice(builder, _int(0), n_rows, _int(lanes.count)) as (row, _):
            builder.store(_larger(builder, gains(row), builder.load(most)), most)
        largest = lanes.splat(lanes.fold(builder.load(most), partial(_larger, builder)))
        bits = ir.IntType(lanes.count)
        found = cgutils.alloca_once_value(builder, _int(0))
        unknown = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(1), 1))
        with cgutils.for_range_slice(builder, _int(0), n_rows, _int(lanes.count)) as (row, _):
            equal = builder.bitcast(builder.fcmp_ordered("==", gains(row), largest), bits)
            first = builder.cttz(equal, ir.Constant(ir.IntType(1), 0))
            here = builder.icmp_unsigned("!=", equal, ir.Constant(bits, 0))
            here = builder.and_(here, builder.load(unknown))
            place = builder.add(row, builder.zext(first, _int(0).type))
            builder.store(builder.select(here, place, builder.load(found)), found)
            builder.store(builder.and_(builder.load(unknown), builder.not_(here)), unknown)
        return builder.load(found)

    return signature, generate


def _lowest(lanes):
    return ir.Constant(lanes.vector, [float("-inf")] * lanes.count)


def _larger(builder, left, right):
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)
