"""A lower bound of the DP-means objective, to tell how good any clustering is."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.geometry import geometry_for
from hardbayes.core.validation import check_matrix, check_weights, checking_parameters
from hardbayes.kernel.spectrum import scatter_values, weighted_mean

LARGEST_MATRIX = 1 << 12  # rows or columns of the matrix whose eigenvalues are computed
EPSILON = float(np.finfo(np.float64).eps)  # twice the rounding of one operation in float64
GUARD = 8.0  # times rows and columns: errors of an eigenvalue, by the largest one


@checking_parameters({"cluster_penalty": [Interval(Real, 0, None, closed="left")]})
def objective_lower_bound(X: Any, cluster_penalty: float, *, sample_weight: Any = None) -> float:
    """Return a value that no partition's DP-means objective is below.

    ``cluster_penalty + sum_j min(e_j, cluster_penalty)``

    where the ``e_j`` are the eigenvalues of the weighted scatter matrix of X. It is the optimum of
    the spectral relaxation (Kulis & Jordan 2012, Theorem 5.2) for the centred linear kernel, whose
    constant eigenvector all partitions share: a certificate of how far a fit can be from the best.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    cluster_penalty : float
        Cost of each cluster.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    bound : float
        A lower bound of `objective` with squared distances and any labels. Bounds on the rounding
        errors of the eigenvalues are subtracted.

    Notes
    -----
    With at most as many columns as clusters the bound is weak: eigenvalues above the penalty are
    as many as columns at most, and each counts no more than one penalty. Of rows and columns the
    smaller number is that of the matrix; where both exceed 4096, it is computed from the columns
    of largest variance, since leaving out columns never raises the objective.

    The errors of computed eigenvalues of a symmetric matrix of order m are at most a small multiple
    of ``m eps`` times the largest one; forming the matrix adds ``n eps`` times the trace. Eight
    times both are subtracted for each eigenvalue that is not far above the penalty.

    Examples
    --------
    >>> from hardbayes import DPMeans, objective_lower_bound
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, _ = make_three_gaussians(random_state=0)
    >>> model = DPMeans(300.0, random_state=0).fit(X)
    >>> print(f"{objective_lower_bound(X, 300.0):.0f} <= {model.objective_:.0f}")
    900 <= 2405
    """
    geometry = geometry_for("squared_euclidean")
    matrix = check_matrix(X, geometry)
    given = check_weights(sample_weight, matrix, geometry)
    weights = np.array(np.broadcast_to(1.0 if given is None else given, matrix.shape[0]))
    rows = matrix.astype(np.float64)
    largest = float(np.abs(rows.data if is_sparse(rows) else rows).max(initial=0.0))
    geometry.check_scale(rows.shape[1], float(weights.sum()), largest)
    return bound_of_rows(rows, weights, float(cluster_penalty))


def bound_of_rows(rows: Matrix, weights: Floats, penalty: float) -> float:
    """Return the bound for float64 rows (n, d)."""
    mean = weighted_mean(rows, weights)
    if min(rows.shape) > LARGEST_MATRIX:
        kept = np.argsort(-_variances(rows, weights, mean), kind="stable")[:LARGEST_MATRIX]
        rows, mean = rows[:, np.sort(kept)], mean[np.sort(kept)]
    if not is_sparse(rows):
        # Twice: the first mean of rows far from zero is rounded.
        rows = rows - mean
        mean = weighted_mean(rows, weights)
    n, d = rows.shape
    values = scatter_values(rows, weights, mean)
    squares = float(weights @ _squares(rows))
    error = GUARD * EPSILON * ((n + d) * squares)
    lowered = np.minimum(np.maximum(values - error, 0.0), penalty)
    return float(np.sum(lowered)) * (1.0 - n * EPSILON) + penalty


def _squares(rows: Matrix) -> Floats:
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.square(rows).sum(axis=1)


def _variances(rows: Matrix, weights: Floats, mean: Floats) -> Floats:
    squares = rows.multiply(rows) if is_sparse(rows) else np.square(rows)
    return np.asarray(squares.T @ (weights / weights.sum())).ravel() - mean**2
