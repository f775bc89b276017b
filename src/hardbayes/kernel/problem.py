"""From rows and a kernel, or a kernel matrix, to rows with kernel values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.pool import Pool, import_whole
from hardbayes.kernel.mercer import (
    MAX_ANCHORS,
    SEMIDEFINITE,
    Mercer,
    Seen,
    balancing_scales,
    mercer_for,
)

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelMatrix

MANY_ROWS = 1 << 13  # from which on a pass over all rows takes so long that few are made
MAX_HELD = 1 << 24  # kernel values that are held in memory: 128 MB
MAX_CHECKED = 512  # rows whose kernel matrix is checked for negative eigenvalues
NEGATIVE = 1e-8  # eigenvalues below minus this part of the largest are no rounding
LARGEST = 1e290  # sum of weighted kernel values: sums of two or three of them still fit
ASYMMETRIC = 1e-8  # differences of K_ij and K_ji above this part of the largest value
BLOCK_ROWS = 256  # of a dense matrix that are compared with its columns at a time


class KernelOptions(NamedTuple):
    """The parameters of a kernel."""

    kernel: str | Callable[..., Any]
    parameters: dict[str, Any]
    balance: bool

    @property
    def is_precomputed(self) -> bool:
        """Whether rows of X are kernel values."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def is_semidefinite(self) -> bool:
        """Whether the kernel has no negative eigenvalues, whatever the rows."""
        if self.kernel in ("poly", "polynomial"):
            return bool(self.parameters.get("coef0", 1) >= 0)
        return self.kernel in SEMIDEFINITE


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """Training rows of a kernel, or a kernel matrix."""

    options: KernelOptions
    weights: Floats  # (n,)
    anchors: NDArray[np.intp]  # rows from which a kernel is adapted, and a penalty chosen
    pool: Pool
    mercer: Mercer | None  # None where the matrix is given
    seen: Seen | None
    matrix: Matrix | None  # (n, n): the given one, perhaps balanced
    scales: Floats | None  # (n,): of a given matrix that was balanced
    shift: Floats | None = None  # (d,): subtracted from rows

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def is_sparse(self) -> bool:
        """Whether kernel values are those of a sparse matrix."""
        return self.matrix is not None and is_sparse(self.matrix)

    @property
    def self_value(self) -> float | None:
        """The kernel value of any row with itself, if a given matrix has the same for all."""
        if self.matrix is None:
            return None
        diagonal = self.matrix.diagonal()
        if self.scales is not None:
            diagonal = diagonal / self.scales**2
        return float(diagonal[0]) if np.ptp(diagonal) <= 1e-12 * np.abs(diagonal).max() else None

    @property
    def n_counted(self) -> int:
        """Number of rows that the anchors stand for, where weights are repetitions."""
        counts = None if self.mercer is None else self.mercer.anchor_counts
        return len(self.anchors) if counts is None else round(float(counts.sum()))

    @property
    def anchor_weights(self) -> Floats:
        """Weights of the anchors, with the sum that all rows have."""
        own = self.weights[self.anchors]
        return own * (self.weights.sum() / own.sum())

    @cached_property
    def rows(self) -> KernelMatrix:
        """The rows with their kernel values: held in memory where there are few."""
        import_whole("hardbayes.kernel.clusters")
        from hardbayes.kernel.clusters import KernelMatrix, hold

        if self.matrix is not None:
            values, diagonal = hold(self.matrix), np.array(self.matrix.diagonal())
        else:
            values, diagonal = self._values, self._diagonal()
            # Of an inner product no value is larger than those on the diagonal.
            check_values(float(np.abs(diagonal).max()), float(self.weights.sum()))
            if self.n * self.n <= MAX_HELD:
                computed = KernelMatrix(values, diagonal, self.weights, self.pool)
                values = hold(computed.whole())
        return KernelMatrix(values, diagonal, self.weights, self.pool)

    def _values(self, ids: Any, columns: Any) -> Floats:
        assert self.mercer is not None and self.seen is not None
        right = self.seen if columns is None else self.seen.take(columns)
        return self.mercer.between(self.seen.take(ids), right)

    def _diagonal(self) -> Floats:
        assert self.mercer is not None and self.seen is not None
        return self.mercer.diagonal(self.seen)

    def negative_eigenvalue(self, rng: np.random.RandomState) -> float | None:
        """Return a negative eigenvalue of the kernel matrix of some rows, if it has one.

        The whole matrix then has one that is as low, or lower.
        """
        if self.options.is_semidefinite:
            return None
        ids = np.arange(self.n)
        if self.n > MAX_CHECKED:
            ids = np.sort(rng.choice(self.n, MAX_CHECKED, replace=False))
        found = np.linalg.eigvalsh(self.rows.values(ids, ids))
        return float(found[0]) if found[0] < -NEGATIVE * np.abs(found).max() else None


