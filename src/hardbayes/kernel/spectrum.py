"""The spectral relaxation of DP-means (Kulis & Jordan 2012, section 5.1).

With Y the normalised indicators of clusters and M the weighted kernel ``W^1/2 K W^1/2``, the
objective is ``tr M - tr Y'(M - penalty I)Y`` (Lemma 5.1). Over all orthonormal Y it is least for
the eigenvectors of M whose eigenvalues exceed the penalty (Theorem 5.2): a lower bound. Rows with
features are the case in which the kernel is their inner product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, qr, svd
from scipy.sparse.linalg import LinearOperator, eigsh

from hardbayes.core.arrays import Floats, is_sparse
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import one_blas_thread

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelMatrix

MAX_DENSE = 1 << 12  # rows up to which all of the kernel matrix is held
BLOCK_ROWS = 1 << 11  # of many rows, whose eigenvalues are added up to a bound
FIRST_VECTORS = 16  # that Lanczos iterations look for; then twice as many, and so on
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # of an eigenvalue, by rows and the largest one

# Leading eigenvectors of a balanced kernel: by inverse iteration where there are more rows.
FEW_ROWS = 256
BESIDE = 8  # vectors that are iterated beside those that are wanted
ROUNDS = 12  # at most
SETTLED = 0.01  # change of a cut in a round, by the cut, with which it ends


class Spectrum(NamedTuple):
    """Eigenvalues of the weighted kernel matrix above a penalty, falling, and what else bounds."""

    values: Floats  # (r,)
    vectors: Floats  # (n, r)
    trace: float
    largest: float  # eigenvalue, also where none is above the penalty


def weighted_matrix(rows: KernelMatrix) -> Floats:
    """Return ``W^1/2 K W^1/2`` (n, n)."""
    roots = np.sqrt(rows.weights)
    matrix = rows.whole() * roots * roots[:, np.newaxis]
    return (matrix + matrix.T) / 2.0


def spectrum_above(rows: KernelMatrix, penalty: float, rng: np.random.RandomState) -> Spectrum:
    """Return the eigenvalues above a penalty: by value, or by Lanczos iterations of many rows."""
    n = rows.n
    trace = float(np.sum(rows.weights * rows.diagonal))
    if n <= MAX_DENSE:
        matrix = weighted_matrix(rows)
        with one_blas_thread():
            values, vectors = eigh(matrix, subset_by_value=(penalty, np.inf))
            if not len(values):
                largest = float(eigh(matrix, eigvals_only=True, subset_by_index=[n - 1, n - 1])[0])
                return Spectrum(values, vectors, trace, largest)
    else:
        roots = np.sqrt(rows.weights)
        values, vectors = lanczos_above(
            penalty, n, lambda v: roots * rows.times((roots * v)[:, np.newaxis])[:, 0], rng
        )
    order = np.argsort(-values, kind="stable")
    above = order[values[order] > penalty]
    return Spectrum(values[above], vectors[:, above], trace, float(values[order[0]]))


def leading(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the leading eigenvalues, falling, and vectors of a matrix whose largest is one.

    Of many rows by inverse iteration of a block of vectors: one factorisation takes less than all
    steps towards a tridiagonal matrix.
    """
    n = len(matrix)
    with one_blas_thread():
        if n > FEW_ROWS:
            shifted = -matrix
            shifted[np.diag_indices(n)] += 1.0 + 1e-6
            try:
                factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
                return _inverse_iteration(matrix, factor, count)
            except LinAlgError:  # an eigenvalue above one
                pass
        values, vectors = eigh(matrix, subset_by_index=[max(0, n - count), n - 1])
    return values[::-1], vectors[:, ::-1]


