"""A checked matrix as the kernels read it, and rows of it in working coordinates."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.kernels.partition.rows import DenseRows, SparseRows
from hardbayes.matrices import Floats, Matrix, is_sparse

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
