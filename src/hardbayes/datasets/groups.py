"""Groups of rows that share clusters."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hardbayes.datasets._checks import check_above, check_counts


def make_shared_gaussians(
    n_groups: int = 50,
    n_clusters: int = 15,
    clusters_per_group: int = 5,
    rows_per_cluster: int = 5,
    *,
    deviation: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Draw groups of points, each from some of the same Gaussians.

    By default the experiment of Kulis and Jordan [1]_, section 6.3 and Figure 2d: 15 Gaussians with
    means uniform in the unit square and covariances of 0.01 times the identity; 50 data sets of
    25 points, 5 from each of 5 Gaussians chosen at random. The Gaussians overlap so much that
    neither one group alone nor all rows together show them.

    Parameters
    ----------
    n_groups : int, default=50
        Number of groups.
    n_clusters : int, default=15
        Number of Gaussians.
    clusters_per_group : int, default=5
        How many of them each group has, at most `n_clusters`.
    rows_per_cluster : int, default=5
        Number of rows of each group from each of its Gaussians.
    deviation : float, default=0.1
        Standard deviation of every Gaussian in each of the two columns.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    X : ndarray of shape (n_groups * clusters_per_group * rows_per_cluster, 2)
        The points, group by group, in random order within each.
    groups : ndarray of int32
        The group of each point.
    y : ndarray of int32
        The Gaussian each point was drawn from.

    References
    ----------
    .. [1] B. Kulis and M. I. Jordan, "Revisiting k-means: New Algorithms via Bayesian
       Nonparametrics", ICML 2012.

    Examples
    --------
    >>> from hardbayes.datasets import make_shared_gaussians
    >>> X, groups, y = make_shared_gaussians(random_state=0)
    >>> X.shape, int(groups.max()) + 1
    ((1250, 2), 50)
    """
    function = "make_shared_gaussians"
    chosen, each = clusters_per_group, rows_per_cluster
    check_counts(function, n_groups=n_groups, n_clusters=n_clusters)
    check_counts(function, clusters_per_group=chosen, rows_per_cluster=each)
    check_above(function, 0.0, deviation=deviation)
    if chosen > n_clusters:
        raise ValueError(
            f"The 'clusters_per_group' parameter of {function} must be at most n_clusters="
            f"{n_clusters}. Got {chosen} instead."
        )
    rng = check_random_state(random_state)
    means = rng.uniform(size=(n_clusters, 2))
    y = np.concatenate(
        [
            rng.permutation(np.repeat(rng.choice(n_clusters, chosen, replace=False), each))
            for _ in range(n_groups)
        ]
    ).astype(np.int32)
    X = means[y] + deviation * rng.standard_normal((len(y), 2))
    groups = np.repeat(np.arange(n_groups, dtype=np.int32), chosen * each)
    return X, groups, y
