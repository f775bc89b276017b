"""A checked matrix as the kernels read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from hardbayes.kernels.partition.rows import DenseRows, SparseRows
from hardbayes.matrices import chunks, is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.problems.frame import Frame


def read_only(array: NDArray) -> NDArray:
    """Return a read-only view, so that every kernel compiles for one kind of array."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def framed_rows(matrix: Matrix, geometry: Geometry, frame: Frame) -> DenseRows | SparseRows:
    """Return the rows of a matrix as the kernels read them."""
    if geometry.row_unit is not None:
        scale = 1.0 / geometry.row_sizes(matrix)
    else:
        scale = np.array([frame.scale])
    if is_sparse(matrix):
        return SparseRows(
            read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr), scale
        )
    return DenseRows(read_only(matrix), frame.shift, scale)


def row_constants(rows: DenseRows | SparseRows, geometry: Geometry, n_columns: int) -> Floats:
    """Return ``phi(x)`` of each row, or one zero where costs are squared distances."""
    if geometry.squared_distance:
        return np.zeros(1)
    potential = geometry.potential if isinstance(rows, DenseRows) else geometry.sparse_potential
    shape = number_of(rows), n_columns
    return np.concatenate(
        [
            potential(working_rows(rows, shape, part))
            for part in chunks(shape[0], entries_per_row(rows, shape))
        ]
    )


def number_of(rows: DenseRows | SparseRows) -> int:
    """Return the number of rows."""
    return len(rows.values) if isinstance(rows, DenseRows) else len(rows.starts) - 1


def entries_per_row(rows: DenseRows | SparseRows, shape: tuple[int, int]) -> int:
    """Return how many numbers a row holds, in the mean."""
    return shape[1] if isinstance(rows, DenseRows) else max(1, len(rows.values) // shape[0])


def working_rows(
    rows: DenseRows | SparseRows, shape: tuple[int, int], which: slice | NDArray[np.intp]
) -> Matrix:
    """Return some rows in working coordinates (m, d) float64, as CSR where they are sparse."""
    scale = np.broadcast_to(rows.scale, shape[0])[which]
    if isinstance(rows, DenseRows):
        return (rows.values[which] - rows.shift) * scale[:, np.newaxis]
    part = csr_array((rows.values, rows.columns, rows.starts), shape)[which]
    values = part.data * np.repeat(scale, np.diff(part.indptr))
    return csr_array((values, part.indices, part.indptr), part.shape)
