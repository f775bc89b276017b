"""Methods that choose the number of clusters, and k-means, which is told."""

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from benchmarks.clouds import Labels, Table
from hardbayes import DPMeans, GaussianDPMeans

#: Returns the labels of rows; the number is that of clusters, or half the largest that is tried.
Method = Callable[[Table, int], Labels]

SILHOUETTE_ROWS = 2_000  # on which silhouettes are computed


def dp_means(X: Table, k: int) -> Labels:
    """Return the labels of the defaults."""
    return np.asarray(DPMeans(random_state=0).fit(X).labels_)


def gaussian_dp_means(X: Table, k: int) -> Labels:
    """Return the labels of the defaults."""
    return np.asarray(GaussianDPMeans(random_state=0).fit(X).labels_)


def k_means(X: Table, k: int) -> Labels:
    """Return the labels of k-means with the true number."""
    return np.asarray(KMeans(k, random_state=0).fit(X).labels_)


def best_silhouette(X: Table, k: int) -> Labels:
    """Return the labels of the k-means fit with the best silhouette, up to 2 k clusters."""
    fits = [KMeans(q, n_init=1, random_state=0).fit(X).labels_ for q in range(2, 2 * k + 1)]
    size = min(SILHOUETTE_ROWS, len(X))
    return max(
        fits, key=lambda labels: silhouette_score(X, labels, sample_size=size, random_state=0)
    )


def spherical_mixture(X: Table, k: int) -> Labels:
    """Return the labels of the spherical mixture with the best BIC, up to 2 k components."""
    return _best_mixture(X, k, "spherical")


def full_mixture(X: Table, k: int) -> Labels:
    """Return the labels of the mixture with the best BIC, up to 2 k components."""
    return _best_mixture(X, k, "full")


def _best_mixture(X: Table, k: int, covariance: Literal["spherical", "full"]) -> Labels:
    fits = []
    for q in range(1, 2 * k + 1):
        try:
            fits.append(GaussianMixture(q, covariance_type=covariance, random_state=0).fit(X))
        except ValueError:  # of covariances that are not positive definite
            continue
    if not fits:
        return np.zeros(len(X), np.intp)
    return np.asarray(min(fits, key=lambda fit: fit.bic(X)).predict(X))


def hdbscan(X: Table, k: int) -> Labels:
    """Return the labels of the defaults."""
    return np.asarray(HDBSCAN(copy=True).fit(X).labels_)


def n_found(labels: Labels) -> int:
    """Return the number of clusters; rows of noise, -1, are none."""
    return len(np.unique(labels[labels >= 0]))


def quiet(method: Method, X: Table, k: int) -> Labels:
    """Return the labels of a method, without its warnings."""
    with warnings.catch_warnings():  # that no number stood out is part of the answer
        warnings.simplefilter("ignore")
        return method(X, k)