def make_problem(
    matrix: Matrix,
    weights: Floats | None,
    options: KernelOptions,
    rng: np.random.RandomState,
    pool: Pool,
    max_anchors: int = MAX_ANCHORS,
    given: NDArray[np.intp] | None = None,
    may_shift: bool = True,
) -> KernelProblem:
    """Return the problem of checked rows, or for a checked kernel matrix.

    ``given``: the rows from which a kernel is adapted; None draws them. ``may_shift``: whether the
    linear kernel may have its origin at the mean.
    """
    n = matrix.shape[0]
    every = np.array(np.broadcast_to(1.0 if weights is None else weights, n))
    anchors = np.flatnonzero(every > 0) if given is None else given
    if len(anchors) > max_anchors:
        anchors = np.sort(rng.choice(anchors, max_anchors, replace=False))
    matrix = matrix.astype(np.float64)
    values = matrix.data if is_sparse(matrix) else matrix
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if options.is_precomputed:
        check_kernel_matrix(matrix)
        check_values(largest, float(every.sum()))
        scales = None
        if options.balance:
            scales = balancing_scales(matrix, every)
            diagonal = sparse.diags_array(scales)
            matrix = (
                sparse.csr_array(diagonal @ matrix @ diagonal)
                if is_sparse(matrix)
                else matrix * scales * scales[:, np.newaxis]
            )
        return KernelProblem(options, every, anchors, pool, None, None, matrix, scales)
    SquaredEuclidean().check_scale(matrix.shape[1], float(every.sum()), largest)
    shift = None
    is_linear = options.kernel == "linear" and not options.balance
    if is_linear and may_shift and not is_sparse(matrix):
        # Distances do not change, but what is subtracted becomes smaller, and so does rounding.
        shift = np.average(matrix, axis=0, weights=every)
        matrix -= shift
    own = every[anchors]
    counts = own / min(1.0, float(own.mean()))  # weights that sum to one are not meant as numbers
    weighty = own * (every.sum() / own.sum())
    mercer = mercer_for(*options, matrix[anchors], counts, weighty)
    return KernelProblem(
        options, every, anchors, pool, mercer, mercer.see(matrix), None, None, shift
    )


def check_values(largest: float, weight: float) -> None:
    """Raise where sums of kernel values do not fit float64.

    ``largest``: absolute value; ``weight``: of all rows.
    """
    if not largest * max(1.0, weight) ** 2 < LARGEST:
        raise ValueError(
            f"Sums of kernel values do not fit float64: they reach {largest:g}. Scale X, or the "
            "kernel matrix, down."
        )
    if 0 < largest < 1.0 / LARGEST:
        raise ValueError(
            f"Kernel values do not fit float64: the largest is {largest:g}. Scale X, or the kernel "
            "matrix, up."
        )


def check_kernel_matrix(matrix: Matrix) -> None:
    """Raise unless a matrix is square and symmetric, up to rounding."""
    n, n_columns = matrix.shape
    if n != n_columns:
        raise ValueError(
            'With kernel="precomputed" X must be a square matrix of kernel values, one row and '
            f"column for each sample. Got shape {matrix.shape}."
        )
    if is_sparse(matrix):
        gaps = abs(matrix - matrix.T).tocoo()
        largest = abs(matrix).max()
        if gaps.nnz and gaps.max() > ASYMMETRIC * largest:
            at = int(np.argmax(gaps.data))
            _refuse_asymmetric(matrix, int(gaps.row[at]), int(gaps.col[at]))
        return
    largest = max(float(matrix.max()), -float(matrix.min()))
    for start in range(0, n, BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        gaps = np.abs(matrix[part] - matrix[:, part].T)
        if gaps.max() > ASYMMETRIC * largest:
            row, column = np.unravel_index(np.argmax(gaps), gaps.shape)
            _refuse_asymmetric(matrix, start + int(row), int(column))


def _refuse_asymmetric(matrix: Matrix, row: int, column: int) -> None:
    raise ValueError(
        f"The kernel matrix must be symmetric. Got {matrix[row, column]:g} at row {row}, column "
        f"{column}, and {matrix[column, row]:g} in the opposite place. Pass (K + K.T) / 2."
    )
