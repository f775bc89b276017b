"""Vector code for features: single flips of eight rows side by side.

Branches on single rows would often be mispredicted, which costs more than the work. So eight rows
do all steps together, with a mask of those that flip.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.simd.vectors import QUAD, _at, _int, _Lanes, _operands

EIGHT = 8  # rows side by side: the lanes of a vector
ROUNDING = 1e-13


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
            least = builder.fmul(square, ir.Constant(number, 0.5 * (1.0 + ROUNDING)))
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
