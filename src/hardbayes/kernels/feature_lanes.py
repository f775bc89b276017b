"""Vector code written by hand for features: products with components, the cheapest of all subsets.

As in `lanes`, so that sums stay in vector registers in an order that is written down.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.lanes import _array, _at, _int, _Lanes

UNROLL = 4


@intrinsic
def project_block(typing, rows, i, across, block, products):
    """OUT products of row i with the components ``across[block]`` (d, LANES), side by side."""
    signature = types.void(rows, types.int64, across, types.int64, products)

    def generate(context, builder, signature, args):
        rows, across, products = (
            _array(context, builder, signature.args[at], args[at]) for at in (0, 2, 4)
        )
        lanes = _Lanes(context, builder, types.float64)
        d = cgutils.unpack_tuple(builder, rows.shape)[1]
        items = _at(builder, rows, args[1], _int(0))
        first = builder.mul(args[3], _int(lanes.count))
        components = builder.gep(across.data, [builder.mul(first, d)])
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
        target = builder.gep(products.data, [first])
        target = builder.bitcast(target, lanes.vector.as_pointer())
        builder.store(total, target, align=lanes.itemsize)
        return context.get_dummy_value()

    return signature, generate


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

        def larger(left, right):
            return builder.select(builder.fcmp_ordered(">", left, right), left, right)

        n_rows = cgutils.unpack_tuple(builder, subsets.shape)[0]
        lowest = ir.Constant(lanes.vector, [float("-inf")] * lanes.count)
        most = [cgutils.alloca_once_value(builder, lowest) for _ in starts]
        # The first four features are the same for all rows of a lane: they wait until the end.
        with cgutils.for_range_slice(builder, _int(0), n_rows, _int(1)) as (row, _):
            item = lanes.splat(builder.load(builder.gep(high.data, [row])))
            for half, at in enumerate(starts):
                gain = builder.fsub(item, lanes.load(_at(builder, subsets, row, _int(at))))
                old = builder.load(most[half])
                builder.store(larger(gain, old), most[half])

        totals = []
        for half, at in enumerate(starts):
            total = builder.load(most[half])
            for bit in range(4):
                chosen = [float((at + lane) >> bit & 1) for lane in range(lanes.count)]
                item = lanes.splat(builder.load(builder.gep(products.data, [_int(bit)])))
                total = builder.fadd(total, builder.fmul(item, ir.Constant(lanes.vector, chosen)))
            totals.append(total)
        largest = lanes.splat(lanes.fold(larger(*totals), larger))
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
def add_residual(typing, residual, weight, members, count, correction):
    """Add ``weight * residual`` (1, d) to the rows ``members`` of correction (k, d)."""
    signature = types.void(residual, types.float64, members, types.int64, correction)

    def generate(context, builder, signature, args):
        residual, members, correction = (
            _array(context, builder, signature.args[at], args[at]) for at in (0, 2, 4)
        )
        lanes = _Lanes(context, builder, types.float64)
        d = cgutils.unpack_tuple(builder, correction.shape)[1]
        whole = builder.sub(d, builder.srem(d, _int(lanes.count)))
        weights = lanes.splat(args[1])

        def add(load, store, weight, j):
            item = builder.fmul(load(builder.gep(residual.data, [j])), weight)
            with cgutils.for_range_slice(builder, _int(0), args[3], _int(1)) as (m, _):
                target = _at(builder, correction, builder.load(builder.gep(members.data, [m])), j)
                store(builder.fadd(load(target), item), target)

        def store_lanes(value, pointer):
            pointer = builder.bitcast(pointer, lanes.vector.as_pointer())
            builder.store(value, pointer, align=lanes.itemsize)

        with cgutils.for_range_slice(builder, _int(0), whole, _int(lanes.count)) as (j, _):
            add(lanes.load, store_lanes, weights, j)
        with cgutils.for_range_slice(builder, whole, d, _int(1)) as (j, _):
            add(builder.load, builder.store, args[1], j)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def subtract_members(typing, rows, i, members, count, components, origin, residual):
    """OUT residual (1, d): row i less (the sum of its components - origin); returns its square.

    The sum is made first: where rows lie far from zero it is the origin that it must cancel with.
    """
    signature = types.float64(rows, types.int64, members, types.int64, components, origin, residual)

    def generate(context, builder, signature, args):
        rows, members, components, origin, residual = (
            _array(context, builder, signature.args[at], args[at]) for at in (0, 2, 4, 5, 6)
        )
        lanes = _Lanes(context, builder, types.float64)
        d = cgutils.unpack_tuple(builder, components.shape)[1]
        items = _at(builder, rows, args[1], _int(0))

        def leave(load, store, zero, j):
            total = cgutils.alloca_once_value(
                builder, builder.fsub(zero, load(builder.gep(origin.data, [j])))
            )
            with cgutils.for_range_slice(builder, _int(0), args[3], _int(1)) as (m, _):
                a = builder.load(builder.gep(members.data, [m]))
                item = load(_at(builder, components, a, j))
                builder.store(builder.fadd(builder.load(total), item), total)
            left = builder.fsub(load(builder.gep(items, [j])), builder.load(total))
            store(left, builder.gep(residual.data, [j]))
            return left

        def store_lanes(value, pointer):
            pointer = builder.bitcast(pointer, lanes.vector.as_pointer())
            builder.store(value, pointer, align=lanes.itemsize)

        squares = lanes.accumulator()
        whole = builder.sub(d, builder.srem(d, _int(lanes.count)))
        with cgutils.for_range_slice(builder, _int(0), whole, _int(lanes.count)) as (j, _):
            left = leave(lanes.load, store_lanes, lanes.zero, j)
            lanes.add_product(left, left, squares)
        tail = cgutils.alloca_once_value(builder, lanes.fold(builder.load(squares), builder.fadd))
        nought = ir.Constant(lanes.vector.element, 0.0)
        with cgutils.for_range_slice(builder, whole, d, _int(1)) as (j, _):
            left = leave(builder.load, builder.store, nought, j)
            builder.store(builder.fadd(builder.load(tail), builder.fmul(left, left)), tail)
        return builder.load(tail)

    return signature, generate
