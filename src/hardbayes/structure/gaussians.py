"""Clusters with covariances of their own: their costs, from weight, mean and scatter alone.

Coordinates are such that the prior matrix Phi0 is the identity. A cluster of weight n, mean mu and
scatter ``S = sum w (x - mu)(x - mu)'`` costs ``rate log|I + S|`` at its optimal covariance; a row
costs ``rate (x - mu)' (I + S)^-1 (x - mu)`` there while the covariance is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats


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

    def union_costs(self, clusters: Gaussians, others: Gaussians) -> Floats:
        """Return the change (m,) of the costs when pairs of clusters unite, without penalties."""
        apart = self.costs(clusters) + self.costs(others)
        return self.costs(united(clusters, others)) - apart


def united(clusters: Gaussians, others: Gaussians) -> Gaussians:
    """Return the unions of pairs of clusters."""
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
