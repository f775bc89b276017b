"""Clusters of the vertices of a graph, as many as pay for themselves."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClusterMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats
from hardbayes.core.estimator import AT_LEAST_ONE, SHARED_CONSTRAINTS, Estimator, fit_task
from hardbayes.core.exact_number import add_told, told_number
from hardbayes.core.loop import Status
from hardbayes.core.plateaus import table_of
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.schema import Schema, contradiction
from hardbayes.core.validation import fit_method
from hardbayes.graph.choice.rule import COLUMNS, FEWEST, choose, refit
from hardbayes.graph.choice.telling import components_sentence, undivided_sentence
from hardbayes.graph.exactly import FEWER, JOINED, fit_exactly, lowest_of, n_components
from hardbayes.graph.fitted import (
    ATTRIBUTES,
    MODEL,
    NO_CLUSTERS,
    FittedGraph,
    fitted_attributes,
    one_cluster,
    undivided,
)
from hardbayes.graph.problem import GraphProblem, make_problem
from hardbayes.graph.reading import check_graph, check_links
from hardbayes.graph.search import best_fit


class GraphDPMeans(ClusterMixin, Estimator):
    """Clusters of the vertices of a graph by a penalised cut, without a given number of them.

    Minimises ``sum_c [cut(c) / volume(c) + cluster_penalty]`` over partitions of the vertices
    (Kulis & Jordan 2012, section 5.2), where ``cut(c)`` is the weight of the links that leave
    cluster c and ``volume(c)`` the sum of the degrees of its vertices, or their number. The cut of
    the whole graph is zero, so the penalty must be negative where more than one cluster is wanted:
    each cluster then earns ``-cluster_penalty`` and pays for the share of its links that it cuts.

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        What is added to the cut for each cluster. For the normalised cut it is between -1 and 0: a
        cluster is worth having where less than a share ``-cluster_penalty`` of its links leaves it,
        and the farther below zero the penalty, the more clusters. At 0 or more there is one
        cluster, with a warning. "auto" compares the modularity of the clusters at many penalties,
        and divides no connected component that random graphs with its degrees match. See
        `penalty_choice_`.
    cut : {"normalized", "ratio"}, default="normalized"
        Divide the cut of a cluster by the sum of its degrees, or by its number of vertices.
        Penalties of the ratio cut have the unit of the weights of links. It cuts off single
        vertices of low degree.
    n_clusters : int or None, default=None
        The number of clusters, where it is known: exactly so many. Connected components are never
        joined, so that there cannot be fewer than these. `cluster_penalty_` is then one at which
        the number is best, or nearest to it.
    max_clusters : int or None, default=None
        Cap on the number of clusters.
    n_init : int, default=3
        Number of starts at a given penalty, of which the best is kept. They begin at other
        penalties and go through the vertices in another order. An automatic penalty comes with its
        clusters, from which the only start begins.
    max_iter : int, default=300
        Maximum number of steps of a start: rounds of moves.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders in which vertices are visited.
    n_jobs : int or None, default=None
        As for `DPMeans`.
    verbose : int, default=0
        1 reports the penalty and the steps of the first start on standard error.

    Attributes
    ----------
    labels_ : ndarray of shape (n_vertices,), int32
        Cluster of each vertex, 0 to K-1.
    n_clusters_ : int
        K.
    cut_ : float
        Sum of `cuts_per_cluster_`: the normalised cut, or the ratio cut.
    cuts_per_cluster_ : ndarray of shape (n_clusters_,)
        Weight of the links that leave each cluster, divided by its volume.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Number of vertices of each cluster.
    cluster_penalty_ : float
        The penalty used; 0 where "auto" divides no connected component.
    penalty_choice_ : dict of ndarrays of shape (n_candidates,)
        With "auto": what was compared to choose the penalty. "n_clusters" and "penalty", of
        linked vertices; "modularity"; "within_error", whether it is within three standard errors of
        the highest; "saved_nats", by how much the clusters shorten a description of the graph;
        "strength", the evidence that the graph has communities, of which 1 is needed; "chosen".
        ``pandas.DataFrame(model.penalty_choice_)`` prints it.
    objective_ : float
        ``cut_ + cluster_penalty_ * n_clusters_``.
    objective_history_, n_iter_, n_splits_, n_merges_, converged_, status_
        As for `DPMeans`.
    vertex_names_ : ndarray of shape (n_vertices,)
        Names of the vertices in the order of `labels_`: those of the graph, or 0, 1, 2, ...
    n_features_in_ : int
        Number of vertices.

    See Also
    --------
    penalty_path : Clusters at many penalties.
    objective : The objective of any labels, with ``cut="normalized"`` or ``"ratio"``.

    Notes
    -----
    Links have no direction: the weight of a link is the mean of the entries (i, j) and (j, i) of a
    matrix, and parallel edges add up. A self-loop counts once in the degree of its vertex and is
    always inside its cluster. A vertex without links to others is a cluster of its own, of cut
    zero, and so is, at least, each connected component. Weights must not be negative.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import GraphDPMeans
    >>> from hardbayes.datasets import make_planted_partition
    >>> adjacency, community = make_planted_partition(4, 30, random_state=0)
    >>> model = GraphDPMeans(random_state=0).fit(adjacency)
    >>> model.n_clusters_
    4
    >>> print(f"{model.cut_ + model.cluster_penalty_ * 4 - model.objective_:.1f}")
    0.0
    """

    labels_: NDArray[np.int32]
    n_clusters_: int
    cut_: float
    cuts_per_cluster_: Floats
    cluster_weights_: Floats
    cluster_penalty_: float
    objective_: float
    objective_history_: Floats
    n_iter_: int
    n_splits_: int
    n_merges_: int
    converged_: bool
    vertex_names_: NDArray[np.object_]

    _text_attributes = Estimator._text_attributes | {"vertex_names_": object}
    _choice_columns = COLUMNS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, None, None, closed="neither")],
        "cut": [StrOptions({"normalized", "ratio"})],
        "n_clusters": [AT_LEAST_ONE, None],
        "max_clusters": [AT_LEAST_ONE, None],
        **{name: value for name, value in SHARED_CONSTRAINTS.items() if name != "search"},
    }

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        cut: str = "normalized",
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        n_init: int = 3,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cluster_penalty = cluster_penalty
        self.cut = cut
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find clusters of the vertices of a graph.

        Parameters
        ----------
        X : graph
            A square adjacency matrix (array, data frame or any SciPy sparse matrix); edges as an
            array (m, 2) or (m, 3), the third column being weights; a data frame with the columns
            "source", "target" and perhaps "weight", or with two or three columns in that order; a
            graph of networkx or igraph, with its edge attribute "weight". A square array is always
            a matrix. In edges, vertices are integers from 0 on, or strings.
        y : ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : GraphDPMeans
            The fitted estimator. If an error is raised, the estimator is unchanged.
        """
        with fit_task(self, X, y):
            self._keep(*self._fit_graph(X))
        return self

    def _fit_graph(self, X: Any) -> tuple[dict[str, Any], Status]:
        graph = check_graph(X)
        links, loops, _ = graph
        self._say(f"fit of {len(loops)} vertices, {links.nnz // 2} links")
        with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
            problem = make_problem(links, loops, self.cut == "ratio", pool)
            fitted, status = self._fitted(problem)
        return fitted | {"vertex_names_": graph.vertex_names}, status

    def predict(self, X: Any, novelty: bool = False) -> NDArray[np.int32]:
        """Return clusters for new vertices, given their links to the vertices of the fit.

        For each new vertex alone, that at which the graph with it added has the lowest objective;
        no cluster is opened. Clusters of the vertices of the fit are in ``labels_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_vertices)
            Weights of the links between new vertices and those of the fit.
        novelty : bool, default=False
            Return -1 for vertices that would rather be a cluster of their own, for example those
            without links.

        Returns
        -------
        labels : ndarray of shape (n_new,), int32
            Numbers of clusters; 0 for a vertex without links.
        """
        check_is_fitted(self)
        labels, is_novel = self._model.assign(check_links(X, self.n_features_in_))
        if novelty:
            labels[is_novel] = -1
        return labels

    def _fitted(self, problem: GraphProblem) -> tuple[dict[str, Any], Status]:
        rng = self._stream()
        n_vertices = len(problem.linked) + len(problem.isolated)
        told = told_number(self, n_vertices, "vertices")
        if told is not None:
            fewest = n_components(problem)
            end, known = fit_exactly(
                problem, max(told, fewest), self.n_init, self.max_iter, rng, self._report_changes
            )
            end = end.moved_to((known.penalty - lowest_of(problem)) / problem.cost_unit)
            fitted = fitted_attributes(end, problem, known.penalty, max(told, fewest))
            why = JOINED if told < fewest else FEWER
            return fitted, add_told(fitted, end.status, told, known, why)
        most = self.max_clusters or n_vertices
        if self.cluster_penalty == "auto":
            return self._chosen(problem, (most, self.max_iter, rng))
        penalty = float(self.cluster_penalty)
        if penalty >= 0:
            return one_cluster(problem, penalty, NO_CLUSTERS), Status.REMARKED
        how = (most, self.n_init, self.max_iter, rng)
        solution = best_fit(problem, penalty, *how, report=self._report_changes)
        return fitted_attributes(solution, problem, penalty, most), solution.status

    def _chosen(
        self, problem: GraphProblem, how: tuple[int, int, np.random.RandomState]
    ) -> tuple[dict[str, Any], Status]:
        """Return the fit at the automatic penalty."""
        most = how[0]
        choice = choose(problem, *how)
        table = {"penalty_choice_": table_of(choice.table, COLUMNS)}
        if choice.chosen is None:
            sentence = undivided_sentence(choice, problem.ratio)
            fitted = undivided(problem, choice.components, most, sentence)
            is_told = fitted["n_clusters_"] == 1 and bool(choice.tests)  # not of tiny graphs
            return fitted | table, Status.REMARKED if is_told else Status.CONVERGED
        self._say(f"penalty {choice.chosen.penalty:.4g}: {choice.chosen.k} clusters")
        solution = refit(problem, choice, *how, self._report_changes)
        fitted = fitted_attributes(solution, problem, choice.chosen.penalty, most) | table
        if (choice.whole & (choice.sizes >= FEWEST)).any():
            fitted["status_"] += " " + components_sentence(choice)
        return fitted, solution.status

    def _schema(self, state: dict[str, Any]) -> Schema:
        return ATTRIBUTES | MODEL | self._choice_schema

    def _model_from(self, state: dict[str, Any]) -> FittedGraph:
        model = FittedGraph.from_arrays(state["cluster_penalty_"], state)
        if not np.array_equal(state["labels_"], model.labels):
            raise contradiction("labels_ are not those of the vertices")
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        return tags


def graph_of_fit(model: GraphDPMeans, X: Any) -> sparse.csr_array:
    """Return the links (n, n) of the graph of a fit, as `GraphDPMeans.fit` reads them."""
    links, n = check_graph(X).links, len(model.labels_)
    if links.shape[0] != n:
        raise ValueError(
            f"The graph has {links.shape[0]} vertices, but the model was fitted to {n}. "
            "Pass the graph of the fit."
        )
    return links
