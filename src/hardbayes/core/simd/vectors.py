"""Vector code written by hand: helpers, direct costs, sums of squares, a logarithm.

A compiler keeps the accumulators of dot products in vector registers only if it may reorder all
sums. The intrinsics here reorder exactly these sums and no others.

A natural logarithm without branches or calls, so that loops around it become vector code.

A number is ``m 2^e`` with m between sqrt(1/2) and sqrt(2), and ``log m = 2 artanh(s)`` with
``s = (m - 1) / (m + 1)``. Since ``s^2 < 0.03``, a polynomial of seven terms (those of fdlibm, whose
largest error is least) leaves less than a rounding error. The result is within a few units in the
last place.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.core.arrays import lanes_of
from hardbayes.core.compiling import inlined

QUAD = 4  # rows that share each load of a block

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def _int(value):
    return ir.Constant(_I64, value)


def _array(context, builder, array_type, value):
    return cgutils.create_struct_proxy(array_type)(context, builder, value=value)


def _operands(context, builder, signature, args):
    """Return what an intrinsic is called with: structs for arrays, values for numbers."""
    return [
        _array(context, builder, kind, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, args, strict=True)
    ]


def _at(builder, array, row, column):
    """Pointer to ``array[row, column]`` of a C-contiguous matrix."""
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    return builder.gep(array.data, [builder.add(builder.mul(row, width), column)])


class _Lanes:
    """Emits operations on vectors of ``count`` items, the lanes of a register."""

    def __init__(self, context, builder, dtype, count=None):
        self.builder = builder
        self.itemsize = dtype.bitwidth // 8
        self.count = count or lanes_of(self.itemsize)
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

    def store(self, value, pointer):
        pointer = self.builder.bitcast(pointer, self.vector.as_pointer())
        self.builder.store(value, pointer, align=self.itemsize)

    def transposed(self, rows):
        """Return the columns of a square matrix of as many rows as there are lanes."""
        lanes, half = range(self.count), self.count // 2
        while half:  # exchange the blocks of this size that lie off the diagonal, in pairs of rows
            kept = [lane if not lane & half else self.count + lane - half for lane in lanes]
            taken = [lane + half if not lane & half else self.count + lane for lane in lanes]
            rows = list(rows)
            for u in (lane for lane in lanes if not lane & half):
                pair = rows[u], rows[u + half]
                rows[u] = self.builder.shuffle_vector(*pair, self._mask(kept))
                rows[u + half] = self.builder.shuffle_vector(*pair, self._mask(taken))
            half //= 2
        return rows

    def splat(self, item):
        first = self.builder.insert_element(self.undefined, item, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(first, self.undefined, self._mask([0] * self.count))

    def add_product(self, left, right, accumulator):
        product = self.builder.fmul(left, right, flags=("contract",))
        total = self.builder.fadd(self.builder.load(accumulator), product, flags=("contract",))
        self.builder.store(total, accumulator)

    def fold(self, value, combine):
        """Combine all lanes by halves; returns a scalar."""
        half = self.count // 2
        while half:
            turned = self._mask([(lane + half) % self.count for lane in range(self.count)])
            value = combine(value, self.builder.shuffle_vector(value, self.undefined, turned))
            half //= 2
        return self.builder.extract_element(value, ir.Constant(_I32, 0))

    def sum_of_pairs(self, value):
        """Add neighbours, then neighbouring pairs, and so on."""
        width = self.count
        while width > 1:
            swapped = self._mask([lane ^ (self.count // width) for lane in range(self.count)])
            value = self.builder.fadd(
                value, self.builder.shuffle_vector(value, self.undefined, swapped)
            )
            width //= 2
        return self.builder.extract_element(value, ir.Constant(_I32, 0))

    def two_smallest(self, value):
        """Return the smallest lane, the smallest of the others, and the index of the first."""
        builder = self.builder

        def in_order(left, right):
            below = builder.fcmp_ordered("<", left, right)
            return builder.select(below, left, right), builder.select(below, right, left)

        # By halves: the two smallest of four numbers in two ordered pairs.
        least, second = in_order(*self._halves(value))
        while least.type.count > 1:
            least, loser = in_order(*self._halves(least))
            second, _ = in_order(loser, in_order(*self._halves(second))[0])
        zero = ir.Constant(_I32, 0)
        least, second = (builder.extract_element(vector, zero) for vector in (least, second))
        bits = ir.IntType(self.count)
        equal = builder.bitcast(builder.fcmp_ordered("==", value, self.splat(least)), bits)
        # NaN equals nothing, itself included: the last bit keeps the index within the block.
        equal = builder.or_(equal, ir.Constant(bits, 1 << (self.count - 1)))
        place = builder.zext(builder.cttz(equal, ir.Constant(ir.IntType(1), 1)), _I32)
        return least, second, place

    def _halves(self, vector):
        half = vector.type.count // 2
        return [
            self.builder.shuffle_vector(
                vector,
                ir.Constant(vector.type, ir.Undefined),
                ir.Constant(ir.VectorType(_I32, half), list(range(first, first + half))),
            )
            for first in (0, half)
        ]


def _working(builder, item, shift, scale):
    """Return items in working coordinates, float64."""
    if item.type != scale.type:
        item = builder.fpext(item, scale.type)
    return builder.fmul(builder.fsub(item, shift), scale)


def _direct_sum(squared):
    """Make an intrinsic for ``sum_j (t_j - c_j)^2`` or ``sum_j t_j c_j``.

    t = (values[row] - shift) scale and c = points[k].
    """

    @intrinsic
    def direct_sum(typing, values, row, shift, scale, points, k):
        signature = types.float64(values, types.int64, shift, types.float64, points, types.int64)

        def generate(context, builder, signature, args):
            values, row, shift, scale, points, k = _operands(context, builder, signature, args)
            lanes = _Lanes(context, builder, types.float64)
            raw = _Lanes(context, builder, signature.args[0].dtype, lanes.count)
            d = cgutils.unpack_tuple(builder, values.shape)[1]
            value = _at(builder, values, row, _int(0))
            point = _at(builder, points, k, _int(0))

            def term(load, factor, j):
                item = _working(builder, load(raw, value, j), load(lanes, shift.data, j), factor)
                other = load(lanes, point, j)
                if not squared:
                    return item, other
                item = builder.fsub(item, other)
                return item, item

            def load_lanes(kind, pointer, j):
                return kind.load(builder.gep(pointer, [j]))

            def load_item(kind, pointer, j):
                return builder.load(builder.gep(pointer, [j]))

            # Eight partial sums, combined in NumPy's order and without fused operations: up to 128
            # columns, beyond which NumPy sums by halves, the result has the bits of np.sum. Ties
            # are then the same as in a plain NumPy implementation.
            sums = lanes.accumulator()
            whole = builder.sub(d, builder.srem(d, _int(lanes.count)))
            factor = lanes.splat(scale)
            with cgutils.for_range_slice(builder, _int(0), whole, _int(lanes.count)) as (j, _):
                product = builder.fmul(*term(load_lanes, factor, j))
                builder.store(builder.fadd(builder.load(sums), product), sums)
            tail = cgutils.alloca_once_value(builder, lanes.sum_of_pairs(builder.load(sums)))
            with cgutils.for_range_slice(builder, whole, d, _int(1)) as (j, _):
                product = builder.fmul(*term(load_item, scale, j))
                builder.store(builder.fadd(builder.load(tail), product), tail)
            return builder.load(tail)

        return signature, generate

    return direct_sum


squared_distance = _direct_sum(squared=True)
inner_product = _direct_sum(squared=False)


@intrinsic
def add_split(
    typing, values, row, shift, scale, weight, sign, coarse, fine, k, rounder, fine_rounder, first,
    last
):  # fmt: skip
    """Add ``sign weight t``, t = (values[row] - shift) scale, to row k of coarse + fine.

    Columns ``first`` to ``last`` only. Adding and subtracting a large rounding constant rounds to a
    multiple of its last place. The part rounded by ``rounder`` (d,) goes to coarse, the remainder,
    rounded likewise by ``fine_rounder`` (d,), to fine.
    """
    number = types.float64
    signature = types.void(
        values, types.int64, shift, number, number, number, coarse, fine, types.int64, rounder,
        fine_rounder, types.int64, types.int64,
    )  # fmt: skip

    def generate(context, builder, signature, args):
        values, row, shift, *numbers, coarse, fine, k, rounder, fine_rounder, first, last = (
            _operands(context, builder, signature, args)
        )
        lanes = _Lanes(context, builder, types.float64)
        raw = _Lanes(context, builder, signature.args[0].dtype, lanes.count)
        value = _at(builder, values, row, _int(0))
        targets = [_at(builder, array, k, _int(0)) for array in (coarse, fine)]

        def add(load, store, numbers, j):
            scale, weight, sign = numbers
            item = _working(builder, load(raw, value, j), load(lanes, shift.data, j), scale)
            item = builder.fmul(item, weight)
            large, small = (load(lanes, array.data, j) for array in (rounder, fine_rounder))
            rounded = builder.fsub(builder.fadd(item, large), large)
            rest = builder.fsub(item, rounded)
            rest = builder.fsub(builder.fadd(rest, small), small)
            for target, part in zip(targets, (rounded, rest), strict=True):
                store(target, j, builder.fadd(load(lanes, target, j), builder.fmul(part, sign)))

        def load_lanes(kind, pointer, j):
            return kind.load(builder.gep(pointer, [j]))

        def store_lanes(pointer, j, total):
            lanes.store(total, builder.gep(pointer, [j]))

        def load_item(kind, pointer, j):
            return builder.load(builder.gep(pointer, [j]))

        def store_item(pointer, j, total):
            builder.store(total, builder.gep(pointer, [j]))

        vectors = [lanes.splat(number) for number in numbers]
        length = builder.sub(last, first)
        whole = builder.sub(last, builder.srem(length, _int(lanes.count)))
        with cgutils.for_range_slice(builder, first, whole, _int(lanes.count)) as (j, _):
            add(load_lanes, store_lanes, vectors, j)
        with cgutils.for_range_slice(builder, whole, last, _int(1)) as (j, _):
            add(load_item, store_item, numbers, j)
        return context.get_dummy_value()

    return signature, generate


def _squares(context, builder, kind, x, first, last, lanes, scale=None):
    """Sum the squares of items, or of ``scale`` times them, in the type of ``lanes``."""
    raw = _Lanes(context, builder, kind.dtype, lanes.count)
    data = _array(context, builder, kind, x).data

    def item_at(load, kind, factor, j):
        item = load(builder.gep(data, [j]))
        if item.type != kind:
            item = builder.fpext(item, kind)
        return item if factor is None else builder.fmul(item, factor)

    total = lanes.accumulator()
    whole = builder.sub(last, builder.srem(builder.sub(last, first), _int(lanes.count)))
    factors = None if scale is None else lanes.splat(scale)
    with cgutils.for_range_slice(builder, first, whole, _int(lanes.count)) as (j, _):
        part = item_at(raw.load, lanes.vector, factors, j)
        lanes.add_product(part, part, total)
    tail = cgutils.alloca_once_value(builder, lanes.fold(builder.load(total), builder.fadd))
    with cgutils.for_range_slice(builder, whole, last, _int(1)) as (j, _):
        item = item_at(builder.load, lanes.vector.element, scale, j)
        builder.store(builder.fadd(builder.load(tail), builder.fmul(item, item)), tail)
    return builder.load(tail)


@intrinsic
def sum_of_squares(typing, x, first, last):
    """``sum_j x_j^2`` over items ``first`` to ``last`` of a C-contiguous array, in its dtype."""
    signature = x.dtype(x, types.int64, types.int64)

    def generate(context, builder, signature, args):
        lanes = _Lanes(context, builder, signature.args[0].dtype)
        return _squares(context, builder, signature.args[0], *args, lanes)

    return signature, generate


@intrinsic
def sum_of_scaled_squares(typing, x, first, last, scale):
    """``sum_j (scale x_j)^2`` over items ``first`` to ``last``, in float64."""
    signature = types.float64(x, types.int64, types.int64, types.float64)

    def generate(context, builder, signature, args):
        lanes = _Lanes(context, builder, types.float64)
        return _squares(context, builder, signature.args[0], *args[:3], lanes, args[3])

    return signature, generate


# The smallest normal float64: smaller numbers have fewer digits, and are taken for it.
SMALLEST = float(np.finfo(np.float64).tiny)

# A float64 is m * 2^e, its bits the exponent e + 1023 above the 52 of its mantissa m.
_ONE = np.float64(1.0).view(np.uint64)
_LEAST = np.float64(np.sqrt(0.5)).view(np.uint64)  # of m
_TO_LEAST = np.uint64(_ONE - _LEAST)
_MANTISSA = np.uint64((1 << 52) - 1)
_SHIFT = np.uint64(52)
_WHOLE = np.float64(2.0**52).view(np.uint64)  # or-ed to an integer below it, makes it a float
_BIAS = 2.0**52 + 1023.0
# log 2 in two parts: the first has so few bits that its products with exponents are exact.
_LN2_HIGH = float(np.round(np.log(2.0) * 2.0**32) / 2.0**32)
_LN2_LOW = 0.6931471805599453094172 - _LN2_HIGH + 2.3190468138462996e-17


@intrinsic
def _bits(typing, number):
    """Return the bits of a float64."""
    return types.uint64(types.float64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.IntType(64)
    )


@intrinsic
def _float(typing, bits):
    """Return the float64 with these bits."""
    return types.float64(types.uint64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.DoubleType()
    )


@intrinsic
def _fused(typing, a, b, c):
    """Return ``a b + c``, rounded once where the machine can."""

    def generate(context, builder, signature, args):
        a, b, c = args
        return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

    return types.float64(types.float64, types.float64, types.float64), generate


@inlined
def log(x):
    """Return the logarithm of x; of the smallest normal number where x is smaller than that."""
    bits = _bits(max(x, SMALLEST)) + _TO_LEAST
    exponent = _float((bits >> _SHIFT) | _WHOLE) - _BIAS
    f = _float((bits & _MANTISSA) + _LEAST) - 1.0
    s = f / (2.0 + f)
    z = s * s
    rest = _fused(z, 1.479819860511658591e-01, 1.531383769920937332e-01)
    rest = _fused(z, rest, 1.818357216161805012e-01)
    rest = _fused(z, rest, 2.222219843214978396e-01)
    rest = _fused(z, rest, 2.857142874366239149e-01)
    rest = _fused(z, rest, 3.999999999940941908e-01)
    rest = _fused(z, rest, 6.666666666666735130e-01)
    return exponent * _LN2_HIGH + (2.0 * s + _fused(s * z, rest, exponent * _LN2_LOW))
