"""How likely partitions are: their marginal likelihood."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.selection.gaussian.clusters import pooled_covariance
from hardbayes.structure.gaussians import Gaussians, united

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids
    from hardbayes.matrices import Floats

# Rows that the pooled covariance may count for in that of each cluster. If none but the least were
# allowed, two clusters in 32 columns would never be likelier than one.
PRIOR_ROWS = (2.0, 8.0, 32.0, 128.0, 512.0, 2048.0)
SHARE_ROWS = 0.5  # in the prior of each cluster's share, as in the kernel: Jeffreys' prior


class MarginalLikelihood:
    """Log marginal likelihood of clusters, mean, covariance and share of each integrated out.

    The prior's covariance is the pooled one of a partition and counts as ``prior_rows`` rows.
    """

    def __init__(self, rows: MixtureRows, partition: Gaussians, prior_rows: float) -> None:
        self.rows = rows
        self.prior_rows = prior_rows
        self.pooled_rows = max(prior_rows, rows.least_rows)  # for classification EM
        self.total = float(partition.weights.sum())
        self._pooled = pooled_covariance(rows, partition)

    def of_each(self, clusters: Gaussians) -> Floats:
        """Return the logarithm (k,) for each cluster, up to a constant for each row."""
        numbers = np.arange(clusters.k)
        none = np.full(clusters.k, -1)
        return self.rows.evidence(clusters, numbers, none, (self.prior_rows,), self._pooled)

    def of_shares(self, k: int) -> float:
        """Return what the labels of k clusters contribute besides."""
        return math.lgamma(SHARE_ROWS * k) - math.lgamma(self.total + SHARE_ROWS * k)

    def of_partition(self, clusters: Gaussians) -> float:
        """Return the logarithm for all clusters together."""
        return float(self.of_each(clusters).sum()) + self.of_shares(clusters.k)


def likeliest_prior(rows: MixtureRows, clusters: Gaussians) -> tuple[MarginalLikelihood, float]:
    """Return the prior under which a partition is likeliest, and how likely it is."""
    priors = [MarginalLikelihood(rows, clusters, number) for number in PRIOR_ROWS]
    values = [prior.of_partition(clusters) for prior in priors]
    best = int(np.argmax(values))
    return priors[best], values[best]


def gain_of_two(
    rows: MixtureRows, clusters: Gaussians, lefts: Ids, rights: Ids, prior_rows: Sequence[float]
) -> Floats:
    """Return by how much pairs (m,) are likelier than their unions, all other clusters aside."""
    one = united(clusters.pick(lefts), clusters.pick(rights))
    apart = rows.evidence(clusters, lefts, rights, prior_rows)
    none = np.full(len(lefts), -1)
    return apart - rows.evidence(one, np.arange(len(lefts)), none, prior_rows)
