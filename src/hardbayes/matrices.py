"""The one type of a data matrix, and how to go through its rows."""

from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Matrix: TypeAlias = NDArray[np.floating] | sparse.csr_array

CHUNK_BYTES = 1 << 21


def is_sparse(matrix: Matrix) -> TypeGuard[sparse.csr_array]:
    """Whether a matrix is stored as CSR."""
    return bool(sparse.issparse(matrix))


def chunks(n: int, d: int) -> list[slice]:
    """Return slices of n rows, each small enough to stay in cache as (rows, d) doubles."""
    size = max(1, CHUNK_BYTES // (8 * d))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def row_sums(matrix: Matrix) -> NDArray[np.float64]:
    """Return the sum of each row in float64."""
    if is_sparse(matrix):
        return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    return np.concatenate(
        [matrix[rows].sum(axis=1, dtype=np.float64) for rows in chunks(*matrix.shape)]
    )
