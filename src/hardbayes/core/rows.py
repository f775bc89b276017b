"""Rows as compiled functions read them: dense or sparse, seen in working coordinates.

Working coordinates are ``(value - shift) * scale``: for distances a round shift and a power of two,
so that neither changes a bit; for histograms no shift and one over the row's sum. Rows are
transformed as they are read, so the data is never copied.

A function with a docstring alone has an overload for each kind of rows, which numba chooses when it
compiles the caller: kernels are written once, for both.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.core.arrays import Centres, Floats, Matrix, is_sparse
from hardbayes.core.compiling import INLINE, inlined, kernel
from hardbayes.core.simd.scores import (
    read_lanes,
    score_quad,
    score_row_1,
    score_row_2,
    score_row_3,
    score_row_4,
)
from hardbayes.core.simd.vectors import QUAD, inner_product, squared_distance, sum_of_scaled_squares

EPSILON = float(np.finfo(np.float64).eps)  # twice the rounding of one operation in float64
ROUNDINGS = 8  # of a score, beside those of its products
RUN = 256  # rows whose bounds are looked at together


class DenseRows(NamedTuple):
    """Rows of a C-contiguous matrix."""

    values: np.ndarray  # (n, d), float32 or float64, read-only
    shift: np.ndarray  # (d,) float64
    scale: np.ndarray  # (n,) float64, or (1,) for all rows alike


class SparseRows(NamedTuple):
    """Rows of a CSR matrix with sorted, unique column indices."""

    values: np.ndarray  # (nnz,), float32 or float64, read-only
    columns: np.ndarray  # (nnz,) int32 or int64, read-only
    starts: np.ndarray  # (n + 1,) like columns
    scale: np.ndarray  # (n,) float64, or (1,) for all rows alike


class Batch(NamedTuple):
    """Room for the rows that are scored together; one row at a time where rows are sparse."""

    x: np.ndarray  # (batch, d), the type of scores; left alone where rows are sparse
    smallest: np.ndarray  # (batch, blocks): least score in each cell, inf where not scored
    second: np.ndarray  # (batch, blocks): next to least
    place: np.ndarray  # (batch, blocks) int32: which slot of the cell has the least
    members: np.ndarray  # (batch + 3,) int64: rows of the batch that a block is scored for
    ids: np.ndarray  # (batch,) int64: row numbers
    cost: np.ndarray  # (batch,) float64: cost at the own centre, inf without one
    reach: np.ndarray  # (batch,) float32: distance to it, rounded up
    base: np.ndarray  # (batch,) float64: what turns a score into a cost
    error: np.ndarray  # (batch,) float64: by how much a score plus base may exceed the cost
    limit: np.ndarray  # (batch,) float64: scores above it cannot win
    near_ids: np.ndarray  # (RUN,) int64: rows that their cost at the own centre may decide
    open_ids: np.ndarray  # (RUN,) int64: rows that are to be scored
    open_costs: np.ndarray  # (RUN,) float64: what is known of their costs at the own centres


def new_batch(size: int, centres: Centres) -> Batch:
    """Allocate a batch for one thread."""
    blocks = centres.n_blocks
    d = centres.theta.shape[1]
    dtype = centres.theta.dtype
    return Batch(
        np.empty((size, d), dtype),
        np.empty((size, blocks), dtype),
        np.empty((size, blocks), dtype),
        np.empty((size, blocks), np.int32),
        np.empty(size + QUAD - 1, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size, np.float32),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(RUN, np.int64),
        np.empty(RUN, np.int64),
        np.empty(RUN),
    )


@inlined
def pick(values, i):
    """Return ``values[i]``, or the one value that stands for all rows."""
    return values[i] if values.shape[0] > 1 else values[0]


@inlined
def squared_gap(points, a, b):
    """Return the squared distance of rows a and b of a matrix."""
    square = 0.0
    for j in range(points.shape[1]):
        difference = points[a, j] - points[b, j]
        square += difference * difference
    return square


def read_row(rows, i, batch, r):
    """Return how many entries row i has, and the sum of their squares.

    OUT batch.ids[r] = i, and batch.x[r]: the entries of a dense row.
    """


def row_cost(rows, i, constants, centres, k):
    """Cost of row i at slot k in float64, by the direct formula."""


def score_blocks(rows, batch, n_members, centres, first, last, cell):
    """Score the first ``n_members`` of ``batch.members`` against blocks ``first`` to ``last``.

    OUT batch.smallest, batch.second, batch.place: of each ``cell`` blocks, beginning with the
    ``first``, which is a multiple of it; one where rows are sparse.
    """


def product(rows, i, vectors, k):
    """Inner product of row i with ``vectors[k]``, in float64."""


def entries(rows, i):
    """Return where the entries of row i begin and end; those of a dense row are its columns."""


def entry(rows, i, p, scale):
    """Return column and value of entry p of row i."""


def blend(rows, i, keep, take, centres, k):
    """OUT centres.exact[k] = keep * itself + take * row i, and its square in exact_offset[k]."""


@overload(read_row, jit_options=INLINE)
def _read_row(rows, i, batch, r):
    if rows.instance_class is DenseRows:

        def read(rows, i, batch, r):
            squares = read_lanes(rows.values, i, rows.shift, pick(rows.scale, i), batch.x, r)
            batch.ids[r] = i
            return np.int64(rows.values.shape[1]), np.float64(squares)

    else:
        kind = as_dtype(rows.types[0].dtype).type  # infinite where scores leave the range of theirs

        def read(rows, i, batch, r):
            start = np.int64(rows.starts[i])
            stop = np.int64(rows.starts[i + 1])
            squares = sum_of_scaled_squares(rows.values, start, stop, pick(rows.scale, i))
            batch.ids[r] = i
            return stop - start, np.float64(kind(squares))

    return read


@overload(product, jit_options=INLINE)
def _product(rows, i, vectors, k):
    if rows.instance_class is DenseRows:

        def multiply(rows, i, vectors, k):
            scale = pick(rows.scale, i)
            return inner_product(rows.values, i, rows.shift, scale, vectors, k)

    else:

        def multiply(rows, i, vectors, k):
            scale = pick(rows.scale, i)
            total = 0.0
            for p in range(rows.starts[i], rows.starts[i + 1]):
                total += rows.values[p] * scale * vectors[k, rows.columns[p]]
            return total

    return multiply


@overload(entries, jit_options=INLINE)
def _entries(rows, i):
    if rows.instance_class is DenseRows:
        return lambda rows, i: (np.int64(0), np.int64(rows.values.shape[1]))
    return lambda rows, i: (np.int64(rows.starts[i]), np.int64(rows.starts[i + 1]))


@overload(entry, jit_options=INLINE)
def _entry(rows, i, p, scale):
    if rows.instance_class is DenseRows:
        return lambda rows, i, p, scale: (p, (rows.values[i, p] - rows.shift[p]) * scale)
    return lambda rows, i, p, scale: (np.int64(rows.columns[p]), rows.values[p] * scale)


@overload(blend, jit_options=INLINE)
def _blend(rows, i, keep, take, centres, k):
    if rows.instance_class is DenseRows:

        def mix(rows, i, keep, take, centres, k):
            scale = pick(rows.scale, i)
            square = 0.0
            for j in range(rows.values.shape[1]):
                x = (rows.values[i, j] - rows.shift[j]) * scale
                c = keep * centres.exact[k, j] + take * x
                centres.exact[k, j] = c
                square += c * c
            centres.exact_offset[k] = square

    else:

        def mix(rows, i, keep, take, centres, k):
            scale = pick(rows.scale, i)
            for j in range(centres.exact.shape[1]):
                centres.exact[k, j] *= keep
            for p in range(rows.starts[i], rows.starts[i + 1]):
                centres.exact[k, rows.columns[p]] += take * (rows.values[p] * scale)
            square = 0.0
            for j in range(centres.exact.shape[1]):
                square += centres.exact[k, j] * centres.exact[k, j]
            centres.exact_offset[k] = square

    return mix


@inlined
def affine_cost(constant, offset, product, m):
    """Return ``constant + offset - product``, zero where that is within its rounding error.

    So a row costs nothing at a centre equal to it.
    """
    cost = constant + (offset - product)
    noise = (m + 8) * EPSILON * (abs(constant) + abs(offset) + abs(product))
    return cost if cost > noise else 0.0


@kernel
def sparse_squared_distance(rows, start, stop, scale, centres, k):
    """Return ``|x - c|^2``: directly where x has entries, |c|^2 less what they cover elsewhere.

    Where the entries cover nearly all of |c|^2 that difference would cancel, and the rest is summed
    column by column.
    """
    total = 0.0
    covered = 0.0
    for p in range(start, stop):
        c = centres.exact[k, rows.columns[p]]
        difference = rows.values[p] * scale - c
        total += difference * difference
        covered += c * c
    rest = centres.exact_offset[k] - covered
    if rest < 1e-3 * covered:
        rest = 0.0
        p = start
        for j in range(centres.exact.shape[1]):
            if p < stop and rows.columns[p] == j:
                p += 1
            else:
                rest += centres.exact[k, j] * centres.exact[k, j]
    return total + rest


@overload(row_cost, jit_options=INLINE)
def _row_cost(rows, i, constants, centres, k):
    if rows.instance_class is DenseRows:

        def cost(rows, i, constants, centres, k):
            scale = pick(rows.scale, i)
            if centres.squared:
                return squared_distance(rows.values, i, rows.shift, scale, centres.exact, k)
            return affine_cost(
                pick(constants, i), centres.exact_offset[k], product(rows, i, centres.exact, k),
                rows.values.shape[1],
            )  # fmt: skip

    else:

        def cost(rows, i, constants, centres, k):
            scale = pick(rows.scale, i)
            start = rows.starts[i]
            stop = rows.starts[i + 1]
            if centres.squared:
                return sparse_squared_distance(rows, start, stop, scale, centres, k)
            return affine_cost(
                pick(constants, i), centres.exact_offset[k], product(rows, i, centres.exact, k),
                stop - start,
            )  # fmt: skip

    return cost


@overload(score_blocks, jit_options=INLINE)
def _score_blocks(rows, batch, n_members, centres, first, last, cell):
    if rows.instance_class is DenseRows:

        def score(rows, batch, n_members, centres, first, last, cell):
            for u in range(QUAD - 1):  # a last group of fewer than four scores its last row again
                batch.members[n_members + u] = batch.members[n_members - 1]
            for block in range(first, last, cell):
                for member in range(0, n_members, QUAD):
                    score_quad(
                        batch.x, batch.members, member, centres.theta, block,
                        min(cell, last - block), centres.offset, batch.smallest, batch.second,
                        batch.place, block // cell,
                    )  # fmt: skip

    else:

        def score(rows, batch, n_members, centres, first, last, cell):
            i = batch.ids[0]
            start = rows.starts[i]
            stop = rows.starts[i + 1]
            scale = pick(rows.scale, i)
            block = first
            while block + 4 <= last:
                score_row_4(
                    rows.values, rows.columns, start, stop, scale, centres.theta, block,
                    centres.offset, batch.smallest, batch.second, batch.place,
                )  # fmt: skip
                block += 4
            if block + 3 == last:
                score_row_3(
                    rows.values, rows.columns, start, stop, scale, centres.theta, block,
                    centres.offset, batch.smallest, batch.second, batch.place,
                )  # fmt: skip
            elif block + 2 == last:
                score_row_2(
                    rows.values, rows.columns, start, stop, scale, centres.theta, block,
                    centres.offset, batch.smallest, batch.second, batch.place,
                )  # fmt: skip
            elif block + 1 == last:
                score_row_1(
                    rows.values, rows.columns, start, stop, scale, centres.theta, block,
                    centres.offset, batch.smallest, batch.second, batch.place,
                )  # fmt: skip

    return score


@inlined
def score_error(m, squares, base, centres):
    """Bound by how much a score plus base may exceed the cost, for a row with ``m`` entries.

    A sum of m products errs by at most m units in the last place of ``sum |x_j theta_j|``, which
    Cauchy and Schwarz bound; reading the row, rounding theta and the offset, and what turns the
    score into a cost, ``base``, add a few more. All this to first order. Where offsets are lowered,
    ``|x| |theta| <= |x|^2 + |c|^2``, and they make up for the second part.
    """
    if centres.lowered > 0:
        size = squares + abs(base)
        largest = size + 2.0 * centres.offset_bound
    else:
        size = np.sqrt(squares) * centres.theta_bound + centres.offset_bound + abs(base)
        largest = size
    if largest * centres.tiny > 0.01:  # scores, or sums on the way to them, may leave their type
        return np.inf
    return (m + ROUNDINGS) * (centres.precision * size + centres.tiny)


@inlined
def score_range(batch, r, centres, k):
    """Bound by how much the cost of a row at slot ``k`` may exceed its score plus base."""
    return 2.0 * (batch.error[r] + centres.lowered * abs(centres.exact_offset[k]))


KernelRows = DenseRows | SparseRows


def kernel_rows(matrix: Matrix, shift: Floats, scale: Floats) -> KernelRows:
    """Return the rows of a matrix, seen as ``(x - shift) * scale``; sparse ones are not shifted.

    ``scale`` is (n,), or (1,) for all rows.
    """
    if is_sparse(matrix):
        return SparseRows(
            read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr), scale
        )
    return DenseRows(read_only(matrix), shift, scale)


def read_only(array: NDArray) -> NDArray:
    """Return a read-only view, so that every kernel is compiled for one kind of array."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def entries_per_row(rows: KernelRows, shape: tuple[int, int]) -> int:
    """Return how many numbers a row holds, in the mean."""
    return shape[1] if isinstance(rows, DenseRows) else max(1, len(rows.values) // shape[0])


def working_rows(
    rows: KernelRows, shape: tuple[int, int], which: slice | NDArray[np.intp]
) -> Matrix:
    """Return some rows in working coordinates (m, d) float64, as CSR where they are sparse."""
    scale = np.broadcast_to(rows.scale, shape[0])[which]
    if isinstance(rows, DenseRows):
        return (rows.values[which] - rows.shift) * scale[:, np.newaxis]
    part = csr_array((rows.values, rows.columns, rows.starts), shape)[which]
    values = part.data * np.repeat(scale, np.diff(part.indptr))
    return csr_array((values, part.indices, part.indptr), part.shape)
