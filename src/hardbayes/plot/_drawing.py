"""What all plots share: the import of matplotlib, colours, the projection of rows to the plane."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

# For text from the user, such as column names: dollar signs and backslashes are not parsed as
# formulas.
LITERAL = {"parse_math": False, "usetex": False}
# Okabe and Ito's colours, distinct for the common types of colour blindness, without their black
# (used for centres) and yellow (too pale on white). Then those farthest from all before, in CIELAB.
COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9",
    "#0000FF", "#00E100", "#FF00E1", "#694BD2", "#FF005A", "#695A1E", "#B4D25A", "#871E1E",
    "#FFA587", "#008700", "#1E5A5A", "#870078", "#F087FF", "#FF3CA5",
)  # fmt: skip
# When all colours are used, the next clusters get the next marker.
MARKERS = ("o", "^", "s", "D", "v", "P", "<", ">")


def check_matplotlib(caller: str) -> None:
    """Raise an ImportError that says what to install if matplotlib cannot be imported."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{caller} needs matplotlib. Install it with: pip install "hardbayes[plot]"'
        ) from error


def axes_or_new(ax: Any, caller: str) -> Any:
    """Return `ax`, or the axes of a new pyplot figure if it is None."""
    check_matplotlib(caller)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    return ax


def check_estimator(estimator: Any, attribute: str, caller: str, instead: str) -> None:
    """Raise unless it can be drawn: matplotlib is there, and a fitted estimator has an attribute.

    ``instead``: what to do where it has not.
    """
    check_matplotlib(caller)
    if not hasattr(estimator, "fit"):
        raise TypeError(f"{caller} takes a fitted estimator. Got {type(estimator).__name__}.")
    if hasattr(estimator, "steps"):
        raise TypeError(
            f"{caller} takes an estimator, not a pipeline. Pass its last step, pipeline[-1], and "
            "the rows that this sees, pipeline[:-1].transform(X)."
        )
    check_is_fitted(estimator)
    if not hasattr(estimator, attribute):
        raise TypeError(
            f"{caller} needs an estimator with {attribute}, which {type(estimator).__name__} does "
            f"not have. {instead}"
        )


def check_at_least_one(name: str, number: int, caller: str) -> None:
    """Raise unless a parameter is one or more."""
    if number < 1:
        raise ValueError(
            f"The {name!r} parameter of {caller} must be at least 1. Got {number!r} instead."
        )


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
