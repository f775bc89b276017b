"""The objective of any labelling, to compare clusterings of any origin."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from hardbayes.engine.partition.objective import measure_labels
from hardbayes.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.models.graph import measure
from hardbayes.pool import Pool, resolve_threads
from hardbayes.problems.columns import used_columns
from hardbayes.problems.graph import pose_graph
from hardbayes.problems.partition import pose
from hardbayes.validation import check_labels, check_matrix, check_weights
from hardbayes.validation.graph import check_graph


@validate_params(
    {
        "cluster_penalty": [Interval(Real, None, None, closed="neither")],
        "divergence": [StrOptions(set(GEOMETRIES)), Geometry],
        "prior_weight": [Interval(Real, 0, 1e9, closed="both")],
        "cut": [StrOptions({"normalized", "ratio"}), None],
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
    cut: str | None = None,
) -> float:
    """Objective of a labelling.

    ``sum_i w_i D(x_i, mu_z(i)) + sum_c [cluster_penalty + prior_weight D(m, mu_c)]``

    where ``mu_c`` is the minimising centre of cluster c (Kulis & Jordan 2012, eq. 1). With ``cut``,
    X is a graph, and the objective is that of `GraphDPMeans`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; or a graph, as `GraphDPMeans.fit` takes it.
    labels : array-like of shape (n_samples,)
        Labels of any type; rows with equal labels form a cluster.
    cluster_penalty : float
        Cost of each cluster, >= 0; of graphs, of any sign.
    divergence : str or Geometry, default="squared_euclidean"
        Cost of a row at a centre.
    prior_weight : float, default=0.0
        Number of pseudo-rows at the overall mean in each cluster. To compare with a fitted model,
        pass its ``prior_weight_``: under "auto" `DPMeans` uses 10 for "kl", "poisson" and
        "logistic" on data with zeros.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. A cluster of weight zero is not counted.
    cut : {"normalized", "ratio"} or None, default=None
        Which cut of a graph to measure; ``divergence``, ``prior_weight`` and ``sample_weight`` do
        not apply to graphs. None where X has rows.

    Returns
    -------
    objective : float
        The value that `DPMeans`, or `GraphDPMeans`, minimises.

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

    Of a graph:

    >>> from hardbayes.datasets import load_karate_club
    >>> links, factions = load_karate_club()
    >>> print(f"{objective(links, factions, -0.3, cut='normalized'):.3f}")
    -0.318
    """
    if cut is not None:
        return graph_objective(X, labels, cluster_penalty, cut == "ratio", sample_weight)
    if cluster_penalty < 0:
        raise ValueError(
            "The 'cluster_penalty' parameter of objective must be a float in the range [0.0, inf), "
            f'but for graphs (cut="normalized"). Got {cluster_penalty} instead.'
        )
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


def graph_objective(
    X: Any, labels: Any, cluster_penalty: float, ratio: bool, sample_weight: Any
) -> float:
    """Return the cut of any labels of the vertices of a graph, plus the penalty of each cluster."""
    if sample_weight is not None:
        raise ValueError("Vertices of a graph have no 'sample_weight'. Pass weights of links.")
    links, loops, _ = check_graph(X)
    numbers = check_labels(labels, len(loops))
    with Pool(1) as pool:
        cuts = measure(pose_graph(links, loops, ratio, pool), numbers, cluster_penalty)[1]
    return float(cuts.sum()) + cluster_penalty * len(cuts)
