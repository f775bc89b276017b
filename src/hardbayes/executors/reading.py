"""A checked matrix as the kernels read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from hardbayes.kernels.rows import DenseRows, SparseRows
from hardbayes.matrices import chunks, is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.frame import Frame
    from hardbayes.geometry.base import Floats, Geometry
    from hardbayes.matrices import Matrix


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
    if isinstance(rows, SparseRows):
        return geometry.sparse_potential(as_matrix(rows, n_columns))
    scale = np.broadcast_to(rows.scale, len(rows.values))[:, np.newaxis]
    return np.concatenate(
        [
            geometry.potential((rows.values[part] - rows.shift) * scale[part])
            for part in chunks(*rows.values.shape)
        ]
    )


def as_matrix(rows: SparseRows, n_columns: int) -> csr_array:
    """Return sparse rows in working coordinates, float64."""
    n = len(rows.starts) - 1
    scale = np.broadcast_to(rows.scale, n)
    values = rows.values * np.repeat(scale, np.diff(rows.starts))
    return csr_array((values, rows.columns, rows.starts), (n, n_columns))
