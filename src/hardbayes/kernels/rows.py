"""What a row is to a kernel: dense or sparse, seen in working coordinates.

Working coordinates are ``(value - shift) * scale``: for distances a round shift and a power of two, so that
neither changes a bit; for histograms no shift and one over the row's sum. Rows are transformed
as they are read, so the data is never copied.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from hardbayes.kernels.compiling import OPTIONS, kernel
from hardbayes.kernels.lanes import score_one, score_quad


class DenseRows(NamedTuple):
    """Rows of a C-contiguous matrix."""

    values: np.ndarray  # (n, d), float32 or float64, read-only
    shift: np.ndarray  # (d,), same dtype
    scale: np.ndarray  # (n,) float64, or (1,) for all rows alike


class SparseRows(NamedTuple):
    """Rows of a CSR matrix with sorted, unique column indices."""

    values: np.ndarray  # (nnz,), float32 or float64, read-only
    columns: np.ndarray  # (nnz,) int32 or int64, read-only
    starts: np.ndarray  # (n + 1,) like columns
    scale: np.ndarray  # (n,) float64, or (1,) for all rows alike


class Centres(NamedTuple):
    """Centres laid out for the kernels: ``blocks`` of ``L`` slots; a dead slot scores inf."""

    theta: np.ndarray  # (blocks, d, L), the data's dtype
    offset: np.ndarray  # (slots,), the data's dtype; inf marks a dead slot
    exact: np.ndarray  # (slots, d) float64: centres if squared, else theta
    exact_offset: np.ndarray  # (slots,) float64
    rank: np.ndarray  # (slots,) int64: order of creation; -1 marks a dead slot
    squared: bool  # costs are squared distances
    theta_bound: float  # largest norm of a theta
    offset_bound: float  # largest absolute finite offset


@kernel
def pick(values, i):
    """Return ``values[i]``, or the one value that stands for all rows."""
    return values[i] if values.shape[0] > 1 else values[0]


def read_row(rows, i, x, exact, columns):
    """OUT x, exact, columns: the stored entries of row ``i``; returns how many."""


def row_cost(rows, centres, constant, exact, columns, m, k):
    """Cost of the row in (exact, columns, m) at slot ``k``, in float64 by the direct formula."""


@overload(read_row, jit_options=OPTIONS)
def _read_row(rows, i, x, exact, columns):
    if rows.instance_class is DenseRows:

        def read(rows, i, x, exact, columns):
            values = rows.values[i]
            shift = rows.shift
            scale = pick(rows.scale, i)
            for j in range(values.shape[0]):
                value = np.float64(values[j] - shift[j]) * scale
                exact[j] = value
                x[j] = value
            return values.shape[0]

    else:

        def read(rows, i, x, exact, columns):
            start = rows.starts[i]
            m = rows.starts[i + 1] - start
            scale = pick(rows.scale, i)
            for p in range(m):
                value = np.float64(rows.values[start + p]) * scale
                exact[p] = value
                x[p] = value
                columns[p] = rows.columns[start + p]
            return np.int64(m)

    return read


@kernel
def squared_distance(x, c):
    """Return ``|x - c|^2``; eight partial sums so that the additions need not wait for each other."""
    d = x.shape[0]
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = d - d % 8
    for j in range(0, whole, 8):
        t0 = x[j] - c[j]
        t1 = x[j + 1] - c[j + 1]
        t2 = x[j + 2] - c[j + 2]
        t3 = x[j + 3] - c[j + 3]
        t4 = x[j + 4] - c[j + 4]
        t5 = x[j + 5] - c[j + 5]
        t6 = x[j + 6] - c[j + 6]
        t7 = x[j + 7] - c[j + 7]
        s0 += t0 * t0
        s1 += t1 * t1
        s2 += t2 * t2
        s3 += t3 * t3
        s4 += t4 * t4
        s5 += t5 * t5
        s6 += t6 * t6
        s7 += t7 * t7
    for j in range(whole, d):
        t0 = x[j] - c[j]
        s0 += t0 * t0
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@kernel
def sum_of_squares(x, m):
    """Return ``sum_p x[p]^2`` over the first ``m`` entries."""
    s0 = s1 = s2 = s3 = 0.0
    whole = m - m % 4
    for p in range(0, whole, 4):
        s0 += x[p] * x[p]
        s1 += x[p + 1] * x[p + 1]
        s2 += x[p + 2] * x[p + 2]
        s3 += x[p + 3] * x[p + 3]
    for p in range(whole, m):
        s0 += x[p] * x[p]
    return (s0 + s1) + (s2 + s3)


@overload(row_cost, jit_options=OPTIONS)
def _row_cost(rows, centres, constant, exact, columns, m, k):
    if rows.instance_class is DenseRows:

        def cost(rows, centres, constant, exact, columns, m, k):
            c = centres.exact[k]
            if centres.squared:
                return squared_distance(exact, c)
            product = 0.0
            for j in range(m):
                product += exact[j] * c[j]
            return max(0.0, constant + (centres.exact_offset[k] - product))

    else:

        def cost(rows, centres, constant, exact, columns, m, k):
            c = centres.exact[k]
            if centres.squared:
                total = centres.exact_offset[k]
                for p in range(m):
                    total += exact[p] * (exact[p] - 2.0 * c[columns[p]])
                return max(0.0, total)
            product = 0.0
            for p in range(m):
                product += exact[p] * c[columns[p]]
            return max(0.0, constant + (centres.exact_offset[k] - product))

    return cost


class Batch(NamedTuple):
    """Room for the rows that are scored together; one row at a time where rows are sparse."""

    x: np.ndarray  # (batch, d), the data's dtype
    exact: np.ndarray  # (d,) float64: the row read last
    columns: np.ndarray  # (d,) int64: its columns
    scores: np.ndarray  # (batch, slots), the data's dtype
    smallest: np.ndarray  # (batch, blocks): least score in each block, inf where not scored
    members: np.ndarray  # (batch + 3,) int64: rows of the batch that a block is scored for
    ids: np.ndarray  # (batch,) int64: row numbers
    cost: np.ndarray  # (batch,) float64: cost at the own centre, inf without one
    reach: np.ndarray  # (batch,) float32: distance to it, rounded up
    squares: np.ndarray  # (batch,) float64: |x|^2
    error: np.ndarray  # (batch,) float64: bound on the error of a score
    limit: np.ndarray  # (batch,) float64: scores above it cannot win


def new_batch(size: int, centres: Centres) -> Batch:
    """Allocate a batch for one thread."""
    blocks, d, lanes = centres.theta.shape
    dtype = centres.theta.dtype
    return Batch(
        np.empty((size, d), dtype),
        np.empty(d),
        np.arange(d),
        np.empty((size, blocks * lanes), dtype),
        np.empty((size, blocks), dtype),
        np.empty(size + 3, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size, np.float32),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )


def score_block(rows, batch, n_members, m, centres, block):
    """Score the first ``n_members`` of ``batch.members`` against one block; OUT batch.scores, batch.smallest.

    ``m``: entries of the row, where rows are sparse and the batch is that one row.
    """


@overload(score_block, jit_options=OPTIONS)
def _score_block(rows, batch, n_members, m, centres, block):
    if rows.instance_class is DenseRows:

        def score(rows, batch, n_members, m, centres, block):
            _, d, lanes = centres.theta.shape
            for u in range(3):  # a last group of fewer than four scores its last row again
                batch.members[n_members + u] = batch.members[n_members - 1]
            for first in range(0, n_members, 4):
                score_quad(
                    batch.x, batch.members, first, centres.theta, block * d * lanes,
                    centres.offset, block * lanes, batch.scores, block, batch.smallest,
                )  # fmt: skip

    else:

        def score(rows, batch, n_members, m, centres, block):
            _, d, lanes = centres.theta.shape
            batch.smallest[0, block] = score_one(
                batch.x[0], batch.columns, m, centres.theta, block * d * lanes,
                centres.offset, block * lanes, batch.scores[0],
            )  # fmt: skip

    return score


@kernel
def score_error(x, m, squares, centres):
    """Bound on the rounding error of any score of this row, first order in the working precision.

    A sum of m products errs by at most m units in the last place of ``sum |x_j theta_j|``, which Cauchy and
    Schwarz bound; reading the row, rounding theta and the offset add a few more.
    """
    unit = np.finfo(x.dtype).eps
    size = np.sqrt(squares) * centres.theta_bound + centres.offset_bound + squares
    return (m + 8) * unit * size
