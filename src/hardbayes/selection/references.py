"""Data without structure, else as much like the given data as can be.

What a plateau must stand out from. The idea is the gap statistic's (Tibshirani, Walther & Hastie
2001).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from hardbayes.geometry.base import Floats, Geometry
    from hardbayes.matrices import Matrix


def structureless(
    matrix: Matrix, geometry: Geometry, number: int, rng: np.random.RandomState
) -> Matrix:
    """Draw rows like those of ``matrix``, but of one kind; ``number`` counts the draws.

    Rows of numbers from 0 to 1 have beta distributed columns with the data's means and variances.
    Sparse rows, and rows of numbers >= 0 that are mostly zeros, keep their entries, in columns
    shuffled among all entries. Other rows of numbers >= 0 have gamma distributed columns with the
    data's means and variances. The rest is drawn in turns from a Gaussian with the data's
    covariance and from the box that the data span along its principal axes; directions are those
    of rows of length one.
    """
    if is_sparse(matrix):
        return _shuffled(matrix, rng, 1.0 if geometry.unit_interval else None)
    if geometry.unit_interval:
        return _betas(matrix, rng).astype(matrix.dtype)
    if geometry.nonnegative and 2 * np.count_nonzero(matrix) < matrix.size:
        return _shuffled(csr_array(matrix), rng).toarray()
    if geometry.row_unit is not None:  # only what is left of rows without their size counts
        matrix = matrix / geometry.row_sizes(matrix)[:, np.newaxis]
    if not geometry.nonnegative:
        return _one_cloud(matrix, number % 2 == 0, rng).astype(matrix.dtype)
    drawn = _gammas(matrix, rng).astype(matrix.dtype)
    if not geometry.takes_zeros:  # nor what a gamma of small shape rounds to zero
        np.maximum(drawn, matrix.min(axis=0), out=drawn)
    return drawn


def _shuffled(
    matrix: csr_array, rng: np.random.RandomState, largest: float | None = None
) -> csr_array:
    """Give the entries columns at random, as often as each column has entries.

    Two in one cell add up, to ``largest`` at most.
    """
    columns = rng.permutation(matrix.indices)
    drawn = csr_array((matrix.data.copy(), columns, matrix.indptr.copy()), matrix.shape)
    drawn.sum_duplicates()
    if largest is not None:
        np.minimum(drawn.data, largest, out=drawn.data)
    return drawn


def _gammas(matrix: Floats, rng: np.random.RandomState) -> Floats:
    """Draw independent columns; those that do not vary stay as they are."""
    mean, variance = matrix.mean(axis=0, dtype=np.float64), matrix.var(axis=0, dtype=np.float64)
    varies = variance > 0
    drawn = np.tile(mean, (len(matrix), 1))
    shape = mean[varies] ** 2 / variance[varies]
    drawn[:, varies] = rng.gamma(shape, mean[varies] / shape, (len(matrix), len(shape)))
    return drawn


def _betas(matrix: Floats, rng: np.random.RandomState) -> Floats:
    """Draw independent columns of shares: zeros and ones where the data hold nothing else."""
    mean, variance = matrix.mean(axis=0, dtype=np.float64), matrix.var(axis=0, dtype=np.float64)
    drawn = (rng.random_sample(matrix.shape) < mean).astype(np.float64)
    spread = mean * (1 - mean)
    inner = (variance > 0) & (variance < (1 - 1e-9) * spread)
    size = spread[inner] / variance[inner] - 1.0
    drawn[:, inner] = rng.beta(
        mean[inner] * size, (1 - mean[inner]) * size, (len(matrix), len(size))
    )
    drawn[:, variance == 0] = mean[variance == 0]
    return drawn


def _one_cloud(matrix: Floats, gaussian: bool, rng: np.random.RandomState) -> Floats:
    mean = matrix.mean(axis=0, dtype=np.float64)
    centred = matrix - mean
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    n = len(matrix)
    if gaussian:
        along = rng.standard_normal((n, len(lengths))) * (lengths / np.sqrt(n))
    else:
        spans = centred @ axes.T
        along = rng.uniform(spans.min(axis=0), spans.max(axis=0), (n, len(lengths)))
    return mean + along @ axes
