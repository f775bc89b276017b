"""Hard HDP: clusters that groups of rows share."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import fit_task, weighted_sum
from hardbayes.core.exact_number import add_told, told_number
from hardbayes.core.frame import Columns, used_columns
from hardbayes.core.geometry import Geometry
from hardbayes.core.loop import Status, add_remark, add_warning
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.schema import Schema
from hardbayes.core.validation import fit_method
from hardbayes.dp_means.choice.automatic import no_number_sentence, one_column_sentence
from hardbayes.dp_means.choice.farthest_first import farthest_first_penalty
from hardbayes.dp_means.estimator import CentreEstimator
from hardbayes.dp_means.exactly import Told, why_fewer
from hardbayes.dp_means.fitted import MODEL
from hardbayes.groups.choice import RATIO, GroupedChoice, choose_penalties
from hardbayes.groups.descent import Found, minimise_grouped, minimise_without_groups
from hardbayes.groups.exactly import fit_exactly
from hardbayes.groups.fitted import ATTRIBUTES, OWN, FittedGroups, grouped_attributes
from hardbayes.groups.problem import GroupedProblem, pose_groups
from hardbayes.groups.reading import check_groups, group_numbers

LOCAL_PENALTY = "rows are equal, or groups pay more for others; lower local_penalty"


class HDPMeans(CentreEstimator):
    """Clustering of several groups of rows with clusters that they share.

    Minimises ``sum_ij w_ij D(x_ij, mu_z(ij)) + local_penalty * L + global_penalty * K`` over the
    partition z and the centres mu: K is the number of clusters, and L counts for every group the
    clusters that it uses (Kulis & Jordan 2012, eq. 2; for other divergences Jiang, Kulis & Jordan
    2012, section 4). A group that begins to use a cluster of others pays the local penalty; a
    cluster that no group has used costs the global one as well.

    Parameters
    ----------
    local_penalty : float or "auto", default="auto"
        What each cluster costs in each group that uses it, in units of the divergence.
    global_penalty : float or "auto", default="auto"
        What each cluster costs beside. "auto": of a path of rising penalties with ``local_penalty =
        0.45 * global_penalty``, the solution that describes the data most shortly, if groups tell
        its clusters apart: its objective is clearly lower than with groups dealt out anew among the
        rows nearest to each centre. Else what `DPMeans` chooses for all rows, and no local penalty,
        unless groups differ in more than its clusters. If one penalty is a number, the local one is
        0.45 times the global one (0 for one group).
    divergence, prior_weight, init, order, max_clusters, n_init, max_iter, random_state, n_jobs, \
verbose
        As for `DPMeans`.
    n_clusters : int or None, default=None
        The number of clusters that groups share, where it is known: exactly so many, fewer only
        where rows are equal, or with ``search="paper"``. The local penalty is then as given or,
        with "auto", that of the path's solution with so many clusters if groups tell them apart,
        else 0; ``global_penalty`` stays "auto".
    search : {"split-merge", "paper"}, default="split-merge"
        How hard to minimise. "paper" is Algorithm 2 of Kulis & Jordan 2012: rows choose one by one,
        then whole local clusters do, then means follow. Local clusters of a group in one cluster
        are one, and those without rows are dropped. "split-merge" goes on with splits, merges and
        exchanges of clusters, moves of rows and of whole local clusters, and with groups that begin
        or cease to use a cluster, each made only where the objective falls.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row, 0 to K-1; clusters are shared by the groups.
    local_labels_ : ndarray of shape (n_samples,), int32
        The same, numbered from 0 in each group. -1 for a row of weight zero in a cluster that its
        group does not use.
    groups_ : ndarray of shape (n_groups,)
        Labels of the groups: sorted, or in order of appearance if they are of mixed kinds. One
        group, 0, where none were given.
    n_clusters_ : int
        K, the number of clusters.
    n_local_clusters_ : ndarray of shape (n_groups,)
        How many clusters each group uses.
    group_cluster_weights_ : ndarray of shape (n_groups, n_clusters_)
        Sum of the weights of each group's rows in each cluster.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Centres, in the dtype of the data.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Sum of the weights of each cluster's rows.
    local_penalty_, global_penalty_ : float
        The penalties used.
    prior_weight_, inertia_, objective_, objective_history_, n_iter_, n_splits_, n_merges_, \
