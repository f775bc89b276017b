"""The same fit asked of hardbayes, of scikit-learn, of faiss and of a published variant."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.cases import MAX_SWEEPS
from benchmarks.data import Rows
from benchmarks.options import THREADS
from hardbayes import DPMeans

faiss: Any
try:
    import faiss
except ImportError:
    faiss = None

FAISS_IS_INSTALLED = faiss is not None


@dataclass(frozen=True)
class Fit:
    """What every contestant hands back."""

    labels: NDArray[np.integer]
    sweeps: int
    centres: NDArray[np.floating]

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return len(self.centres)


def dp_means(X: Any, penalty: float | str, **parameters: Any) -> Fit:
    """Fit the published algorithm, or another search where one is named.

    A `max_iter` that cuts it short is meant, hence no warning.
    """
    model = DPMeans(penalty, **{"search": "paper", "n_jobs": THREADS, **parameters})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return Fit(model.labels_, model.n_iter_, model.cluster_centers_)


def k_means(X: Any, n_clusters: int, **parameters: Any) -> Fit:
    """Fit scikit-learn's KMeans with the parameters given and its defaults for the rest."""
    model = KMeans(n_clusters, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return Fit(model.labels_, model.n_iter_, model.cluster_centers_)


def k_means_from(X: Any, start: NDArray[np.floating], max_iter: int = MAX_SWEEPS) -> Fit:
    """Run scikit-learn's Lloyd from these centres until the labels repeat."""
    return k_means(
        X, len(start), init=start, n_init=1, tol=0.0, max_iter=max_iter, algorithm="lloyd"
    )


def faiss_from(X: Rows, start: Rows, sweeps: int) -> Any:
    """Run so many sweeps of faiss from these centres, on all rows; see `faiss_fit`."""
    model = faiss.Kmeans(
        X.shape[1],
        len(start),
        niter=sweeps,
        min_points_per_centroid=1,
        max_points_per_centroid=len(X),
    )
    model.train(X, init_centroids=start)
    return model


def faiss_fit(model: Any, X: Rows, sweeps: int) -> Fit:
    """Return the result of faiss, whose training alone keeps no labels."""
    _, nearest = model.index.search(X, 1)
    return Fit(nearest.ravel(), sweeps, model.centroids)


def delayed_births(
    X: NDArray[np.floating], penalty: float, max_sweeps: int = 10 * MAX_SWEEPS
) -> Fit:
    """Fit DP-means with delayed births, after Dinari & Freifeld 2022.

    All rows choose; then at most one cluster is opened, at the row farthest from its centre, if
    that is dearer than the penalty; until nothing changes. Plain NumPy: its time says nothing of
    the authors' package, which cannot be installed beside a current scikit-learn.
    """
    everyone = np.arange(len(X))
    centres = X.mean(axis=0, keepdims=True)
    labels = np.full(len(X), -1)
    for sweep in range(1, max_sweeps + 1):  # noqa: B007 - returned
        costs = cdist(X, centres, "sqeuclidean")
        before, labels = labels, costs.argmin(axis=1)
        farthest = costs[everyone, labels].argmax()
        if costs[farthest, labels[farthest]] > penalty:
            labels[farthest] = len(centres)
        if np.array_equal(labels, before):
            break
        labels = np.unique(labels, return_inverse=True)[1]
        centres = np.array([X[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    return Fit(labels, sweep, centres)
