"""Coordinates in which a prior matrix is the identity, and rows seen in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.late_import import import_whole
from hardbayes.matrices import chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.rows import GaussianRows
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool

LARGEST = 1e140  # of what is still squared, weighted and summed


@dataclass(frozen=True)
class Whitening:
    """Rows are seen as ``(x - middle) forward``."""

    middle: Floats  # (d,)
    forward: Floats  # (d, d), upper triangular, or (d,) where the prior is diagonal
    backward: Floats  # its inverse

    @property
    def diagonal(self) -> bool:
        """Whether covariances are diagonal."""
        return self.forward.ndim == 1

    def rows(self, matrix: NDArray[np.floating], weights: Floats, pool: Pool) -> GaussianRows:
        """Return the rows of a matrix (n, d) in working coordinates.

        Raises ValueError where their squares do not fit float64.
        """
        import_whole("hardbayes.executors.gaussian.rows")
        from hardbayes.executors.gaussian.rows import GaussianRows, transformed

        n, d = matrix.shape
        working = np.empty((n, d))
        for part in chunks(n, d):
            seen = np.array(matrix[part], np.float64, order="C")
            working[part] = transformed(seen, self.middle, self.forward, pool)
            if not np.abs(working[part]).max() < LARGEST:
                raise ValueError(
                    "The rows of X do not fit float64 once they are seen in units of "
                    "covariance_prior. Rescale X, or remove rows with extreme values."
                )
        return GaussianRows(working, weights, self.diagonal, pool)

    def from_working(self, means: Floats) -> Floats:
        """Return points (k, d) in the user's coordinates."""
        seen = means * self.backward if self.diagonal else means @ self.backward
        return seen + self.middle

    def scatters(self, scatters: Floats) -> Floats:
        """Return scatters (k, h, d) as (k, d, d), or (k, d), in the user's units."""
        if self.diagonal:
            return scatters[:, 0] * self.backward**2
        found: Floats = np.einsum(
            "ai,kab,bj->kij", self.backward, scatters, self.backward, optimize=True
        )
        return (found + found.transpose(0, 2, 1)) / 2.0

    def covariances(self, scatters: Floats, rate: float) -> Floats:
        """Return ``(S + Phi0) / rate`` of clusters, (k, d, d) or (k, d), in the user's units."""
        prior = 1.0 if self.diagonal else np.eye(len(self.middle))
        return self.scatters(scatters + prior) / rate


def whitening(middle: Floats, prior: Floats) -> Whitening:
    """Return coordinates in which this prior, a matrix (d, d) or a diagonal (d,), is the identity.

    Raises LinAlgError where it is not positive definite.
    """
    if prior.ndim == 1:
        root = np.sqrt(prior)
        return Whitening(middle, 1.0 / root, root)
    # Columns are put on one scale first, so that only their correlations can be ill conditioned.
    scale = np.sqrt(np.diag(prior))
    root = np.linalg.cholesky(prior / np.outer(scale, scale))
    backward = root.T * scale
    forward = np.linalg.inv(root).T / scale[:, np.newaxis]
    return Whitening(middle, np.ascontiguousarray(forward), np.ascontiguousarray(backward))