converged_, status_, n_features_in_, feature_names_in_
        As for `DPMeans`.

    See Also
    --------
    DPMeans : Clusters of rows that are not in groups.
    local_global_penalties_for : Penalties by the papers' rule.
    objective : The objective of any labelling.

    Examples
    --------
    >>> from hardbayes import HDPMeans
    >>> from hardbayes.datasets import make_shared_gaussians
    >>> X, groups, y = make_shared_gaussians(random_state=0)
    >>> model = HDPMeans(local_penalty=0.1, global_penalty=0.25, random_state=0)
    >>> model = model.fit(X, groups=groups)
    >>> model.group_cluster_weights_.shape == (50, model.n_clusters_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "local_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "global_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        **CentreEstimator._divergence_constraints,
    }
    _text_attributes = CentreEstimator._text_attributes | {"groups_": str}
    _model: FittedGroups
    groups_: NDArray[Any]
    local_labels_: NDArray[np.int32]
    n_local_clusters_: NDArray[np.int32]
    group_cluster_weights_: Floats
    local_penalty_: float
    global_penalty_: float

    def __init__(
        self,
        local_penalty: float | str = "auto",
        global_penalty: float | str = "auto",
        *,
        divergence: str | Geometry = "squared_euclidean",
        prior_weight: float | str = "auto",
        search: str = "split-merge",
        init: Any = "mean",
        order: str = "random",
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.local_penalty = local_penalty
        self.global_penalty = global_penalty
        self.divergence = divergence
        self.prior_weight = prior_weight
        self.search = search
        self.init = init
        self.order = order
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to rows in groups.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight zero opens no cluster, local or global, but is
            labelled as `predict` would.
        groups : array-like of shape (n_samples,), default=None
            The group of each row: any hashable labels, none missing. None: one group.

        Returns
        -------
        self : estimator
            The fitted estimator. If an error is raised, the estimator is unchanged.
        """
        with fit_task(self, X, y, sample_weight=sample_weight, groups=groups):
            self._keep(*self._fit_rows(X, sample_weight, groups=groups))
        return self

    def predict(  # type: ignore[override]
        self, X: Any, groups: Any = None, novelty: bool | float = False
    ) -> NDArray[np.int32]:
        """Return the cluster in which each row pays least; no cluster is opened.

        A row pays its cost, and the local penalty for a cluster that its group did not use in the
        fit. So rows of unknown groups go to the nearest centre. Rows do not influence each other.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, known or not. None: unknown groups; or the one group, if the
            model was fitted without groups.
        novelty : bool or float, default=False
            Which rows get -1. True: rows that would have opened a cluster. A share, 0 < novelty <
            1: rows that lie farther out than all but that share of the training rows of their
            cluster.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Numbers of clusters.
        """
        matrix = self._checked(X)
        numbers = group_numbers(groups, matrix.shape[0], self.groups_)
        return self._labels(matrix, novelty, groups=numbers)

    def score_samples(self, X: Any, groups: Any = None) -> Floats:
        """Return minus the cost of each row in the cluster that `predict` gives.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        groups : array-like of shape (n_samples,), default=None
            As for `predict`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is better. Penalties are not included.
        """
        matrix = self._checked(X)
        numbers = group_numbers(groups, matrix.shape[0], self.groups_)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            return -self._model.assign(matrix, pool, numbers).costs()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> float:
        """Return minus the fit term of X under the fitted model, without penalties.

        Parameters
        ----------
        X, y, sample_weight
            As for `DPMeans.score`.
        groups : array-like of shape (n_samples,), default=None
            As for `predict`.

        Returns
        -------
        score : float
            Sum of the weighted `score_samples`.
        """
        return weighted_sum(self.score_samples(X, groups), sample_weight)

    def _fitted(  # type: ignore[override]
        self,
        matrix: Matrix,
        weights: Floats | None,
        rng: np.random.RandomState,
        pool: Pool,
        groups: Any,
    ) -> tuple[dict[str, Any], Status]:
        geometry = self._geometry
        numbers, labels = check_groups(groups, matrix.shape[0])
        prior_weight = self._prior_weight_for(matrix)
        centres = self._given_centres(matrix.shape[1])
        columns = used_columns(matrix, geometry, centres)
        matrix = columns.of(matrix)
        problem = pose_groups(matrix, geometry, weights, numbers, len(labels), pool)
        whole = problem.whole
        if told_number(self, matrix.shape[0]) is not None:
            start = self.init if centres is None else whole.centres_in_frame(columns.of(centres))
            told = Told.of(self, prior_weight, start)
            fitted, status = self._fitted_exactly(problem, matrix, weights, told, columns, rng)
            return fitted | {"groups_": labels}, status
        penalties, choice = self._penalties(problem, matrix, weights, prior_weight, rng, pool)
        grouped = problem.grouped(*penalties, prior_weight, self.max_clusters)
        given = (
            problem.state(grouped),
            grouped,
            whole.opening_costs(grouped.partition),
            lambda: whole.mean,
        )
        init: str | Floats = self.init
        begin = None
        if centres is not None:
            init = whole.centres_in_frame(columns.of(centres))
        elif choice is not None and self.init == "mean" and self.search == "split-merge":
            begin = Found(whole.centres_in_frame(choice.centres), choice.labels)
        without_groups = problem.n_groups == 1 or not grouped.local_penalty
        if without_groups and self.search == "split-merge":
            starts = self._starts(init if begin is None else begin.centres)
            solution = minimise_without_groups(*given, starts, rng, self._report)
        else:
            starts = self._starts(init)
            solution = minimise_grouped(*given, starts, rng, self._report, begin)
        fitted = grouped_attributes(solution, problem, grouped, penalties, columns, matrix.dtype)
        status = solution.status
        if choice is not None and choice.nearest is not None and fitted["n_clusters_"] == 1:
            call = self._call(local_penalty=0.0, global_penalty=choice.nearest_penalty)
            status = add_warning(fitted, status, no_number_sentence(choice.nearest, call))
        elif choice is not None and fitted["n_clusters_"] == 1 and status is Status.CONVERGED:
            add_remark(fitted, no_number_sentence(None, ""))
        elif choice is not None and (alone := one_column_sentence(matrix, geometry)):
            status = add_warning(fitted, status, alone)
        return fitted | {"groups_": labels}, status

    def _fitted_exactly(
        self,
        problem: GroupedProblem,
        matrix: Matrix,
        weights: Floats | None,
        told: Told,
        columns: Columns,
        rng: np.random.RandomState,
    ) -> tuple[dict[str, Any], Status]:
        """Return the attributes of a fit with so many clusters, and the status."""
        given = self.local_penalty
        local = None if isinstance(given, str) else float(given)
        if local is not None:
            problem.check_penalty("local_penalty", local)
        elif self.search == "paper":
            local = 0.0
        end = fit_exactly(problem, matrix, weights, told, local, rng, self._report)
        why = LOCAL_PENALTY
        if end.without_groups is not None:
            why = why_fewer(end.without_groups, self.max_iter)
        status = end.solution.status
        fitted = grouped_attributes(
            end.solution, problem, end.grouped, end.penalties, columns, matrix.dtype
        )
        return fitted, add_told(fitted, status, told.n_clusters, end.told, why)

    def _penalties(
        self,
        problem: GroupedProblem,
        matrix: Matrix,
        weights: Floats | None,
        prior_weight: float,
        rng: np.random.RandomState,
        pool: Pool,
    ) -> tuple[tuple[float, float], GroupedChoice | None]:
        """Return the local and the global penalty, and how they were chosen if they were."""
        given = {name: getattr(self, name) for name in ("local_penalty", "global_penalty")}
        for name, value in given.items():
            if value != "auto":
                problem.check_penalty(name, float(value))
        local, shared = (None if value == "auto" else float(value) for value in given.values())
        several = problem.n_groups > 1
        if shared is not None:
            paired = RATIO * shared if several else 0.0
            return (paired if local is None else local, shared), None
        if local is not None and several:
            return (local, local / RATIO), None
        self._say("choosing the penalties")
        choice = choose_penalties(
            matrix, problem.whole.geometry, weights, problem.groups, prior_weight,
            self.max_clusters, rng, pool,
        )  # fmt: skip
        shared, k = choice.global_penalty, len(choice.centres)
        if self.search == "paper" and not choice.local_penalty and k > 1:
            # The published algorithms need their own penalty for as many clusters.
            shared = farthest_first_penalty(problem.whole, k, prior_weight)
        if local is None:
            return (choice.local_penalty, shared), choice
        return (local, max(0.0, shared - local)), choice

    def _schema(self, state: dict[str, Any]) -> Schema:
        return ATTRIBUTES | MODEL | OWN

    def _model_from(self, state: dict[str, Any]) -> FittedGroups:
        return FittedGroups.from_arrays(
            self._geometry, self.max_clusters, state["n_features_in_"], state
        )
