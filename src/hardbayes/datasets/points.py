"""Clusters of points, overlapping or apart, and groups of rows that share clusters."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hardbayes.datasets._checks import (
    check_above,
    check_counts,
    check_rows_for_clusters,
    draw_labels,
)

# Chosen so that DP-means, with the farthest-first penalty for three clusters, nearly always finds
# three and has the agreement with the truth that the paper reports: an NMI of about .89.
_MEANS = np.array([[0.0, 0.0], [5.0, 5.5], [8.5, 0.0]])
_DEVIATIONS = np.array([1.5, 1.8, 1.6])


def make_three_gaussians(
    n_samples: int = 300,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Draw three round Gaussians in the plane that overlap a little.

    In the style of the first synthetic example of Kulis and Jordan [1]_ (their Figure 2a),
    whose parameters were not published.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows, at least 3. The sizes of the three Gaussians differ by one row at most.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points, in random order.
    y : ndarray of shape (n_samples,), dtype int32
        The Gaussian each point was drawn from: 0, 1 or 2.

    References
    ----------
    .. [1] B. Kulis and M. I. Jordan, "Revisiting k-means: New Algorithms via Bayesian
       Nonparametrics", ICML 2012.

    Examples
    --------
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> X.shape
    (300, 2)
    """
    check_counts("make_three_gaussians", 3, n_samples=n_samples)
    rng = check_random_state(random_state)
    y = draw_labels(rng, n_samples, 3)
    X = _MEANS[y] + _DEVIATIONS[y, np.newaxis] * rng.standard_normal((n_samples, 2))
    return X, y


def make_blobs_apart(
    n_samples: int = 500,
    n_features: int = 2,
    n_clusters: int = 5,
    *,
    separation: float = 10.0,
    radius: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Draw round clusters with guaranteed gaps between them, in any dimension.

    Rows are uniform in balls around centres that are at least ``separation * radius`` apart. So
    two rows of one cluster are at most ``2 * radius`` apart, and two rows of different clusters at
    least ``(separation - 2) * radius``: above a separation of 4 the clusters are unambiguous.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows, at least `n_clusters`.
    n_features : int, default=2
        Number of columns.
    n_clusters : int, default=5
        Number of clusters. Their sizes differ by one row at most.
    separation : float, default=10.0
        Least distance between two centres, in units of `radius`; above 2, so that balls do not
        touch.
    radius : float, default=1.0
        Radius of every cluster.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points, in random order.
    y : ndarray of shape (n_samples,), dtype int32
        The cluster of each point, from 0 to ``n_clusters - 1``; none is empty.

    Examples
    --------
    >>> from hardbayes.datasets import make_blobs_apart
    >>> X, y = make_blobs_apart(60, n_features=3, n_clusters=4, random_state=0)
    >>> X.shape, int(y.max()) + 1
    ((60, 3), 4)
    """
    function = "make_blobs_apart"
    check_counts(function, n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    check_above(function, 2.0, separation=separation)
    check_above(function, 0.0, radius=radius)
    check_rows_for_clusters(n_samples, n_clusters, function=function)
    rng = check_random_state(random_state)
    centers = _draw_centers(rng, n_clusters, n_features, separation)
    y = draw_labels(rng, n_samples, n_clusters)
    X = radius * (centers[y] + _draw_in_unit_ball(rng, n_samples, n_features))
    return X, y


def _draw_centers(
    rng: np.random.RandomState, n_clusters: int, n_features: int, gap: float
) -> NDArray[np.float64]:
    """Draw centres one by one, each at least `gap` from all before it."""
    centers = np.empty((n_clusters, n_features))
    # A box large enough for all; it grows where no place is left for the next centre.
    side = 1.5 * gap * n_clusters ** (1.0 / n_features)
    for k in range(n_clusters):
        while True:
            candidate = side * (rng.uniform(size=n_features) - 0.5)
            if np.all(np.sum((centers[:k] - candidate) ** 2, axis=1) >= gap**2):
                break
            side *= 1.01
        centers[k] = candidate
    return centers


def _draw_in_unit_ball(
    rng: np.random.RandomState, n_samples: int, n_features: int
) -> NDArray[np.float64]:
    """Draw points uniformly from the ball of radius 1 around the origin."""
    directions = rng.standard_normal((n_samples, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.uniform(size=(n_samples, 1)) ** (1.0 / n_features)


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
