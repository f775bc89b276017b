"""Mahalanobis distance with one matrix for all clusters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.core.arrays import Floats, chunks
from hardbayes.core.geometry.base import Geometry


class Mahalanobis(Geometry):
    """``D(x, c) = (x - c)' M (x - c)``: the Gaussian with a shared covariance ``M^-1``.

    Parameters
    ----------
    matrix : array-like of shape (n_features, n_features)
        ``M``, symmetric and positive definite: the inverse of a covariance matrix.
    """

    translation_invariant = True
    degree = 2

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        square = np.asarray(matrix, np.float64)
        if square.ndim != 2 or square.shape[0] != square.shape[1] or not np.isfinite(square).all():
            raise ValueError(
                "The 'matrix' parameter of Mahalanobis must be a square matrix of finite numbers, "
                f"one row for each column of X. Got shape {square.shape} instead."
            )
        if not np.allclose(square, square.T, rtol=1e-9, atol=1e-12 * np.abs(square).max()):
            raise ValueError(
                "The 'matrix' parameter of Mahalanobis must be symmetric. Pass (M + M.T) / 2."
            )
        try:
            self._root = np.linalg.cholesky(square)
        except np.linalg.LinAlgError:
            raise ValueError(
                "The 'matrix' parameter of Mahalanobis must be positive definite. "
                "Add a small multiple of the identity."
            ) from None
        self.n_columns = len(square)

    def potential(self, centres: Floats) -> Floats:
        """Return ``c' M c``."""
        whitened = self._whitened(centres)
        return np.einsum("...d,...d->...", whitened, whitened)

    def affine(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return ``2 M c`` and ``c' M c``."""
        whitened = self._whitened(centres)
        theta = 2.0 * np.einsum("kd,ed->ke", whitened, self._root)
        return theta, np.einsum("kd,kd->k", whitened, whitened)

    def divergence(self, x: Floats, c: Floats) -> Floats:
        """Return the squared distances."""
        return self.potential(x - c)

    def sparse_potential(self, rows: csr_array) -> NDArray[np.float64]:
        """Return ``x' M x`` of sparse rows (n,)."""
        return np.concatenate(
            [((rows[part] @ self._root) ** 2).sum(axis=1) for part in chunks(*rows.shape)]
        )

    def opening_costs(
        self, rows: csr_array, weights: Floats, prior_weight: float, prior_mean: Floats
    ) -> NDArray[np.float64]:
        """Return ``w eta / (w + eta) D(x, m)`` of each sparse row (n,)."""
        at_mean = self._whitened(prior_mean)
        apart = np.concatenate(
            [((rows[part] @ self._root - at_mean) ** 2).sum(axis=1) for part in chunks(*rows.shape)]
        )
        return weights * prior_weight / (weights + prior_weight) * apart

    def _whitened(self, points: Floats) -> Floats:
        """Return points (..., d) in coordinates in which ``x' M x`` is the squared length."""
        # Not BLAS: the same bits for any number of threads and points.
        return np.einsum("...d,de->...e", points, self._root)
