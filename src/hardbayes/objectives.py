"""The objective of any labelling, whatever it comes from; clusters numbered by size."""

from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats
from hardbayes.core.estimator import ClusterEstimator
from hardbayes.core.frame import used_columns
from hardbayes.core.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.validation import check_labels, check_matrix, check_weights, checking_parameters
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.dp_means.objective import measure_labels
from hardbayes.dp_means.problem import pose
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.graph.fitted import measure
from hardbayes.graph.problem import make_problem
from hardbayes.graph.reading import check_graph
from hardbayes.groups.estimator import HDPMeans
from hardbayes.groups.problem import GroupedPartition
from hardbayes.groups.reading import check_groups
from hardbayes.kernel.estimator import KernelDPMeans
from hardbayes.mixed.estimator import MixedDPMeans

E = TypeVar("E", bound=ClusterEstimator)


@checking_parameters(
    {
        "cluster_penalty": [Interval(Real, None, None, closed="neither")],
        "divergence": [StrOptions(set(GEOMETRIES)), Geometry],
        "prior_weight": [Interval(Real, 0, 1e9, closed="both")],
        "local_penalty": [Interval(Real, 0, None, closed="left")],
        "cut": [StrOptions({"normalized", "ratio"}), None],
        "kernel": [KernelDPMeans._parameter_constraints["kernel"][0], callable, None],
        "gamma": KernelDPMeans._parameter_constraints["gamma"],
        "degree": KernelDPMeans._parameter_constraints["degree"],
        "coef0": KernelDPMeans._parameter_constraints["coef0"],
        "kernel_params": [dict, None],
        "balance": KernelDPMeans._parameter_constraints["balance"],
    }
)
def objective(
    X: Any,
    labels: Any,
    cluster_penalty: float,
    *,
    divergence: str | Geometry = "squared_euclidean",
    prior_weight: float = 0.0,
    sample_weight: Any = None,
    groups: Any = None,
    local_penalty: float = 0.0,
    cut: str | None = None,
    kernel: Any = None,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    balance: bool | str = "auto",
) -> float:
    """Objective of a labelling.

    ``sum_i w_i D(x_i, mu_z(i)) + sum_c [cluster_penalty + prior_weight D(m, mu_c)]``

    where ``mu_c`` is the minimising centre of cluster c (Kulis & Jordan 2012, eq. 1). For rows in
    groups ``local_penalty`` is added for each pair of a group and a cluster that has rows of it
    (their eq. 2). With ``cut``, X is a graph, and the objective is that of `GraphDPMeans`; with
    ``kernel``, distances are those of `KernelDPMeans`.

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
    groups : array-like of shape (n_samples,), default=None
        The group of each row: any labels. None: one group.
    local_penalty : float, default=0.0
        Cost of each cluster in each group that uses it.
    cut : {"normalized", "ratio"} or None, default=None
        Which cut of a graph to measure; ``divergence``, ``prior_weight`` and ``sample_weight`` do
        not apply to graphs. None where X has rows.
    kernel : str, callable or None, default=None
        A kernel, as of `KernelDPMeans`, in place of a divergence.
    gamma, degree, coef0, kernel_params, balance
        Its parameters, with the defaults of `KernelDPMeans`. Where more than 2048 rows choose their
        own bandwidths (``gamma=None``), these come from a sample.

    Returns
    -------
    objective : float
        The value that `DPMeans`, `GraphDPMeans` or `KernelDPMeans` minimises; with groups, the
        value that `HDPMeans` minimises, whose ``global_penalty_`` is the `cluster_penalty` here.

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
    if kernel is not None:
        template = KernelDPMeans(
            kernel=kernel, gamma=gamma, degree=degree, coef0=coef0,
            kernel_params=kernel_params, balance=balance, random_state=0,
        )  # fmt: skip
        return kernel_objective(
            X, labels, cluster_penalty, template, sample_weight, groups, local_penalty
        )
    return rows_objective(
        X, labels, cluster_penalty, geometry_for(divergence), prior_weight, sample_weight, groups,
        local_penalty,
    )  # fmt: skip


def rows_objective(
    X: Any,
    labels: Any,
    cluster_penalty: float,
    geometry: Geometry,
    prior_weight: float,
    sample_weight: Any,
    groups: Any,
    local_penalty: float,
) -> float:
    """Return the objective of any labels of rows, which may be in groups."""
    matrix = check_matrix(X, geometry)
    numbers = check_labels(labels, matrix.shape[0])
    weights = check_weights(sample_weight, matrix, geometry)
    with Pool(resolve_threads(None)) as pool:
        matrix = used_columns(matrix, geometry).of(matrix)
        problem = pose(matrix, geometry, weights, pool)
        partition = problem.partition(cluster_penalty, prior_weight, None)
        terms = measure_labels(problem.state(partition), numbers.astype(np.int32))
    in_units = GroupedPartition(replace(partition, penalty=cluster_penalty), local_penalty)
    n_local = count_local_clusters(groups, numbers, weights)
    penalties = in_units.total_penalty(n_local, terms.n_clusters)
    return (terms.fit + terms.prior) / problem.unit + penalties


def graph_objective(
    X: Any, labels: Any, cluster_penalty: float, ratio: bool, sample_weight: Any
) -> float:
    """Return the cut of any labels of the vertices of a graph, plus the penalty of each cluster."""
    if sample_weight is not None:
        raise ValueError("Vertices of a graph have no 'sample_weight'. Pass weights of links.")
    links, loops, _ = check_graph(X)
    numbers = check_labels(labels, len(loops))
    with Pool(1) as pool:
        cuts = measure(make_problem(links, loops, ratio, pool), numbers, cluster_penalty)[1]
    return float(cuts.sum()) + cluster_penalty * len(cuts)


def kernel_objective(
    X: Any,
    labels: Any,
    cluster_penalty: float,
    template: KernelDPMeans,
    sample_weight: Any,
    groups: Any,
    local_penalty: float,
) -> float:
    """Return the objective of any labels in the space of the kernel of an estimator."""
    matrix = check_matrix(X, geometry_for("squared_euclidean"))
    numbers = check_labels(labels, matrix.shape[0])
    weights = check_weights(sample_weight, matrix)
    with Pool(resolve_threads(None)) as pool:
        problem = template._posed(matrix, weights, template._stream(), pool)
        clusters = problem.rows.statistics(numbers, int(numbers.max()) + 1)
        n_clusters = int(np.count_nonzero(clusters.volumes))
        fit = float(problem.rows.costs(clusters).sum())
    n_local = count_local_clusters(groups, numbers, weights)
    return fit + cluster_penalty * n_clusters + local_penalty * n_local


def count_local_clusters(groups: Any, numbers: NDArray[np.intp], weights: Floats | None) -> int:
    """Return how many pairs of a group and a cluster hold rows of positive weight."""
    members = check_groups(groups, len(numbers))[0]
    if weights is not None and len(weights) > 1:
        members, numbers = members[weights > 0], numbers[weights > 0]
    return len(np.unique(members * (int(numbers.max()) + 1) + numbers))


def by_size(model: E) -> E:
    """Return a fitted model with its clusters numbered by size: cluster 0 is the largest.

    Estimators number clusters in the order in which they were opened.

    Parameters
    ----------
    model : DPMeans, HDPMeans, GaussianDPMeans or MixedDPMeans
        A fitted estimator; it does not change.

    Returns
    -------
    model : DPMeans, HDPMeans, GaussianDPMeans or MixedDPMeans
        A copy in which ``labels_``, ``cluster_centers_``, ``cluster_weights_``, ``covariances_``,
        ``group_cluster_weights_`` and predictions have the new numbers. Clusters of equal weight
        keep their order.

    Examples
    --------
    >>> from hardbayes import DPMeans, by_size
    >>> X = [[0.0], [5.0], [5.1], [9.0], [9.1], [9.2]]
    >>> model = DPMeans(1.0, order="given").fit(X)
    >>> by_size(model).labels_
    array([2, 1, 1, 0, 0, 0], dtype=int32)
    """
    if not isinstance(model, DPMeans | HDPMeans | GaussianDPMeans | MixedDPMeans):
        raise TypeError(
            "The 'model' parameter of by_size must be a fitted DPMeans, HDPMeans, GaussianDPMeans "
            f"or MixedDPMeans. Got {type(model).__name__} instead."
        )
    check_is_fitted(model)
    order = np.argsort(-model.cluster_weights_, kind="stable")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order))
    numbered: Any = copy(model)
    numbered.labels_ = numbers[model.labels_]
    for name in ("cluster_centers_", "cluster_weights_", "covariances_"):
        if name in vars(model):  # centres may be computed from the model
            setattr(numbered, name, getattr(model, name)[order])
    if "group_cluster_weights_" in vars(model):
        numbered.group_cluster_weights_ = model.group_cluster_weights_[:, order]
    numbered._model = model._model.reordered(order)
    return numbered
