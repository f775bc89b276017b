"""Clusters with covariances of their own: what each costs, from weight, mean and scatter alone.

Coordinates are such that the prior matrix Phi0 is the identity. A cluster of weight n, mean mu and
scatter ``S = sum w (x - mu)(x - mu)'`` costs ``rate log|I + S|`` once its covariance is at its
best, and a row costs it ``rate (x - mu)' (I + S)^-1 (x - mu)`` while the covariance stands still.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.matrices import chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats


class Gaussians(NamedTuple):
    """Statistics of clusters."""

    weights: Floats  # (k,)
    means: Floats  # (k, d)
    scatters: Floats  # (k, d, d), or (k, d) where covariances are diagonal

    def pick(self, which: NDArray[np.bool_] | NDArray[np.intp] | list[int]) -> Gaussians:
        """Return some of the clusters."""
        return Gaussians(self.weights[which], self.means[which], self.scatters[which])

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.weights)

    @property
    def diagonal(self) -> bool:
        """Whether covariances are diagonal."""
        return self.scatters.ndim == 2


@dataclass(frozen=True)
class GaussianPartition:
    """``sum_k [penalty + rate log|I + S_k|]`` over partitions into at most so many clusters."""

    penalty: float
    rate: float  # the weight of the log-determinant
    diagonal: bool
    max_clusters: int

    def capped(self, max_clusters: int) -> GaussianPartition:
        """Return the same with at most so many clusters."""
        return replace(self, max_clusters=max_clusters)

    def costs(self, clusters: Gaussians) -> Floats:
        """Return what each cluster (k,) costs, the penalty aside."""
        return self.rate * log_determinants(clusters.scatters)

    def objective(self, clusters: Gaussians) -> float:
        """Return the objective of these clusters at their best means and covariances."""
        return float(self.costs(clusters).sum()) + self.penalty * clusters.k

    def union_costs(self, clusters: Gaussians, others: Gaussians) -> Floats:
        """Return how much the costs of pairs of clusters rise, penalties aside, when they unite."""
        apart = self.costs(clusters) + self.costs(others)
        return self.costs(united(clusters, others)) - apart


def statistics(
    rows: Floats, weights: Floats, labels: NDArray[np.integer], k: int, diagonal: bool
) -> Gaussians:
    """Return the statistics of a labelling of rows (n, d) with weights (n,)."""
    d = rows.shape[1]
    found = Gaussians(np.zeros(k), np.zeros((k, d)), np.zeros((k, d) if diagonal else (k, d, d)))
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(k), side="right")
    for c, ids in enumerate(np.split(order, ends[:-1])):
        ids = ids[weights[ids] > 0]
        if not len(ids):
            continue
        w = weights[ids]
        found.weights[c] = w.sum()
        found.means[c] = w @ rows[ids] / found.weights[c]
        for part in chunks(len(ids), d):
            gap = rows[ids[part]] - found.means[c]
            heavy = w[part, np.newaxis] * gap
            found.scatters[c] += (heavy * gap).sum(axis=0) if diagonal else heavy.T @ gap
    return found


def united(clusters: Gaussians, others: Gaussians) -> Gaussians:
    """Return the unions of pairs of clusters."""
    weights = clusters.weights + others.weights
    share = (others.weights / weights)[:, np.newaxis]
    gap = others.means - clusters.means
    factor = (clusters.weights * others.weights / weights)[:, np.newaxis]
    if clusters.diagonal:
        between = factor * gap * gap
    else:
        between = factor[..., np.newaxis] * gap[:, :, np.newaxis] * gap[:, np.newaxis, :]
    return Gaussians(
        weights, clusters.means + share * gap, clusters.scatters + others.scatters + between
    )


def log_determinants(scatters: Floats) -> Floats:
    """Return ``log|I + S|`` of each scatter; never negative."""
    if scatters.ndim == 2:
        return np.log1p(scatters).sum(axis=1)
    values = np.linalg.slogdet(scatters + np.eye(scatters.shape[1]))[1]
    return np.maximum(values, 0.0)


def inverse_roots(scatters: Floats) -> Floats:
    """Return matrices W (k, d, d), or diagonals (k, d), with ``W' W = (I + S)^-1``."""
    if scatters.ndim == 2:
        return 1.0 / np.sqrt(1.0 + scatters)
    eye = np.eye(scatters.shape[1])
    return np.linalg.solve(np.linalg.cholesky(scatters + eye), np.broadcast_to(eye, scatters.shape))


def distances(rows: Floats, means: Floats, roots: Floats) -> Floats:
    """Return ``(x - mu)' (I + S)^-1 (x - mu)`` of rows (m, d) at every cluster (m, k)."""
    out = np.empty((len(rows), len(means)))
    for c, (mean, root) in enumerate(zip(means, roots, strict=True)):
        seen = (rows - mean) * root if root.ndim == 1 else (rows - mean) @ root.T
        out[:, c] = np.einsum("ij,ij->i", seen, seen)
    return out
