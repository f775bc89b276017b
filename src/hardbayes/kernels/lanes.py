"""Scores of one row against one block of centres, with vector registers held by hand.

A compiler will not keep the accumulators of a dot product in registers unless it may reorder sums
everywhere. This file asks for exactly that and nothing else: one row against ``lanes`` centres, lane by
lane, several partial sums, combined once at the end. The result is used with an error bound, never
as the final word, so the order of its additions does not matter to any decision.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANE_BYTES = 64
UNROLL = 4

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def lanes_of(itemsize: int) -> int:
    """Number of centres in a block for items of this many bytes."""
    return LANE_BYTES // itemsize


def _data(context, builder, array_type, array):
    return cgutils.create_struct_proxy(array_type)(context, builder, value=array).data


def _broadcast(builder, vector, value):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _smaller(builder, left, right):
    return builder.select(builder.fcmp_ordered("<", left, right), left, right)


def _smallest_lane(builder, vector, value):
    undefined = ir.Constant(vector, ir.Undefined)
    half = vector.count // 2
    while half:
        rotated = [(lane + half) % vector.count for lane in range(vector.count)]
        mask = ir.Constant(ir.VectorType(_I32, vector.count), rotated)
        value = _smaller(builder, value, builder.shuffle_vector(value, undefined, mask))
        half //= 2
    return builder.extract_element(value, ir.Constant(_I32, 0))


@intrinsic
def block_scores(typing, x, columns, n_columns, theta, start, offset, slot, scores):
    """``scores[slot + l] = offset[slot + l] - sum_p x[p] theta.flat[start + columns[p] L + l]``.

    IN x (m,), columns (m,) int64, theta (blocks, d, L), offset (slots,); OUT scores (slots,).
    Returns the smallest of the L scores.
    """
    signature = x.dtype(
        x, columns, types.int64, theta, types.int64, offset, types.int64, scores
    )

    def generate(context, builder, signature, args):
        x_type, columns_type, _, theta_type, _, offset_type, _, scores_type = signature.args
        x, columns, m, theta, start, offset, slot, scores = args
        itemsize = x_type.dtype.bitwidth // 8
        lanes = lanes_of(itemsize)
        vector = ir.VectorType(context.get_value_type(x_type.dtype), lanes)
        x = _data(context, builder, x_type, x)
        columns = _data(context, builder, columns_type, columns)
        theta = builder.gep(_data(context, builder, theta_type, theta), [start])
        offset = builder.gep(_data(context, builder, offset_type, offset), [slot])
        scores = builder.gep(_data(context, builder, scores_type, scores), [slot])

        def load(pointer):
            return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=itemsize)

        zero = ir.Constant(vector, [0.0] * lanes)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(UNROLL)]

        def add_product(p, total):
            column = builder.load(builder.gep(columns, [p]))
            item = _broadcast(builder, vector, builder.load(builder.gep(x, [p])))
            block = load(builder.gep(theta, [builder.mul(column, ir.Constant(_I64, lanes))]))
            product = builder.fmul(item, block, flags=("contract",))
            builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)

        unroll = ir.Constant(_I64, UNROLL)
        whole = builder.sub(m, builder.srem(m, unroll))
        with cgutils.for_range_slice(builder, ir.Constant(_I64, 0), whole, unroll) as (p, _):
            for u in range(UNROLL):
                add_product(builder.add(p, ir.Constant(_I64, u)), sums[u])
        with cgutils.for_range_slice(builder, whole, m, ir.Constant(_I64, 1)) as (p, _):
            add_product(p, sums[0])

        total = builder.load(sums[0])
        for partial in sums[1:]:
            total = builder.fadd(total, builder.load(partial))
        total = builder.fsub(load(offset), total)
        builder.store(total, builder.bitcast(scores, vector.as_pointer()), align=itemsize)
        return _smallest_lane(builder, vector, total)

    return signature, generate
