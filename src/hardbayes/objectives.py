"""The objective of any labelling, whatever it comes from; clusters numbered by size."""

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats, row_sums
from hardbayes.core.estimator import ClusterEstimator
from hardbayes.core.frame import used_columns
from hardbayes.core.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.pool import Pool, import_whole, resolve_threads
from hardbayes.core.validation import check_labels, check_matrix, check_weights, checking_parameters
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.dp_means.objective import measure_labels
from hardbayes.dp_means.problem import pose
from hardbayes.features.estimator import FeatureEstimator
from hardbayes.features.moves import refit_components
from hardbayes.features.problem import pose_features
from hardbayes.features.rows import Allocation
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.gaussian.problem import GaussianPartition, weighted_mean, whitening
from hardbayes.graph.fitted import measure
from hardbayes.graph.problem import make_problem
from hardbayes.graph.reading import check_graph
from hardbayes.groups.estimator import HDPMeans
from hardbayes.groups.problem import GroupedPartition
from hardbayes.groups.reading import check_groups
from hardbayes.kernel.estimator import KernelDPMeans
from hardbayes.mixed.estimator import MixedDPMeans
from hardbayes.topics.estimator import HDPTopics

E = TypeVar("E", bound=ClusterEstimator)


@checking_parameters(
    {
        "cluster_penalty": [Interval(Real, None, None, closed="neither"), None],
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
    cluster_penalty: float | None = None,
    *,
    estimator: Any = None,
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
        Labels of any type; rows with equal labels form a cluster. Of features, memberships: an
        array of shape (n_samples, k) of zeros and ones. Of topics, a topic for each stored count of
        the CSR matrix X, row by row, and -1 for the background.
    cluster_penalty : float or None, default=None
        Cost of each cluster or feature, >= 0; of graphs, of any sign. None where there is an
        estimator.
    estimator : GaussianDPMeans, BPMeans, KFeatures or HDPTopics, default=None
        A fitted model whose objective to measure: with its penalties, its priors and its weights of
        words, but clusters, features or topics that are best for these labels. No other parameter
        but ``sample_weight`` applies then.
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
        The value that `DPMeans`, `GraphDPMeans` or `KernelDPMeans` minimises, or the estimator;
        with groups, the value that `HDPMeans` minimises, whose ``global_penalty_`` is the
        `cluster_penalty` here; of memberships, that of `BPMeans`.

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

    Of features, which are memberships, and of clusters with covariances:

    >>> from sklearn.mixture import GaussianMixture
    >>> from hardbayes import BPMeans, GaussianDPMeans
    >>> from hardbayes.datasets import make_dice
    >>> pictures, dice = make_dice(random_state=0)
    >>> print(f"{objective(pictures, dice, 10.0):.1f}")
    40.0
    >>> model = GaussianDPMeans(random_state=0).fit(X)
    >>> labels = GaussianMixture(3, random_state=0).fit_predict(X)
    >>> bool(model.objective_ <= objective(X, labels, estimator=model))
    True
    """
    if estimator is not None:
        return model_objective(X, labels, cluster_penalty, estimator, sample_weight)
    if cluster_penalty is None:
        raise ValueError(
            "The 'cluster_penalty' parameter of objective must be a number where there is no "
            "estimator. Got None instead."
        )
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
    table = np.asarray(labels)
    # A single column of numbers is more likely to be labels of a wrong shape than a membership.
    is_membership = table.ndim == 2 and (table.shape[1] > 1 or table.dtype == np.bool_)
    if is_membership and groups is None:
        return feature_objective(X, labels, cluster_penalty, sample_weight)
    return rows_objective(
        X, labels, cluster_penalty, geometry_for(divergence), prior_weight, sample_weight, groups,
        local_penalty,
    )  # fmt: skip


def model_objective(
    X: Any, labels: Any, cluster_penalty: Any, model: Any, sample_weight: Any
) -> float:
    """Return the objective of a fitted model at any labels."""
    if cluster_penalty is not None:
        raise ValueError(
            "The 'cluster_penalty' parameter of objective must be None where the estimator has "
            f"penalties. Got {cluster_penalty!r} instead. Leave one of them out."
        )
    if not isinstance(model, GaussianDPMeans | FeatureEstimator | HDPTopics):
        raise TypeError(
            "The 'estimator' parameter of objective must be a fitted GaussianDPMeans, BPMeans, "
            f"KFeatures or HDPTopics. Got {type(model).__name__} instead. For other models pass "
            "their penalty and their parameters."
        )
    check_is_fitted(model)
    if isinstance(model, GaussianDPMeans):
        return gaussian_objective(X, labels, model, sample_weight)
    if isinstance(model, HDPTopics):
        return topic_objective(X, labels, model, sample_weight)
    return feature_objective(X, labels, model.component_penalty_, sample_weight)


def gaussian_objective(X: Any, labels: Any, model: GaussianDPMeans, sample_weight: Any) -> float:
    """Return the objective of any labels where clusters have covariances."""
    matrix = check_matrix(X, model._geometry, model, reset=False)
    numbers = check_labels(labels, matrix.shape[0])
    weights = check_weights(sample_weight, matrix)
    every = np.array(np.broadcast_to(1.0 if weights is None else weights, len(numbers)))
    penalty, rate = model.cluster_penalty_, float(model.covariance_penalty)
    with Pool(resolve_threads(None)) as pool:
        if model.covariances is None:
            frame = whitening(weighted_mean(matrix, every), model.covariance_prior_)
            partition = GaussianPartition(penalty, rate, 1)
            rows = replace(frame.rows(matrix, every, pool), partition=partition)
        else:
            import_whole("hardbayes.gaussian.known")
            from hardbayes.gaussian.known import known_rows

            diagonal = model.covariance_type == "diag"
            rows = known_rows(matrix, every, model.covariances, diagonal, penalty, rate, pool)
        clusters = rows.statistics(numbers, int(numbers.max()) + 1)
        clusters = clusters.pick(clusters.weights > 0)
        if clusters.k > rows.max_clusters and model.covariances is not None:
            raise ValueError(
                f"The 'labels' parameter of objective must name at most {rows.max_clusters} "
                f"clusters, as many as covariances are known. Got {clusters.k} instead."
            )
        return float(rows.costs(clusters).sum()) + penalty * clusters.k


def feature_objective(X: Any, labels: Any, penalty: float, sample_weight: Any) -> float:
    """Return the objective of any memberships (n, k), with the components that are best."""
    matrix = check_matrix(X, SquaredEuclidean())
    weights = check_weights(sample_weight, matrix)
    table = np.asarray(labels)
    if table.ndim != 2 or len(table) != matrix.shape[0] or not np.isin(table, (0, 1)).all():
        raise ValueError(
            f"The 'labels' parameter of objective must be memberships of shape ({matrix.shape[0]}, "
            f"k), zeros and ones. Got an array of shape {table.shape} instead."
        )
    membership = np.ascontiguousarray(table, np.uint8)
    with Pool(resolve_threads(None)) as pool:
        problem = pose_features(matrix, weights, pool)
        components = np.zeros((membership.shape[1], matrix.shape[1]))
        best = refit_components(problem.rows, Allocation(components, membership))
        fit = problem.rows.collect(best).fit / problem.unit
    seen = table if weights is None or len(weights) == 1 else table[weights > 0]
    return float(fit) + penalty * int(seen.any(axis=0).sum())


def topic_objective(X: Any, labels: Any, model: HDPTopics, sample_weight: Any) -> float:
    """Return the objective of any topics of the words of documents."""
    matrix = sparse.csr_array(check_matrix(X, model._geometry, model, reset=False))
    numbers = np.asarray(labels)
    if numbers.shape != matrix.data.shape or numbers.dtype.kind not in "iu":
        raise ValueError(
            "The 'labels' parameter of objective must be integers, one for each of the "
            f"{len(matrix.data)} stored counts of X. Got shape {numbers.shape} of "
            f"{numbers.dtype} instead."
        )
    fitted = model._model
    n_free = fitted.topics.n_free
    if len(numbers) and numbers.min() < -n_free:
        raise ValueError(
            "The 'labels' parameter of objective must be at least "
            f"{-n_free}: -1 is the background, which this model {'has' if n_free else 'has not'}. "
            f"Got {numbers.min()} instead."
        )
    weights = check_weights(sample_weight, matrix, model._geometry)
    of_words = sparse.csr_array((numbers + 2, matrix.indices, matrix.indptr), matrix.shape)
    weighted = fitted.weights.weigh(matrix, weights).tocoo()
    kinds, topics = np.unique(of_words[weighted.row, weighted.col] - 2, return_inverse=True)
    in_background = n_free and len(kinds) and kinds[0] == -1
    topics = topics + (n_free - bool(in_background))
    k = len(kinds) + n_free - bool(in_background)
    totals = np.zeros((matrix.shape[1], k))
    np.add.at(totals, (weighted.col, topics), weighted.data)
    pairs = np.unique(np.stack([weighted.row, topics])[:, topics >= n_free], axis=1)
    sizes = np.bincount(pairs[0], minlength=matrix.shape[0])
    penalties = fitted.penalty.of(row_sums(sparse.csr_array(weighted)))
    if weights is not None and not fitted.penalty.per_word:
        penalties = penalties * weights
    return fitted.structure.objective(totals, penalties, sizes)


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
    numbered.__dict__.pop("_block_labels", None)
    labels = getattr(model, "labels_", None)  # a model of Dask from a file has none
    if labels is not None:
        of_block = partial(np.take, numbers)
        is_here = isinstance(labels, np.ndarray)
        numbered.labels_ = of_block(labels) if is_here else labels.map_blocks(of_block)
    for name in ("cluster_centers_", "cluster_weights_", "covariances_"):
        if name in vars(model):  # centres may be computed from the model
            setattr(numbered, name, getattr(model, name)[order])
    if "group_cluster_weights_" in vars(model):
        numbered.group_cluster_weights_ = model.group_cluster_weights_[:, order]
    numbered._model = model._model.reordered(order)
    return numbered
