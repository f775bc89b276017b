"""The papers' rule: the penalty for k clusters from farthest-first traversal."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.frame import used_columns
from hardbayes.core.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.validation import check_matrix, check_weights, checking_parameters
from hardbayes.dp_means.problem import Problem, opening_costs, pose
from hardbayes.dp_means.starts import costs_at


def farthest_first_penalty(problem: Problem, n_clusters: int, prior_weight: float = 0.0) -> float:
    """Return the largest cost to the set T in round ``n_clusters``, in the user's units.

    T starts as the overall mean; each round adds the row farthest from it. Rows of weight zero are
    left out. With a prior, a row opens a cluster at a centre shrunk to the mean: that centre is
    added to T, and its opening cost is subtracted from the row's cost.
    """
    rows = problem.rows
    counted = np.broadcast_to(rows.weights, rows.n_rows) > 0
    free = replace(problem.partition(0.0, prior_weight, None), prior_weight=prior_weight)
    surcharge = opening_costs(rows, free, np.ones(1))
    nearest = costs_at(rows, free, problem.mean)

    def farthest_row() -> tuple[int, float]:
        if len(surcharge) == 1 and counted.all():  # without temporary arrays of n rows
            row = int(np.argmax(nearest))
            return row, max(0.0, float(nearest[row] - surcharge[0]))
        excess = np.where(counted, nearest - surcharge, -1.0)
        row = int(np.argmax(excess))
        return row, max(0.0, float(excess[row]))

    for _ in range(n_clusters - 1):
        row, farthest = farthest_row()
        if farthest == 0:
            return 0.0
        centre = free.opening_centres(rows.take(np.array([row])).dense(), np.ones(1))[0]
        np.minimum(nearest, costs_at(rows, free, centre), out=nearest)
    farthest = farthest_row()[1]
    penalty = farthest / problem.frame.unit
    if farthest > 0 and penalty < np.finfo(np.float64).tiny:
        raise ValueError(
            "The rows of X are so close together that their squared distances underflow. "
            "Multiply X by a power of ten."
        )
    return penalty


@checking_parameters(
    {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "divergence": [StrOptions(set(GEOMETRIES)), Geometry],
    }
)
def penalty_for(
    X: Any,
    n_clusters: int,
    *,
    divergence: str | Geometry = "squared_euclidean",
    sample_weight: Any = None,
) -> float:
    """Penalty for about ``n_clusters`` clusters with the published algorithm.

    Kulis & Jordan 2012, section 6.1: a set starts with the overall mean, each round adds the row
    farthest from the set, and the largest distance to the set in round ``n_clusters`` is returned.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    n_clusters : int
        Desired number of clusters, from 1 to the number of rows.
    divergence : str or Geometry, default="squared_euclidean"
        The divergence, which determines the units of the penalty.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the overall mean; rows of weight zero are left out.

    Returns
    -------
    penalty : float
        A value for ``cluster_penalty``.

    Notes
    -----
    The rule is made for ``search="paper"``. A search that minimises better finds more clusters at
    the same penalty: for the default search use ``penalty_path(X).for_n_clusters(k)``.

    Examples
    --------
    >>> from hardbayes import DPMeans, penalty_for
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> penalty = penalty_for(X, 3)
    >>> DPMeans(penalty, search="paper", random_state=1).fit(X).n_clusters_
    3
    """
    geometry = geometry_for(divergence)
    matrix = check_matrix(X, geometry)
    if n_clusters > matrix.shape[0]:
        raise ValueError(
            "The 'n_clusters' parameter of penalty_for must be an int from 1 to the number of "
            f"rows, {matrix.shape[0]}. Got {n_clusters!r} instead."
        )
    weights = check_weights(sample_weight, matrix, geometry)
    with Pool(resolve_threads(None)) as pool:
        matrix = used_columns(matrix, geometry).of(matrix)
        return farthest_first_penalty(pose(matrix, geometry, weights, pool), n_clusters)