def _inverse_iteration(
    matrix: Floats, factor: tuple[Floats, bool], count: int
) -> tuple[Floats, Floats]:
    block = np.random.RandomState(0).standard_normal((len(matrix), count + BESIDE))
    cuts = np.full(count, np.inf)
    for _ in range(ROUNDS):
        for _ in range(2):
            block = np.linalg.qr(cho_solve(factor, block, check_finite=False))[0]
        inner = block.T @ (matrix @ block)
        values, turned = np.linalg.eigh((inner + inner.T) / 2.0)
        values, block = values[::-1], block @ turned[:, ::-1]
        before, cuts = cuts, 1.0 - values[:count]
        if (np.abs(cuts - before) <= SETTLED * np.maximum(cuts, 1e-6)).all():
            break
    return values[:count], block[:, :count]


def lanczos_above(
    penalty: float, n: int, multiply: Callable[[Floats], Floats], rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Return leading eigenvalues until one is not above the penalty, and their vectors (n, r).

    ``multiply``: a vector (n,) with the matrix.
    """
    operator = LinearOperator((n, n), lambda v: multiply(v.ravel()), dtype=np.float64)
    start, count = rng.standard_normal(n), FIRST_VECTORS
    if not multiply(start).any():  # a matrix of zeros, of which Lanczos iterations find nothing
        return np.zeros(1), np.full((n, 1), 1.0 / np.sqrt(n))
    while True:
        count = min(count, n - 1)
        values, vectors = eigsh(operator, count, which="LA", v0=start)
        if values.min() <= penalty or count == n - 1:
            return values, vectors
        count *= 2


def summed_spectrum(rows: KernelMatrix, penalty: float, rng: np.random.RandomState) -> Spectrum:
    """Return sums of the eigenvalues of blocks of rows, without vectors: `lower_bound` holds.

    For many rows of a positive semidefinite kernel. A cluster without the rows of other blocks has
    a mean of its own and costs no more. So k clusters cost at least the sum, over the blocks, of
    the trace minus the k largest eigenvalues.
    """
    heavy = rng.permutation(np.flatnonzero(rows.weights > 0))
    sums = np.zeros(BLOCK_ROWS)
    for ids in np.array_split(heavy, -(-len(heavy) // BLOCK_ROWS)):
        block = weighted_matrix(rows.part(ids, rows.weights[ids]))
        with one_blas_thread():
            sums[: len(ids)] += eigh(block, eigvals_only=True)[::-1]
    trace = float(np.sum(rows.weights * rows.diagonal))
    return Spectrum(sums[sums > penalty], np.empty((rows.n, 0)), trace, float(sums[0]))


def lower_bound(spectrum: Spectrum, penalty: float, n: int) -> float:
    """Return a value that no partition's objective is below, rounding included.

    At least one cluster is paid for. Computed eigenvalues of a symmetric matrix differ from its own
    by at most a small multiple of ``n eps`` times the largest, each; so much is subtracted.
    """
    values = spectrum.values
    gained = float(np.sum(values - penalty)) if len(values) else spectrum.largest - penalty
    scale = max(abs(spectrum.largest), abs(spectrum.trace) / n)
    guard = ROUNDING * n * scale * (1 + len(values)) + ROUNDING * n * abs(spectrum.trace)
    return spectrum.trace - gained - guard


def cluster_qr(vectors: Floats) -> tuple[Ids, Floats]:
    """Return the cluster (n,) of each row of k eigenvectors, and their rotation (k, k).

    As in scikit-learn's ``assign_labels="cluster_qr"`` (Damle, Minden & Ying 2019): k rows that
    point in different directions are found by pivoting; the vectors are rotated towards these, and
    each row takes the entry that is largest. Without random starts or parameters, and independent
    of the length of a row, which in a spectral embedding tells its density.
    """
    with one_blas_thread():
        pivots = qr(vectors.T, mode="r", pivoting=True)[1][: vectors.shape[1]]
        left, _, right = svd(vectors[pivots].T)
        rotation = left @ right
        return np.abs(vectors @ rotation).argmax(axis=1), rotation


class FeatureSpectrum(NamedTuple):
    """A spectrum, and the eigenvectors as functions of features."""

    spectrum: Spectrum  # its vectors are (n, r)
    factors: Floats  # (f, r): an eigenvector is ``w^1/2 (features - mean) @ factors``
    mean: Floats  # (f,): zeros where features are not centred


def feature_spectrum(
    features: Any, weights: Floats, penalty: float, centred: bool, rng: np.random.RandomState
) -> FeatureSpectrum:
    """Return the eigenvalues above a penalty of the kernel ``(f - mean)(f - mean)'``, weighted.

    Of features (n, f), dense or sparse: by the smaller of the matrices (n, n) and (f, f), or by
    Lanczos iterations where both are large.
    """
    n, f = features.shape
    mean = weighted_mean(features, weights) if centred else np.zeros(f)
    trace = weighted_squares(features, weights, mean)
    if min(n, f) <= MAX_DENSE:
        values, right = _dense(features, weights, mean, penalty)
    else:
        values, right = _lanczos(features, weights, mean, penalty, rng)
    order = np.argsort(-values, kind="stable")
    largest = float(values[order[0]])
    above = order[values[order] > penalty]
    factors = right[:, above]
    vectors = np.asarray(features @ factors) - mean @ factors
    vectors *= np.sqrt(weights)[:, np.newaxis]
    return FeatureSpectrum(Spectrum(values[above], vectors, trace, largest), factors, mean)


def scatter_values(features: Any, weights: Floats, mean: Floats) -> Floats:
    """Return all eigenvalues of the scatter, falling, from the smaller of both matrices."""
    with one_blas_thread():
        return eigh(scatter(features, weights, mean)[0], eigvals_only=True)[::-1]


def weighted_mean(features: Any, weights: Floats) -> Floats:
    """Return the mean (f,) of features."""
    return np.asarray(features.T @ (weights / weights.sum())).ravel()


def weighted_squares(features: Any, weights: Floats, mean: Floats) -> float:
    """Return the weighted sum of squared distances from the mean."""
    if is_sparse(features):
        squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
        products = np.asarray(features @ mean).ravel()
        return float(weights @ (squares - 2.0 * products + mean @ mean))
    return float(weights @ np.square(features - mean).sum(axis=1))


def scatter(features: Any, weights: Floats, mean: Floats) -> tuple[Floats, bool]:
    """Return ``A'A`` (f, f), or ``AA'`` (n, n) if smaller, and whether it is the former.

    A are features minus their mean, times the roots of the weights.
    """
    n, f = features.shape
    roots = np.sqrt(weights)
    if not is_sparse(features):
        rows = (features - mean) * roots[:, np.newaxis]
        return (rows.T @ rows, True) if f <= n else (rows @ rows.T, False)
    rows = features.multiply(roots[:, np.newaxis]).tocsr()
    if f <= n:
        along = np.asarray(rows.T @ roots).ravel()
        matrix = (rows.T @ rows).toarray() - np.outer(along, mean) - np.outer(mean, along)
        return matrix + weights.sum() * np.outer(mean, mean), True
    along = np.asarray(rows @ mean).ravel()
    matrix = (rows @ rows.T).toarray() - np.outer(along, roots) - np.outer(roots, along)
    return matrix + (mean @ mean) * np.outer(roots, roots), False


def _dense(features: Any, weights: Floats, mean: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Return eigenvalues, all above the penalty among them, and their factors."""
    with one_blas_thread():
        matrix, by_columns = scatter(features, weights, mean)
        m = len(matrix)
        values, vectors = eigh(matrix, subset_by_value=(penalty, np.inf))
        if not len(values):
            values, vectors = eigh(matrix, subset_by_index=[m - 1, m - 1])
    lengths = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    if by_columns:
        return values, vectors / lengths
    own = np.sqrt(weights)[:, np.newaxis] * vectors
    right = np.asarray(features.T @ own) - np.outer(mean, own.sum(axis=0))
    return values, right / lengths**2


def _lanczos(
    features: Any, weights: Floats, mean: Floats, penalty: float, rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    def multiply(vector: Floats) -> Floats:
        along = weights * (np.asarray(features @ vector).ravel() - mean @ vector)
        return np.asarray(features.T @ along).ravel() - mean * along.sum()

    values, vectors = lanczos_above(penalty, features.shape[1], multiply, rng)
    return values, vectors / np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
