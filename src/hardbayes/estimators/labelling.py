"""The objective of any labelling, to compare clusterings of any origin."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from hardbayes.engine.partition.objective import measure_labels
from hardbayes.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.pool import Pool, resolve_threads
from hardbayes.problems.columns import used_columns
from hardbayes.problems.partition import pose
from hardbayes.validation import check_labels, check_matrix, check_weights


@validate_params(
    {
        "cluster_penalty": [Interval(Real, 0, None, closed="left")],
        "divergence": [StrOptions(set(GEOMETRIES)), Geometry],
        "prior_weight": [Interval(Real, 0, 1e9, closed="both")],
    },
    prefer_skip_nested_validation=True,
)
def objective(
    X: Any,
    labels: Any,
    cluster_penalty: float,
    *,
    divergence: str | Geometry = "squared_euclidean",
    prior_weight: float = 0.0,
    sample_weight: Any = None,
) -> float:
    """Objective of a labelling.

    ``sum_i w_i D(x_i, mu_z(i)) + sum_c [cluster_penalty + prior_weight D(m, mu_c)]``

    where ``mu_c`` is the minimising centre of cluster c (Kulis & Jordan 2012, eq. 1).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    labels : array-like of shape (n_samples,)
        Labels of any type; rows with equal labels form a cluster.
    cluster_penalty : float
        Cost of each cluster.
    divergence : str or Geometry, default="squared_euclidean"
        Cost of a row at a centre.
    prior_weight : float, default=0.0
        Number of pseudo-rows at the overall mean in each cluster. To compare with a fitted model,
        pass its ``prior_weight_``: under "auto" `DPMeans` uses 10 for "kl", "poisson" and
        "logistic" on data with zeros.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. A cluster of weight zero is not counted.

    Returns
    -------
    objective : float
        The value that `DPMeans` minimises.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from hardbayes import DPMeans, objective
    >>> from hardbayes.datasets import make_three_gaussians, make_word_histograms
    >>> X, y = make_three_gaussians(random_state=0)
    >>> model = DPMeans(300.0, random_state=0).fit(X)
    >>> labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    >>> print(f"{model.objective_:.1f}, {objective(X, labels, 300.0):.1f}")
    2404.7, 2404.7

    With a prior, which "kl" has on data with zeros by default:

    >>> counts, subjects = make_word_histograms(random_state=0)
    >>> model = DPMeans(30.0, divergence="kl", random_state=0).fit(counts)
    >>> value = objective(
    ...     counts,
    ...     model.labels_,
    ...     model.cluster_penalty_,
    ...     divergence="kl",
    ...     prior_weight=model.prior_weight_,
    ... )
    >>> print(f"{model.objective_:.2f}, {value:.2f}")
    312.41, 312.41
    """
    geometry = geometry_for(divergence)
    matrix = check_matrix(X, geometry)
    numbers = check_labels(labels, matrix.shape[0])
    weights = check_weights(sample_weight, matrix, geometry)
    with Pool(resolve_threads(None)) as pool:
        matrix = used_columns(matrix, geometry).of(matrix)
        problem = pose(matrix, geometry, weights, pool)
        partition = problem.partition(cluster_penalty, prior_weight, None)
        terms = measure_labels(problem.state(partition), numbers.astype(np.int32))
    in_units = replace(partition, penalty=cluster_penalty)
    return (terms.fit + terms.prior) / problem.unit + in_units.total_penalty(terms.n_clusters)
