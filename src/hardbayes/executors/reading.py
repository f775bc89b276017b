"""A checked matrix as the kernels read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.kernels.rows import DenseRows, SparseRows
from hardbayes.matrices import chunks, is_sparse, row_sums

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
    if geometry.normalise_rows:
        scale = 1.0 / row_sums(matrix)
    else:
        scale = np.array([frame.scale])
    if is_sparse(matrix):
        return SparseRows(
            read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr), scale
        )
    return DenseRows(read_only(matrix), frame.shift, scale)


def row_constants(rows: DenseRows | SparseRows, geometry: Geometry) -> Floats:
    """Return ``sum_j phi(x_j)`` of each row, or one zero where costs are squared distances."""
    if geometry.squared_distance:
        return np.zeros(1)
    if isinstance(rows, SparseRows):
        n = len(rows.starts) - 1
        owner = np.repeat(np.arange(n), np.diff(rows.starts))
        values = rows.values * np.broadcast_to(rows.scale, n)[owner]
        return np.asarray(np.bincount(owner, geometry.generator(values), n), np.float64)
    scale = np.broadcast_to(rows.scale, len(rows.values))[:, np.newaxis]
    return np.concatenate(
        [geometry.potential(rows.values[part] * scale[part]) for part in chunks(*rows.values.shape)]
    )
