"""The spectral relaxation of DP-means for rows with features: the kernel is their inner product."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from hardbayes.blas import one_blas_thread
from hardbayes.engine.gram.spectrum import MOST_DENSE, Spectrum, lanczos_above
from hardbayes.matrices import Floats, is_sparse


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
    if min(n, f) <= MOST_DENSE:
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
