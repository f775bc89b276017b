"""Likelihoods of rows in Gaussian clusters, by which a prior and a number of clusters are chosen.

The objective cannot choose its own prior, because it falls as the prior grows, nor can it compare
partitions found with different priors.
"""

import numpy as np
from scipy.special import gammaln, multigammaln

from hardbayes.engine.gaussian.model import clusters_of
from hardbayes.executors.gaussian.protocol import GaussianRows, Ids
from hardbayes.matrices import Floats
from hardbayes.structure.gaussians import Gaussians

MAX_STEPS = 30
# Pseudo-rows in the prior of a mean, and in that of a covariance beyond the d + 1 it needs.
MEAN_ROWS = 0.01
COVARIANCE_ROWS = 2.0
SHARE_ROWS = 0.5  # in the prior of each cluster's share: Jeffreys' prior


def misfit(clusters: Gaussians, floor: Floats) -> float:
    """Return minus twice the classification log-likelihood of a partition, up to a constant.

    ``sum_k n_k [log|Sigma_k| - 2 log(n_k / n)]``; it compares partitions into as many clusters.
    ``floor`` (h, d) is added to the pooled scatter, so that no covariance is singular.
    """
    return float(clusters.weights @ _offsets(clusters, _covariances(clusters, floor)))


def marginal_misfit(clusters: Gaussians, floor: Floats) -> float:
    """Return minus twice the log-likelihood of a partition, its parameters integrated out.

    It compares numbers of clusters. Means and covariances have a weak conjugate prior about the
    overall mean and the pooled covariance, and the shares of clusters a Dirichlet prior.
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


def likelier(rows: GaussianRows, labels: Ids, floor: Floats) -> Ids:
    """Return labels (n,) after hard expectation-maximisation, while the likelihood rises."""
    kept, best = labels, np.inf
    for _ in range(MAX_STEPS):
        clusters = clusters_of(rows, labels)
        covariances = _covariances(clusters, floor)
        offsets = _offsets(clusters, covariances)
        value = float(clusters.weights @ offsets)
        if not value < best:
            break
        kept, best = labels, value
        labels = rows.nearest(clusters.means, _roots(covariances), offsets)[0]
    return kept


def _covariances(clusters: Gaussians, floor: Floats) -> Floats:
    """Return covariances (k, h, d) shrunk to the pooled one, which counts as d + 1 rows of each."""
    pooled = (clusters.scatters.sum(axis=0) + floor) / clusters.weights.sum()
    n_pooled = clusters.means.shape[1] + 1.0
    weights = clusters.weights[:, np.newaxis, np.newaxis]
    shrunk: Floats = (clusters.scatters + n_pooled * pooled) / (weights + n_pooled)
    return shrunk


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
