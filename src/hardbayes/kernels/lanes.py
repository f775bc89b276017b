"""Scores of rows against one block of centres, with vector registers held by hand.

A compiler will not keep the accumulators of dot products in registers unless it may reorder sums everywhere. This
file asks for exactly that and nothing else, and reaches the speed of a tuned matrix product without its threads, its copies or its
fixed shapes. Scores are used with an error bound, never as the final word, so the order of additions matters to no decision.

``theta`` is (blocks, d, L): L lanes of centres side by side, one block after another.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANE_BYTES = 64
QUAD = 4  # rows that share each load of a block; also partial sums of a single row

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def lanes_of(itemsize: int) -> int:
    """Number of centres in a block for items of this many bytes."""
    return LANE_BYTES // itemsize


def _int(value):
    return ir.Constant(_I64, value)


class _Lanes:
    """Vector code for one block: what both intrinsics share."""

    def __init__(self, context, builder, dtype):
        self.builder = builder
        self.itemsize = dtype.bitwidth // 8
        self.count = lanes_of(self.itemsize)
        self.vector = ir.VectorType(context.get_value_type(dtype), self.count)
        self.undefined = ir.Constant(self.vector, ir.Undefined)
        self.zero = ir.Constant(self.vector, [0.0] * self.count)

    def _mask(self, lanes):
        return ir.Constant(ir.VectorType(_I32, self.count), lanes)

    def accumulator(self):
        return cgutils.alloca_once_value(self.builder, self.zero)

    def load(self, pointer):
        pointer = self.builder.bitcast(pointer, self.vector.as_pointer())
        return self.builder.load(pointer, align=self.itemsize)

    def broadcast(self, pointer):
        item = self.builder.load(pointer)
        first = self.builder.insert_element(self.undefined, item, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(first, self.undefined, self._mask([0] * self.count))

    def add_product(self, item, block, accumulator):
        product = self.builder.fmul(item, block, flags=("contract",))
        total = self.builder.fadd(self.builder.load(accumulator), product, flags=("contract",))
        self.builder.store(total, accumulator)

    def finish(self, total, offset, scores):
        """Store ``offset - total``; return its smallest lane."""
        builder = self.builder
        total = builder.fsub(self.load(offset), total)
        pointer = builder.bitcast(scores, self.vector.as_pointer())
        builder.store(total, pointer, align=self.itemsize)
        half = self.count // 2
        while half:
            turned = self._mask([(lane + half) % self.count for lane in range(self.count)])
            other = builder.shuffle_vector(total, self.undefined, turned)
            total = builder.select(builder.fcmp_ordered("<", total, other), total, other)
            half //= 2
        return builder.extract_element(total, ir.Constant(_I32, 0))


def _array(context, builder, array_type, value):
    return cgutils.create_struct_proxy(array_type)(context, builder, value=value)


def _columns_of(builder, array):
    return cgutils.unpack_tuple(builder, array.shape)[1]


@intrinsic
def score_one(typing, x, columns, m, theta, start, offset, slot, scores):
    """``scores[slot + l] = offset[slot + l] - sum_p x[p] theta.flat[start + columns[p] L + l]``.

    IN x (>= m,), columns (>= m,) int64, theta, offset (slots,); OUT scores (slots,). Returns the smallest of the L scores.
    """
    signature = x.dtype(x, columns, types.int64, theta, types.int64, offset, types.int64, scores)

    def generate(context, builder, signature, args):
        x, columns, theta, offset, scores = (
            _array(context, builder, signature.args[at], args[at]).data for at in (0, 1, 3, 5, 7)
        )
        m, start, slot = args[2], args[4], args[6]
        lanes = _Lanes(context, builder, signature.args[0].dtype)
        theta = builder.gep(theta, [start])
        sums = [lanes.accumulator() for _ in range(QUAD)]

        def add(p, accumulator):
            column = builder.load(builder.gep(columns, [p]))
            block = lanes.load(builder.gep(theta, [builder.mul(column, _int(lanes.count))]))
            lanes.add_product(lanes.broadcast(builder.gep(x, [p])), block, accumulator)

        whole = builder.sub(m, builder.srem(m, _int(QUAD)))
        with cgutils.for_range_slice(builder, _int(0), whole, _int(QUAD)) as (p, _):
            for u in range(QUAD):
                add(builder.add(p, _int(u)), sums[u])
        with cgutils.for_range_slice(builder, whole, m, _int(1)) as (p, _):
            add(p, sums[0])
        total = builder.load(sums[0])
        for partial in sums[1:]:
            total = builder.fadd(total, builder.load(partial))
        return lanes.finish(total, builder.gep(offset, [slot]), builder.gep(scores, [slot]))

    return signature, generate


@intrinsic
def score_quad(typing, x, members, first, theta, start, offset, slot, scores, block, smallest):
    """Score four dense rows ``r = members[first], ..., members[first + 3]`` of x against one block.

    ``scores[r, slot + l] = offset[slot + l] - sum_j x[r, j] theta.flat[start + j L + l]``.
    IN x (batch, d), members int64, theta, offset (slots,); OUT scores (batch, slots), smallest (batch, blocks): the least score at [r, block].
    """
    signature = types.void(
        x, members, types.int64, theta, types.int64, offset, types.int64, scores, types.int64, smallest
    )  # fmt: skip

    def generate(context, builder, signature, args):
        x, members, theta, offset, scores, smallest = (
            _array(context, builder, signature.args[at], args[at]) for at in (0, 1, 3, 5, 7, 9)
        )
        first, start, slot, block = args[2], args[4], args[6], args[8]
        lanes = _Lanes(context, builder, signature.args[0].dtype)
        d = _columns_of(builder, x)
        rows = [
            builder.load(builder.gep(members.data, [builder.add(first, _int(u))]))
            for u in range(QUAD)
        ]
        items = [builder.gep(x.data, [builder.mul(row, d)]) for row in rows]
        theta = builder.gep(theta.data, [start])
        sums = [lanes.accumulator() for _ in range(QUAD)]
        with cgutils.for_range_slice(builder, _int(0), d, _int(1)) as (j, _):
            centres = lanes.load(builder.gep(theta, [builder.mul(j, _int(lanes.count))]))
            for u in range(QUAD):
                lanes.add_product(lanes.broadcast(builder.gep(items[u], [j])), centres, sums[u])
        offset = builder.gep(offset.data, [slot])
        for u in range(QUAD):
            at = builder.add(builder.mul(rows[u], _columns_of(builder, scores)), slot)
            least = lanes.finish(builder.load(sums[u]), offset, builder.gep(scores.data, [at]))
            at = builder.add(builder.mul(rows[u], _columns_of(builder, smallest)), block)
            builder.store(least, builder.gep(smallest.data, [at]))
        return context.get_dummy_value()

    return signature, generate
