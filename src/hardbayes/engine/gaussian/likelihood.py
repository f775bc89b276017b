"""How likely rows are if clusters are Gaussian: this chooses a prior and a number of clusters.

The objective cannot choose its own prior, for it falls as the prior grows, nor can it compare
partitions found with different ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, multigammaln

from hardbayes.structure.gaussians import Gaussians

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.rows import GaussianRows
    from hardbayes.matrices import Floats

    Ids = NDArray[np.int64]

MOST_STEPS = 30
# Rows that the prior of a mean counts for, and of a covariance beyond the least it must have.
MEAN_ROWS = 0.01
COVARIANCE_ROWS = 2.0
SHARE_ROWS = 0.5  # of each cluster's share: Jeffreys' prior


def clusters_of(data: GaussianRows, labels: Ids) -> Gaussians:
    """Return the clusters of a partition that have weight."""
    found = Gaussians(*data.statistics(labels, int(labels.max()) + 1))
    return found.pick(found.weights > 0)


def misfit(clusters: Gaussians, floor: Floats) -> float:
    """Return minus twice the log-likelihood of a partition among those into as many clusters.

    ``sum_k n_k [log|Sigma_k| - 2 log(n_k / n)]``, the classification likelihood, up to a constant.
    ``floor`` (h, d) is added to the pooled scatter, so that no covariance is singular.
    """
    return float(clusters.weights @ _offsets(clusters, _covariances(clusters, floor)))


def marginal_misfit(clusters: Gaussians, floor: Floats) -> float:
    """Return minus twice the log-likelihood of a partition, its clusters integrated out.

    So that numbers of clusters can be compared: means and covariances have a weak conjugate prior
    about the overall mean and the pooled covariance, and labels have unknown shares.
    """
    weights, means, scatters = clusters
    total = weights.sum()
    # Diagonal covariances are as many independent problems as there are columns.
    n_problems, d = (means.shape[1], 1) if scatters.shape[1] == 1 else (1, means.shape[1])
    rows = d + 1.0 + COVARIANCE_ROWS
    prior = COVARIANCE_ROWS / total * (scatters.sum(axis=0) + floor)
    gaps = means - weights @ means / total
    gaps *= np.sqrt(MEAN_ROWS * weights / (MEAN_ROWS + weights))[:, np.newaxis]
    across = gaps[:, np.newaxis, :] if scatters.shape[1] == 1 else gaps[:, :, np.newaxis]
    posterior = prior + scatters + across * gaps[:, np.newaxis, :]
    logarithm = (
        n_problems * (multigammaln((rows + weights) / 2, d) - multigammaln(rows / 2, d))
        + rows / 2 * _log_determinants(prior[np.newaxis])
        - (rows + weights) / 2 * _log_determinants(posterior)
        + means.shape[1] / 2 * np.log(MEAN_ROWS / (MEAN_ROWS + weights))
        + gammaln(weights + SHARE_ROWS)
        - gammaln(SHARE_ROWS)
    ).sum()
    shares = SHARE_ROWS * clusters.k
    logarithm += gammaln(shares) - gammaln(total + shares)
    return -2.0 * float(logarithm)


def likelier(data: GaussianRows, labels: Ids, floor: Floats) -> Ids:
    """Return labels after steps of choosing the likeliest cluster and refitting."""
    kept, best = labels, np.inf
    for _ in range(MOST_STEPS):
        clusters = clusters_of(data, labels)
        covariances = _covariances(clusters, floor)
        offsets = _offsets(clusters, covariances)
        value = float(clusters.weights @ offsets)
        if not value < best:
            break
        kept, best = labels, value
        labels = data.nearest(clusters.means, _roots(covariances), offsets)[0]
    return kept


def _covariances(clusters: Gaussians, floor: Floats) -> Floats:
    """Return covariances (k, h, d) drawn to the pooled one, which counts as d + 1 rows of each."""
    pooled = (clusters.scatters.sum(axis=0) + floor) / clusters.weights.sum()
    rows = clusters.means.shape[1] + 1.0
    weights = clusters.weights[:, np.newaxis, np.newaxis]
    drawn: Floats = (clusters.scatters + rows * pooled) / (weights + rows)
    return drawn


def _offsets(clusters: Gaussians, covariances: Floats) -> Floats:
    """Return ``log|Sigma_k| - 2 log(n_k / n)`` of each cluster (k,)."""
    shares = clusters.weights / clusters.weights.sum()
    return _log_determinants(covariances) - 2.0 * np.log(shares)


def _log_determinants(matrices: Floats) -> Floats:
    """Return the logarithms of determinants of matrices (k, d, d), or diagonals (k, 1, d)."""
    if matrices.shape[1] == 1:
        return np.log(matrices[:, 0]).sum(axis=1)
    found: Floats = np.linalg.slogdet(matrices)[1]
    return found


def _roots(covariances: Floats) -> Floats:
    """Return lower triangular W (k, h, d) with ``W'W = Sigma^-1``."""
    if covariances.shape[1] == 1:
        return 1.0 / np.sqrt(covariances)
    eye = np.broadcast_to(np.eye(covariances.shape[1]), covariances.shape)
    return np.tril(np.linalg.solve(np.linalg.cholesky(covariances), eye))
