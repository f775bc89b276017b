"""Clusters of a sample by classification EM, and how likely partitions are.

Covariances are shrunk to the pooled one. A partition has a marginal likelihood, and its clusters
look Gaussian or not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc

from hardbayes.gaussian.problem import Gaussians, merge_pairs, nearest_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardbayes.core.arrays import Floats
    from hardbayes.core.centre_free import Ids
    from hardbayes.gaussian.mixture import MixtureRows


N_CANDIDATES = 16  # clusters, besides its own, that a row may move to
# Rows that the pooled covariance may count for in that of each cluster. If none but the least were
# allowed, two clusters in 32 columns would never be likelier than one.
PRIOR_ROWS = (2.0, 8.0, 32.0, 128.0, 512.0, 2048.0)
SHARE_ROWS = 0.5  # in the prior of each cluster's share, as in the kernel: Jeffreys' prior
# Departure up to which clusters look Gaussian; and, over the square root of n, that which 5 % of
# all samples of n Gaussian rows exceed (Lilliefors 1967).
GAUSSIAN = 0.035
BY_CHANCE = 0.886


def pooled_covariance(rows: MixtureRows, clusters: Gaussians) -> Floats:
    """Return the covariance (1, h, d) of rows about their own means."""
    pooled = clusters.scatters.sum(axis=0, keepdims=True) / clusters.weights.sum()
    return rows.add_floor(pooled)


def shrunk_covariances(
    rows: MixtureRows, clusters: Gaussians, pooled_rows: float, pooled: Floats | None = None
) -> Floats:
    """Return covariances (k, h, d), of which ``pooled_rows`` rows have the pooled one (h, d)."""
    if pooled is None:
        pooled = clusters.scatters.sum(axis=0) / clusters.weights.sum()
    weights = clusters.weights[:, np.newaxis, np.newaxis]
    return rows.add_floor((clusters.scatters + pooled_rows * pooled) / (weights + pooled_rows))


def discriminants(
    rows: MixtureRows, clusters: Gaussians, pooled_rows: float
) -> tuple[Floats, Floats]:
    """Return roots (k, h, d) and offsets (k,): a row is likeliest where offset + distance is least.

    ``|x - mu|^2 + log|Sigma| - 2 log n``, with shrunk covariances.
    """
    roots, logarithms = rows.factorise(shrunk_covariances(rows, clusters, pooled_rows))
    return roots, logarithms - 2.0 * np.log(clusters.weights)


def common_discriminants(rows: MixtureRows, clusters: Gaussians) -> tuple[Floats, Floats]:
    """Return the same for clusters of one common covariance, whatever their weights."""
    root = rows.factorise(pooled_covariance(rows, clusters))[0]
    return np.repeat(root, clusters.k, axis=0), np.zeros(clusters.k)


def choose(
    rows: MixtureRows, clusters: Gaussians, roots: Floats, offsets: Floats, labels: Ids
) -> Ids:
    """Return the likeliest cluster (n,) of each row among its own and those near it."""
    near = nearest_means(clusters.means, roots, N_CANDIDATES)
    return rows.choose_near(clusters.means, roots, offsets, near, labels)


def classify(
    rows: MixtureRows,
    labels: Ids,
    k: int,
    pooled_rows: float,
    max_rounds: int,
    is_common: bool = False,
) -> tuple[Ids, Gaussians]:
    """Return labels (n,) after rounds of classification EM, and their clusters, none empty.

    ``is_common``: clusters have one covariance and no shares.
    """
    labels, clusters = without_empty(labels, rows.statistics(labels, k))
    for _ in range(max_rounds):
        if is_common:
            roots, offsets = common_discriminants(rows, clusters)
        else:
            roots, offsets = discriminants(rows, clusters, pooled_rows)
        chosen = choose(rows, clusters, roots, offsets, labels)
        if np.array_equal(chosen, labels):
            break
        labels, clusters = without_empty(chosen, rows.statistics(chosen, clusters.k))
    return labels, clusters


def without_empty(labels: Ids, clusters: Gaussians) -> tuple[Ids, Gaussians]:
    """Return labels (n,) and clusters without those that have no rows."""
    used = clusters.weights > 0
    if used.all():
        return labels, clusters
    return (np.cumsum(used) - 1)[labels], clusters.pick(used)


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
    """Return by how much pairs (m,) are likelier than their merges, all other clusters aside."""
    one = merge_pairs(clusters.pick(lefts), clusters.pick(rights))
    apart = rows.evidence(clusters, lefts, rights, prior_rows)
    none = np.full(len(lefts), -1)
    return apart - rows.evidence(one, np.arange(len(lefts)), none, prior_rows)


def look_gaussian(rows: MixtureRows, labels: Ids, k: int) -> bool:
    """Whether clusters are so nearly Gaussian that only chance, or next to nothing, is left."""
    return departure(rows, labels, k) <= max(GAUSSIAN, BY_CHANCE / math.sqrt(rows.total))


def departure(rows: MixtureRows, labels: Ids, k: int) -> float:
    """Return how far clusters are from being Gaussian, between 0 and 1.

    Kolmogorov's distance, over all rows, between the squared Mahalanobis distance from the own mean
    and its distribution for n Gaussian rows: m / (n - 1) ~ Beta(d / 2, (n - d - 1) / 2). Diagonal
    covariances: each column by itself.
    """
    clusters = rows.statistics(labels, k)
    covariances = clusters.scatters / np.maximum(clusters.weights, 1e-300)[:, None, None]
    roots = rows.factorise(rows.add_floor(covariances))[0]
    order, places = rows.by_cluster(labels, k)
    shares, weights = [], []
    for c in range(k):
        ids, n = order[places[c] : places[c + 1]], clusters.weights[c]
        if len(ids) < 3 * rows.least_rows:
            continue
        gaps = rows.rows[ids] - clusters.means[c]
        if rows.diagonal:
            squares = (gaps * roots[c, 0]) ** 2
            shares.append(betainc(0.5, (n - 2) / 2, np.clip(squares / (n - 1), 0, 1)).ravel())
            weights.append(np.repeat(rows.weights[ids], rows.d) / rows.d)
        else:
            squares = ((gaps @ roots[c].T) ** 2).sum(axis=1)
            spread = (n - rows.d - 1) / 2
            shares.append(betainc(rows.d / 2, spread, np.clip(squares / (n - 1), 0, 1)))
            weights.append(rows.weights[ids])
    if not shares:
        return 1.0
    share, weight = np.concatenate(shares), np.concatenate(weights)
    by_share = np.argsort(share, kind="stable")
    share, weight = share[by_share], weight[by_share] / weight.sum()
    after = np.cumsum(weight)
    return float(max((after - share).max(), (share - after + weight).max()))
