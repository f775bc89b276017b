"""Projection of rows in any dimension to the plane."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize


def comparable_rows(model: Any, X: Any) -> Any:
    """Return the rows on the scale of the model's centres.

    Centres of the Kullback-Leibler divergence sum to one, those of the cosine have length one, so
    rows are normalised in the same way. A geometry object declares this by its ``row_unit``.
    """
    divergence = getattr(model, "divergence", "squared_euclidean")
    units = {"kl": "sum", "cosine": "length"}
    unit = units.get(divergence) if isinstance(divergence, str) else divergence.row_unit
    if unit is None:
        return X
    return normalize(X, norm="l1" if unit == "sum" else "l2")


def project(
    X: Any, centers: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[str, str]]:
    """Place rows and centres in the plane.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The rows.
    centers : ndarray of shape (n_clusters, n_features)
        The centres.

    Returns
    -------
    points : ndarray of shape (n_samples, 2)
        Two columns unchanged; the first two principal components of more columns; a single
        column and the number of the row.
    placed_centers : ndarray of shape (n_clusters, 2)
        The centres in the same coordinates; for a single column at half the height.
    names : tuple of (str, str)
        Names of the two axes.
    """
    n_samples, n_features = X.shape
    if n_features > 2 and n_samples > 2:
        # The iterative solver keeps sparse rows sparse, but fails on tiny matrices.
        if issparse(X) and min(n_samples, n_features) < 10:
            X = X.toarray()
        solver = "arpack" if issparse(X) else "auto"
        pca = PCA(n_components=2, svd_solver=solver, random_state=0).fit(X)
        points = pca.transform(X)
        placed = pca.transform(centers) if len(centers) else np.empty((0, 2))
        return _float64(points), _float64(placed), ("component 1", "component 2")

    X = X[:, :2].toarray() if issparse(X) else X[:, :2]
    centers = centers[:, :2]
    if n_features == 1:
        points = np.column_stack([X[:, 0], np.arange(n_samples)])
        half_way = np.full(centers.shape[0], (n_samples - 1) / 2)
        return (
            _float64(points),
            _float64(np.column_stack([centers[:, 0], half_way])),
            ("column 0", "row"),
        )
    return _float64(X), _float64(centers), ("column 0", "column 1")


def _float64(array: Any) -> NDArray[np.float64]:
    return np.asarray(array, dtype=np.float64)
