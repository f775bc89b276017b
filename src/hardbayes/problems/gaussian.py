"""Rows in coordinates in which a prior matrix is the identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.late_import import import_whole
from hardbayes.matrices import Floats, chunks
from hardbayes.pool import Pool

if TYPE_CHECKING:
    from hardbayes.executors.gaussian.memory import MemoryGaussianRows
    from hardbayes.executors.gaussian.mixture import MixtureRows


LARGEST = 1e140  # its square, weighted and summed, is still a number
NOT_DEFINITE = (
    "The 'covariance_prior' parameter of GaussianDPMeans must be symmetric and positive definite. "
    "Add a small multiple of the identity."
)


@dataclass(frozen=True)
class Whitening:
    """The working coordinates ``(x - middle) forward``."""

    middle: Floats  # (d,)
    forward: Floats  # (d, d), upper triangular, or (d,) where the prior is diagonal
    backward: Floats  # its inverse

    @property
    def diagonal(self) -> bool:
        """Whether covariances are diagonal."""
        return self.forward.ndim == 1

    def rows(self, matrix: NDArray[np.floating], weights: Floats, pool: Pool) -> MemoryGaussianRows:
        """Return the rows of a matrix (n, d) in working coordinates.

        Raises ValueError where their squares do not fit float64.
        """
        import_whole("hardbayes.executors.gaussian.memory")
        from hardbayes.executors.gaussian.memory import MemoryGaussianRows, transformed

        n, d = matrix.shape
        working = np.empty((n, d))
        for part in chunks(n, d):
            rows = np.array(matrix[part], np.float64, order="C")
            working[part] = transformed(rows, self.middle, self.forward, pool)
            if not np.abs(working[part]).max() < LARGEST:
                raise ValueError(
                    "The rows of X do not fit float64 once they are seen in units of "
                    "covariance_prior. Rescale X, or remove rows with extreme values."
                )
        return MemoryGaussianRows(working, weights, self.diagonal, pool)

    def from_working(self, means: Floats) -> Floats:
        """Return points (k, d) in the user's coordinates."""
        scaled = means * self.backward if self.diagonal else means @ self.backward
        return scaled + self.middle

    def scatters(self, scatters: Floats) -> Floats:
        """Return scatters (k, h, d) as (k, d, d), or (k, d), in the user's units."""
        if self.diagonal:
            return scatters[:, 0] * self.backward**2
        found = np.einsum("ai,kab,bj->kij", self.backward, scatters, self.backward, optimize=True)
        return (found + found.transpose(0, 2, 1)) / 2.0

    def covariances(self, scatters: Floats, rate: float) -> Floats:
        """Return ``(S + Phi0) / rate`` of clusters, (k, d, d) or (k, d), in the user's units."""
        prior = 1.0 if self.diagonal else np.eye(len(self.middle))
        return self.scatters(scatters + prior) / rate


def whitening(middle: Floats, prior: Floats) -> Whitening:
    """Return coordinates in which this prior, a matrix (d, d) or a diagonal (d,), is the identity.

    Raises ValueError where it is not positive definite.
    """
    if prior.ndim == 1:
        root = np.sqrt(prior)
        return Whitening(middle, 1.0 / root, root)
    # Columns are put on one scale first, so that only their correlations can be ill conditioned.
    scale = np.sqrt(np.diag(prior))
    try:
        root = np.linalg.cholesky(prior / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        raise ValueError(NOT_DEFINITE) from None
    backward = root.T * scale
    forward = np.linalg.inv(root).T / scale[:, np.newaxis]
    return Whitening(middle, np.ascontiguousarray(forward), np.ascontiguousarray(backward))


def mixture_rows(
    rows: Floats, jittered: Floats, weights: Floats, floor: Floats, diagonal: bool, pool: Pool
) -> MixtureRows:
    """Return standardised rows (n, d) for finding a number of clusters."""
    import_whole("hardbayes.executors.gaussian.mixture")
    from hardbayes.executors.gaussian.mixture import MixtureRows

    return MixtureRows(rows, jittered, weights, floor, diagonal, pool)


def weighted_mean(matrix: NDArray[np.floating], weights: Floats) -> Floats:
    """Return the mean row (d,) in float64."""
    total = np.zeros(matrix.shape[1])
    share = weights / weights.sum()
    for part in chunks(*matrix.shape):
        total += share[part] @ matrix[part].astype(np.float64)
    return total


def given_prior(prior: Any, d: int, diagonal: bool) -> Floats:
    """Return a prior as a matrix (d, d), or a diagonal (d,) where covariances are diagonal.

    Raises ValueError where it is neither, or not symmetric, or has a diagonal that is not positive.
    """
    prior = np.array(prior, np.float64)
    if prior.ndim == 0:
        prior = np.full(d, float(prior))
    if prior.shape == (d, d) and diagonal:
        if np.count_nonzero(prior - np.diag(np.diag(prior))):
            raise ValueError(
                "The 'covariance_prior' parameter of GaussianDPMeans must be diagonal where "
                'covariance_type="diag". Pass its diagonal, or covariance_type="full".'
            )
        prior = np.diag(prior).copy()
    if prior.shape not in ((d,), (d, d)) or not np.isfinite(prior).all():
        raise ValueError(
            "The 'covariance_prior' parameter of GaussianDPMeans must be a number > 0, a "
            f"diagonal ({d},) or a matrix ({d}, {d}) of finite numbers. "
            f"Got shape {prior.shape} instead."
        )
    variances = np.diag(prior) if prior.ndim == 2 else prior
    if not np.allclose(prior, prior.T) or not variances.min() > 0:
        raise ValueError(NOT_DEFINITE)
    return np.diag(prior) if prior.ndim == 1 and not diagonal else prior
