"""The types of data matrices, blocks of rows, and sums and lengths of rows."""

from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.floating]
Matrix: TypeAlias = Floats | sparse.csr_array

CHUNK_BYTES = 1 << 21
SAFE = (1e-250, 1e250)  # sums of squares that neither overflow nor underflow


def is_sparse(matrix: Matrix) -> TypeGuard[sparse.csr_array]:
    """Whether a matrix is stored as CSR."""
    return bool(sparse.issparse(matrix))


def chunks(n: int, d: int) -> list[slice]:
    """Return slices of n rows, each small enough to stay in cache as float64 (rows, d)."""
    size = max(1, CHUNK_BYTES // (8 * d))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def inverse_permutation(order: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """Return the index (n,) of each number in a permutation of 0 to n - 1."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=order.dtype)
    return places


def total_weight(weights: NDArray[np.floating], n_rows: int) -> float:
    """Return the sum of the weights (n,) of rows; (1,) is the weight of every row."""
    return float(weights.sum()) if len(weights) == n_rows else n_rows * float(weights[0])


def row_lengths(matrix: Matrix) -> NDArray[np.float64]:
    """Return the Euclidean length of each row in float64; squares may leave its range."""
    if is_sparse(matrix):
        n = matrix.shape[0]
        owner = np.repeat(np.arange(n), np.diff(matrix.indptr))
        values = np.abs(matrix.data, dtype=np.float64)
        largest = np.zeros(n)
        np.maximum.at(largest, owner, values)
        largest[largest == 0] = 1.0
        values /= largest[owner]
        return largest * np.sqrt(np.bincount(owner, values * values, n))
    lengths = []
    for rows in chunks(*matrix.shape):
        part = np.asarray(matrix[rows], np.float64)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", part, part)
        if squares.min() > SAFE[0] and squares.max() < SAFE[1]:
            lengths.append(np.sqrt(squares))
            continue
        part = np.abs(part)
        largest = part.max(axis=1)
        largest[largest == 0] = 1.0
        part /= largest[:, np.newaxis]
        lengths.append(largest * np.sqrt(np.einsum("ij,ij->i", part, part)))
    return np.concatenate(lengths)


def row_sums(matrix: Matrix) -> NDArray[np.float64]:
    """Return the sum of each row as float64; SciPy adds up sparse rows in their own dtype."""
    if is_sparse(matrix):
        return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    return np.concatenate(
        [matrix[rows].sum(axis=1, dtype=np.float64) for rows in chunks(*matrix.shape)]
    )
