"""Coordinates in which a prior matrix is the identity, and what clusters cost there.

A cluster of weight n, mean mu and scatter ``S = sum w (x - mu)(x - mu)'`` costs ``rate log|I + S|``
at its optimal covariance; a row costs ``rate (x - mu)' (I + S)^-1 (x - mu)`` there while the
covariance is fixed. So costs follow from weight, mean and scatter alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, chunks
from hardbayes.core.centre_free import Ids, Merges
from hardbayes.core.pool import Pool, import_whole, one_blas_thread

if TYPE_CHECKING:
    from hardbayes.gaussian.clusters import GaussianRows
    from hardbayes.gaussian.mixture import MixtureRows


LARGEST = 1e140  # its square, weighted and summed, is still a number
N_NEIGHBOURS = 4  # clusters with which a merge is considered
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

    def rows(self, matrix: NDArray[np.floating], weights: Floats, pool: Pool) -> GaussianRows:
        """Return the rows of a matrix (n, d) in working coordinates.

        Raises ValueError where their squares do not fit float64.
        """
        import_whole("hardbayes.gaussian.clusters")
        from hardbayes.gaussian.clusters import GaussianRows, transform_rows

        n, d = matrix.shape
        working = np.empty((n, d))
        for part in chunks(n, d):
            rows = np.array(matrix[part], np.float64, order="C")
            working[part] = transform_rows(rows, self.middle, self.forward, pool)
            if not np.abs(working[part]).max() < LARGEST:
                raise ValueError(
                    "The rows of X do not fit float64 once they are seen in units of "
                    "covariance_prior. Rescale X, or remove rows with extreme values."
                )
        return GaussianRows(working, weights, self.diagonal, pool)

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


@one_blas_thread()
def basis_of(rows: Floats) -> Floats | None:
    """Return an orthonormal basis (d, n) of n rows with more columns; None where d <= n.

    With full covariances, what clusters cost does not change when rows are rotated, or when columns
    are left out in which all are zero: n coordinates do for n rows.
    """
    n, d = rows.shape
    return np.linalg.qr(rows.T)[0] if d > n else None


def mixture_rows(
    rows: Floats, jittered: Floats, weights: Floats, floor: Floats, diagonal: bool, pool: Pool
) -> MixtureRows:
    """Return standardised rows (n, d) for finding a number of clusters."""
    import_whole("hardbayes.gaussian.mixture")
    from hardbayes.gaussian.mixture import MixtureRows

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


class Gaussians(NamedTuple):
    """Statistics of clusters."""

    weights: Floats  # (k,)
    means: Floats  # (k, d)
    scatters: Floats  # (k, d, d), or (k, 1, d) where covariances are diagonal

    def pick(self, which: NDArray[np.bool_] | NDArray[np.intp] | list[int]) -> Gaussians:
        """Return some of the clusters."""
        return Gaussians(self.weights[which], self.means[which], self.scatters[which])

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.weights)

    def along(self, basis: Floats) -> Gaussians:
        """Return the same clusters where their coordinates are those of a basis (d, r)."""
        scatters = basis @ self.scatters @ basis.T
        return Gaussians(self.weights, self.means @ basis.T, scatters)


@dataclass(frozen=True)
class GaussianPartition:
    """``sum_k [penalty + rate log|I + S_k|]`` over partitions into at most max_clusters."""

    penalty: float
    rate: float  # the weight of the log-determinant
    max_clusters: int

    def costs(self, clusters: Gaussians) -> Floats:
        """Return the cost (k,) of each cluster, without the penalty."""
        return self.rate * log_determinants(clusters.scatters)

    def objective(self, clusters: Gaussians) -> float:
        """Return the objective of these clusters at their optimal means and covariances."""
        return float(self.costs(clusters).sum()) + self.penalty * clusters.k

    def merge_costs(self, clusters: Gaussians, others: Gaussians) -> Floats:
        """Return the change (m,) of the costs when pairs of clusters merge, without penalties."""
        apart = self.costs(clusters) + self.costs(others)
        return self.costs(merge_pairs(clusters, others)) - apart


def merge_pairs(clusters: Gaussians, others: Gaussians) -> Gaussians:
    """Return the merges of pairs of clusters."""
    weights = clusters.weights + others.weights
    share = (others.weights / weights)[:, np.newaxis]
    gap = others.means - clusters.means
    factor = clusters.weights[:, np.newaxis, np.newaxis] * share[:, :, np.newaxis]
    across = gap[:, :, np.newaxis]
    if clusters.scatters.shape[1] != gap.shape[1]:
        across = gap[:, np.newaxis, :]  # the diagonal alone
    between = factor * across * gap[:, np.newaxis, :]
    return Gaussians(
        weights, clusters.means + share * gap, clusters.scatters + others.scatters + between
    )


def log_determinants(scatters: Floats) -> Floats:
    """Return ``log|I + S|`` of each scatter (k, d, d) or (k, 1, d); never negative."""
    if scatters.shape[1] == 1:
        return np.log1p(scatters[:, 0]).sum(axis=1)
    values = np.linalg.slogdet(scatters + np.eye(scatters.shape[1]))[1]
    return np.maximum(values, 0.0)


def at_points(points: Floats, diagonal: bool) -> Gaussians:
    """Return clusters of one row each, at these points (k, d)."""
    k, d = points.shape
    return Gaussians(np.ones(k), points, np.zeros((k, 1 if diagonal else d, d)))


def neighbouring_merges(clusters: Gaussians, partition: GaussianPartition, roots: Floats) -> Merges:
    """Return the merges of neighbouring ones among two clusters or more, cheapest first.

    ``roots`` (k, h, d) are lower triangular, ``W'W = (I + S)^-1``.
    """
    k = clusters.k
    near = min(N_NEIGHBOURS, k - 1)
    partners = np.concatenate(
        [
            nearest_means(clusters.means, roots, near, part)
            for part in chunks(k, k * clusters.means.shape[1])
        ]
    )
    pairs = np.stack([np.repeat(np.arange(k), near), partners.ravel()], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    costs = np.concatenate(
        [
            partition.merge_costs(clusters.pick(pairs[part, 0]), clusters.pick(pairs[part, 1]))
            for part in chunks(len(pairs), clusters.scatters[0].size)
        ]
    )
    order = np.argsort(costs, kind="stable")
    return Merges(pairs[order, 0], pairs[order, 1], costs[order])


def nearest_means(means: Floats, roots: Floats, near: int, part: slice = slice(None)) -> Ids:
    """Return up to ``near`` others (m, near) whose means are nearest to each cluster of a part.

    In its own metric, ``roots`` (k, h, d); ascending where there are more, else nearest first.
    """
    k = len(means)
    gaps = means[part, np.newaxis, :] - means
    if roots.shape[1] == 1:
        scaled = gaps * roots[part]
    else:
        scaled = np.einsum("mkd,med->mke", gaps, roots[part], optimize=True)
    apart = np.einsum("mkd,mkd->mk", scaled, scaled)
    apart[np.arange(len(apart)), np.arange(k)[part]] = np.inf
    if near >= k - 1:
        return np.ascontiguousarray(np.argsort(apart, axis=1, kind="stable")[:, : k - 1])
    return np.sort(np.argpartition(apart, near - 1, axis=1)[:, :near], axis=1)
