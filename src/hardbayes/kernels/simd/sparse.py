"""Hand-written vector code for sparse rows: scores against blocks of centres.

``theta`` is (1, d, slots): each entry of a row reads one contiguous run of memory, its column of
theta for all centres, and the sums of a few blocks stay in registers from the first entry to the
last. Columns are far apart in memory, so most of the time goes into loading them; entries are
independent, so that the processor can have many loads in flight.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hardbayes.kernels.simd.vectors import _I64, _at, _int, _Lanes, _operands


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
