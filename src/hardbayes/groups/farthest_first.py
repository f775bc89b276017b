"""The papers' rule for the two penalties of the hard HDP: local and global."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.validation import check_labels, check_matrix, checking_parameters
from hardbayes.dp_means.choice.farthest_first import farthest_first_penalty
from hardbayes.dp_means.problem import pose
from hardbayes.dp_means.starts import costs_at


@checking_parameters(
    {
        "n_local": [Interval(Integral, 1, None, closed="left")],
        "n_global": [Interval(Integral, 1, None, closed="left")],
        "divergence": [StrOptions(set(GEOMETRIES)), Geometry],
    }
)
def local_global_penalties_for(
    X: Any,
    groups: Any,
    n_local: int,
    n_global: int,
    *,
    divergence: str | Geometry = "squared_euclidean",
) -> tuple[float, float]:
    """Penalties for about ``n_local`` clusters in each group and ``n_global`` in all.

    Kulis & Jordan 2012, section 6.1. The local penalty is the farthest-first penalty for
    ``n_local`` clusters, averaged over the groups. For the global penalty, groups take the place of
    rows: a set starts with the overall mean; each round adds the mean of the group with the largest
    total cost to the set; the largest cost in round ``n_global`` is the penalty.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    groups : array-like of shape (n_samples,)
        The group of each row: any labels.
    n_local : int
        Desired number of clusters in each group, at most its number of rows.
    n_global : int
        Desired number of clusters in all, from 1 to the number of groups.
    divergence : str or Geometry, default="squared_euclidean"
        The divergence, which determines the units of the penalties.

    Returns
    -------
    local_penalty, global_penalty : float
        Penalties for the hard HDP.

    Notes
    -----
    The global penalty is a sum over the rows of a group, so that it suits the default search of
    `HDPMeans` better than ``search="paper"``, where single rows open clusters. The rule does not
    reproduce the paper's own experiment: in every reading that was tried, the global penalty is too
    large for the 17 clusters reported.

    Examples
    --------
    >>> from hardbayes import local_global_penalties_for
    >>> X = [[0.0], [6.0], [10.0], [16.0], [28.0]]
    >>> local_global_penalties_for(X, ["a", "a", "b", "b", "b"], n_local=1, n_global=2)
    (54.5, 180.0)
    """
    geometry = geometry_for(divergence)
    matrix = check_matrix(X, geometry)
    numbers = check_labels(groups, matrix.shape[0], "groups")
    n_groups = int(numbers.max()) + 1
    if n_global > n_groups:
        raise ValueError(
            "The 'n_global' parameter of local_global_penalties_for must be an int from 1 to the "
            f"number of groups, {n_groups}. Got {n_global!r} instead."
        )
    with Pool(resolve_threads(None)) as pool:
        local = []
        means = []
        for group in range(n_groups):
            rows = matrix[np.flatnonzero(numbers == group)]
            problem = pose(rows, geometry, None, pool)
            local.append(farthest_first_penalty(problem, min(n_local, rows.shape[0])))
            means.append(problem.frame.from_working(problem.mean))
        whole = pose(matrix, geometry, None, pool)
        points = whole.frame.to_working(np.array(means))
        partition = whole.partition(0.0, 0.0, None)
        nearest = np.bincount(numbers, costs_at(whole.rows, partition, whole.mean), n_groups)
        for _ in range(n_global - 1):
            costs = costs_at(whole.rows, partition, points[int(np.argmax(nearest))])
            np.minimum(nearest, np.bincount(numbers, costs, n_groups), out=nearest)
    return float(np.mean(local)), float(nearest.max() / whole.frame.unit)
