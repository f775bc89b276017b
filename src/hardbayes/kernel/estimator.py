"""Kernel DP-means: clusters of any shape, as many as pay for themselves."""

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.alone import NOTHING_COMPARED, ONE_CLUSTER, Nearest, alone_sentences
from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import AT_LEAST_ONE, SHARED_CONSTRAINTS, ClusterEstimator
from hardbayes.core.exact_number import add_told, told_number
from hardbayes.core.fitted import measure_cost_quantiles
from hardbayes.core.loop import Status, add_remark, add_warning
from hardbayes.core.pool import Pool
from hardbayes.core.schema import Entry, Schema
from hardbayes.dp_means import fitted as dp_means
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.dp_means.fitted import FittedPartition
from hardbayes.kernel import landmarks
from hardbayes.kernel.choice import COLUMNS, KernelChoice, Linear, choose_clusters, choose_kernel
from hardbayes.kernel.exactly import FEWER, fit_exactly
from hardbayes.kernel.fitted import ATTRIBUTES, MODEL, SPECTRAL, FittedGram, fitted_attributes
from hardbayes.kernel.landmarks import FittedKernelFeatures, KernelFeatureMap, landmark_map
from hardbayes.kernel.mercer import MAX_ANCHORS
from hardbayes.kernel.problem import MANY_ROWS, KernelOptions, KernelProblem, make_problem
from hardbayes.kernel.search import KernelSearch, extend_labels, minimise

MAX_CLUSTERS = 1 << 12  # without a cap: sums between all pairs of clusters are held
#: Of one kernel each, in scikit-learn's names.
PARAMETERS = ("gamma", "degree", "coef0")
ROUND = " Clusters are round, by the linear kernel: those of DPMeans."
ALMOST = 0.999  # of the evidence that is needed: the most that what was not chosen has
FINER = (
    " DPMeans sees {k} clusters, whose borders are less clear: see penalty_choice_, and pass "
    "kernel='linear' for these."
)
WHOLE = "No division of the rows stood out"
BORDERS = "the border of one costs {border:.2g} of what halving it costs, and {limit:.2g} is needed"
LANDMARKS = " Kernel values are those of Nystroem features of {} landmarks."
INDEFINITE = (
    "The kernel has negative eigenvalues, such as {:.3g}: it is no inner product. The objective is "
    "lowered all the same, but squared distances may be negative and are then taken for zero, so "
    "that predict may differ from labels_. Add a multiple of the identity to a kernel matrix to "
    "avoid it."
)

MANY = (
    " Of so many rows clusters were found on a sample; then rows moved until a step gained less "
    "than 0.01 %."
)
# Attributes of a fit of features that hold for the rows as well.
OF_FEATURES = (
    "labels_", "n_clusters_", "cluster_weights_", "inertia_", "objective_", "objective_history_",
    "n_iter_", "n_splits_", "n_merges_", "converged_",
)  # fmt: skip


class KernelEstimator(ClusterEstimator):
    """Base of the estimators with a kernel, whose clusters have no centres among the rows."""

    cluster_penalty: float | str
    kernel: Any
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    balance: bool | str
    n_landmarks: int | None
    n_clusters: int | None
    max_clusters: int | None
    kernel_: str
    #: Whether a fit has `eigenvalues_`, and a bound by them.
    _has_spectrum: ClassVar[bool] = False
    _choice_columns = COLUMNS

    _kernel_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "balance": [StrOptions({"auto"}), "boolean"],
        "n_landmarks": [AT_LEAST_ONE, None],
        "n_clusters": [AT_LEAST_ONE, None],
        "max_clusters": [AT_LEAST_ONE, None],
        **{name: SHARED_CONSTRAINTS[name] for name in ("random_state", "n_jobs", "verbose")},
    }

    def _kernel_options(self, n_columns: int) -> KernelOptions:
        """Return the parameters of the kernel; "rbf" without gamma gets bandwidths of its own."""
        adapts = self.kernel == "rbf" and self.gamma is None and self.n_landmarks is None
        balance = adapts if isinstance(self.balance, str) else bool(self.balance)
        if balance and self.n_landmarks is not None:
            raise ValueError(
                "Features of landmarks cannot be balanced. Pass balance=False, or n_landmarks=None."
            )
        if not isinstance(self.kernel, str):
            return KernelOptions(self.kernel, dict(self.kernel_params or {}), balance)
        given = ((name, getattr(self, name)) for name in PARAMETERS)
        parameters = {name: value for name, value in given if value is not None}
        if self.kernel == "rbf" and self.gamma is None and not adapts:
            parameters["gamma"] = 1.0 / n_columns
        return KernelOptions(self.kernel, parameters, balance)

    @property
    def _most_clusters(self) -> int:
        return self.n_clusters or self.max_clusters or MAX_CLUSTERS

    def _posed(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> KernelProblem:
        """Return the problem; warn where the kernel is not positive semidefinite."""
        options = self._kernel_options(matrix.shape[1])
        # With landmarks the origin stays: their kernel values with new rows are computed later.
        exact = self.n_landmarks is None
        most = self.n_landmarks or MAX_ANCHORS
        problem = make_problem(matrix, weights, options, rng, pool, most, may_shift=exact)
        negative = problem.negative_eigenvalue(rng)
        if negative is not None:
            # The stack level skips fit and scikit-learn's wrapper of it.
            warnings.warn(INDEFINITE.format(negative), UserWarning, stacklevel=6)
        return problem

    @property
    def _chooses_kernel(self) -> bool:
        """Whether nothing was said about kernel and penalty."""
        return (
            self.cluster_penalty == "auto"
            and isinstance(self.kernel, str)
            and self.kernel == "rbf"
            and self.gamma is None
            and self.n_landmarks is None
            and self.balance is not False
        )

    def _linear(self, **parameters: Any) -> DPMeans:
        """Return the estimator of the clusters of the linear kernel."""
        return DPMeans(
            prior_weight=0, max_clusters=self.max_clusters, random_state=self.random_state,
            n_jobs=self.n_jobs, **parameters,
        )  # fmt: skip

    def _choice(
        self,
        problem: KernelProblem,
        matrix: Matrix,
        linear: dict[str, Any],
        rng: np.random.RandomState,
    ) -> KernelChoice:
        """Return the choice among the kernel, that of the densest rows, and `DPMeans`."""

        def adapted(ids: NDArray[np.intp]) -> KernelProblem:
            own = problem.weights[ids]
            return make_problem(matrix[ids], own, problem.options, rng, problem.pool)

        choice = choose_kernel(problem, adapted, _linear_of(linear), self._most_clusters)
        self._say(f"{choice.k} clusters, " + ("round ones" if choice.is_linear else "by kernel"))
        return choice

    def _told(
        self, fitted: dict[str, Any], status: Status, choice: KernelChoice
    ) -> tuple[dict[str, Any], Status]:
        """Add what was compared; say which number came nearest where there is one cluster."""
        fitted["penalty_choice_"] = choice.table(fitted["cluster_penalty_"])
        by_rows = isinstance(fitted["_model"], FittedPartition)
        fitted["kernel_"] = "linear" if by_rows else self._kernel_name
        if choice.is_linear:
            fitted["status_"] += ROUND
        other = next((each for each in choice.candidates if each.is_linear), None)
        if not choice.is_linear and other is not None and other.strength >= 1.0:
            fitted["status_"] += FINER.format(k=other.k)
        if choice.k > 1 or fitted["n_clusters_"] > 1:
            return fitted, status
        any_number = f"{type(self).__name__}(n_clusters=k)"
        nearest, k = choice.nearest, 0 if choice.nearest is None else choice.nearest.k
        if nearest is None:
            if status is Status.CONVERGED:
                why = NOTHING_COMPARED.format("clusters")
                add_remark(fitted, alone_sentences(why, ONE_CLUSTER, None, any_number))
            return fitted, status
        if nearest.is_linear:
            evidence = f"{nearest.strength:.2g} of the evidence that is needed"
            near = Nearest(k, evidence, f"DPMeans(n_clusters={k})", " of DPMeans")
        else:
            shown = clone(self).set_params(n_clusters=k)
            border = nearest.apart.border
            evidence = BORDERS.format(border=border, limit=border * nearest.strength)
            near = Nearest(k, evidence, " ".join(repr(shown).split()))
        sentence = alone_sentences(WHOLE, ONE_CLUSTER, near, any_number)
        return fitted, add_warning(fitted, status, sentence)

    @property
    def _kernel_name(self) -> str:
        return self.kernel if isinstance(self.kernel, str) else "function"

    def _landmark_map(self, problem: KernelProblem) -> KernelFeatureMap:
        """Return features of the rows from which the kernel is adapted."""
        if problem.mercer is None or problem.seen is None:
            raise ValueError(
                "The 'n_landmarks' parameter needs rows and a kernel function, not "
                'kernel="precomputed". Set it to None.'
            )
        return landmark_map(problem.mercer, problem.seen.take(problem.anchors))

    def _schema(self, state: dict[str, Any]) -> Schema:
        model = landmarks.MODEL if "working_centres" in state else MODEL
        if "working_prior_weight" in state:
            model = dp_means.MODEL
        chosen = self._choice_schema | {"kernel_": Entry(str, may_miss=True)}
        return ATTRIBUTES | chosen | model | (SPECTRAL if self._has_spectrum else {})

    def _model_from(
        self, state: dict[str, Any]
    ) -> FittedGram | FittedKernelFeatures | FittedPartition:
        if "working_prior_weight" in state:
            n_columns = state["n_features_in_"]
            return FittedPartition.from_arrays(self._geometry, self.max_clusters, n_columns, state)
        kind = FittedKernelFeatures if "working_centres" in state else FittedGram
        return kind.from_arrays(state["cluster_penalty_"], state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _linear_of(fitted: dict[str, Any]) -> Linear:
    """Return the clusters of `DPMeans`; where they are one, the number that came nearest."""
    table, k = fitted["penalty_choice_"], fitted["n_clusters_"]
    if k > 1:
        strength = float(table["strength"][table["chosen"]].max(initial=1.0))
        return Linear(fitted["labels_"], k, fitted["cluster_penalty_"], strength)
    if not len(table["strength"]):
        return Linear(fitted["labels_"], 1, fitted["cluster_penalty_"], 0.0)
    at = int(np.argmax(table["strength"]))
    strength = min(float(table["strength"][at]), ALMOST)
    k, penalty = int(table["n_clusters"][at]), float(table["penalty"][at])
    return Linear(fitted["labels_"], k, penalty, strength)


# Attributes of a fit of `DPMeans` that hold for the linear kernel.
OF_DP_MEANS = (*OF_FEATURES, "cluster_penalty_", "status_", "_model")


class KernelDPMeans(KernelEstimator):
    """DP-means in the space of a kernel, which finds the number of clusters.

    Minimises ``sum_i w_i |psi(x_i) - mu_z(i)|^2 + cluster_penalty * K`` where psi is the feature
    map of a kernel and ``mu_c`` the mean of cluster c there (Kulis & Jordan 2012, section 5). The
    means are never formed: distances from them are sums of kernel values.

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        Cost of each cluster, in units of squared distances between feature vectors. "auto" takes
        the clusters whose borders cut least by what halves of clusters would cut, and a penalty at
        which no two of these had better be one; see docs/kernels.md. With the default kernel,
        clusters of `DPMeans`, which are those of the linear kernel, are compared too.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise_kernels`` by name, or "precomputed": X is then the
        square matrix of kernel values, dense or sparse. A callable takes two rows and
        `kernel_params`, and returns a number.
    gamma : float or None, default=None
        Of "rbf", "laplacian", "poly", "sigmoid" and "chi2". For "rbf", None gives each row a
        bandwidth of its own from the distances to its neighbours, so that columns should be on one
        scale; for the others, and for landmarks, None is scikit-learn's default.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Keyword arguments of a callable kernel.
    balance : bool or "auto", default="auto"
        Whether kernel values are scaled such that those of each row sum to one, so that dense and
        sparse clusters are treated alike. Penalties are then between 0 and 1: a cluster pays the
        penalty and earns the share of its links that stay inside. "auto" balances where "rbf" has
        no `gamma`, and leaves all other kernels, and features of landmarks, as they are.
    n_landmarks : int or None, default=None
        Use Nystroem features of so many random rows in place of the kernel, and `DPMeans` on these:
        for many rows. None computes kernel values exactly.
    search : {"split-merge", "paper"}, default="split-merge"
        "paper" is the published algorithm: rows are visited in an order, go to the nearest mean or
        open a cluster, and means follow after each pass. "split-merge" also moves single rows,
        merges, splits and exchanges clusters, each by the exact change of the objective.
    n_clusters : int or None, default=None
        Exactly so many clusters, fewer only where the kernel, which is then as given, tells no more
        rows apart. At `cluster_penalty_` no clusters had better be one, nor divided, if possible.
    max_clusters : int or None, default=None
        Cap on the number of clusters; None is 4096.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders, of samples and of landmarks.
    order, n_init, max_iter, n_jobs
        As for `DPMeans`.
    verbose : int, default=0
        1 reports the penalty and the steps on standard error.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row, 0 to K-1.
    n_clusters_ : int
        K.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Sum of the weights of each cluster's rows.
    cluster_penalty_ : float
        The penalty used.
    inertia_ : float
        Weighted sum of squared distances from the means, in the space of the kernel.
    objective_ : float
        ``inertia_ + cluster_penalty_ * n_clusters_``.
    objective_history_, n_iter_, n_splits_, n_merges_, converged_
        As for `DPMeans`.
    kernel_ : str
        The kernel of the clusters, where the penalty was chosen: "linear" if they are those of
        `DPMeans`, or one, else `kernel`. The model is then that of `DPMeans`: distances, costs
        and the penalty are those of rows.
    penalty_choice_ : dict of ndarrays of shape (n_candidates,)
        What was compared where the penalty was "auto", for a DataFrame: "n_clusters", "penalty",
        "linear" (clusters of `DPMeans`), "ratio" (what all borders cut, by what halves of the
        clusters would cut), "border" (the same of the worst cluster), "strength" of the evidence,
        of which 1 is needed, and "chosen". Where none is, there is one cluster, with a warning.
    status_ : str
        How the fit ended, what to do about it, and whether landmarks were used.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all are strings.

    See Also
    --------
    SpectralDPMeans : The relaxation of the same objective, by eigenvectors.
    objective : The objective of any labels, with ``kernel``.

    Notes
    -----
    At most a few tens of megabytes of kernel values are held at a time, or all where there are
    4096 rows or fewer. More than 8192 rows are clustered by a sample first; then all rows move, and
    clusters may unite. The rows of the fit are kept for `predict`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hardbayes import KernelDPMeans
    >>> X, moon = make_moons(200, noise=0.05, random_state=0)
    >>> model = KernelDPMeans(random_state=0).fit(X)
    >>> model.n_clusters_
    2
    >>> model.predict([[0.0, 1.0], [1.0, -0.5]])
    array([1, 0], dtype=int32)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._kernel_constraints,
        "order": [StrOptions({"random", "given"})],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        balance: bool | str = "auto",
        n_landmarks: int | None = None,
        search: str = "split-merge",
        order: str = "random",
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cluster_penalty = cluster_penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.balance = balance
        self.n_landmarks = n_landmarks
        self.search = search
        self.order = order
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        told = told_number(self, matrix.shape[0])
        problem = self._posed(matrix, weights, rng, pool)
        if told is not None:
            return self._fitted_exactly(problem, told, rng)
        if self.cluster_penalty != "auto":
            penalty = float(self.cluster_penalty)
            if self.n_landmarks is not None:
                return self._fitted_to_features(problem, penalty, None, rng)
            return self._fitted_to_kernel(problem, penalty, None, rng)
        linear_alone = self.kernel == "linear" and not problem.options.balance
        if self._chooses_kernel or (linear_alone and self.n_landmarks is None):
            linear, status = self._linear(
                search=self.search, order=self.order, n_init=self.n_init, max_iter=self.max_iter
            )._fit_rows(matrix, problem.weights)  # fmt: skip
            choice = self._choice(problem, matrix, linear, rng)
            if choice.is_linear or choice.k == 1:
                kept = {name: linear[name] for name in OF_DP_MEANS}
                return self._told(kept, status, choice)
        else:
            choice = choose_clusters(problem, self._most_clusters, rng)
        labels, penalty = choice.stable(rng)
        self._say(f"penalty {penalty:.4g}: {choice.k} clusters")
        if self.n_landmarks is not None:
            start = replace(choice, labels=labels)
            return self._told(*self._fitted_to_features(problem, penalty, start, rng), choice)
        given = None
        if self.search != "paper":
            given = extend_labels(problem.rows, choice.ids, choice.weights, labels)
        return self._told(*self._fitted_to_kernel(problem, penalty, given, rng), choice)

    def _fitted_exactly(
        self, problem: KernelProblem, told: int, rng: np.random.RandomState
    ) -> tuple[dict[str, Any], Status]:
        if self.n_landmarks is not None:
            return self._fitted_to_features(problem, "auto", None, rng)
        search = self._kernel_search(problem)
        end, penalty = fit_exactly(problem, told, search, rng, self._report_changes)
        model = replace(problem.rows, penalty=penalty.penalty, max_clusters=told)
        fitted = fitted_attributes(end.moved_to(penalty.penalty), problem, model)
        return fitted, add_told(fitted, end.status, told, penalty, FEWER)

    def _kernel_search(self, problem: KernelProblem) -> KernelSearch:
        samples = not problem.is_sparse
        return KernelSearch(self.search, self.order, self.n_init, self.max_iter, samples)

    def _fitted_to_kernel(
        self,
        problem: KernelProblem,
        penalty: float,
        given: NDArray[np.int64] | None,
        rng: np.random.RandomState,
    ) -> tuple[dict[str, Any], Status]:
        """Return the attributes of a fit to kernel values; ``given``: labels (n,) to start with."""
        search = self._kernel_search(problem)
        model = replace(problem.rows, penalty=penalty, max_clusters=self._most_clusters)
        solution = minimise(model, search, given, rng, self._report_changes)
        fitted = fitted_attributes(solution, problem, model)
        if search.samples and search.search != "paper" and problem.n > MANY_ROWS:
            fitted["status_"] += MANY
        return fitted, solution.status

    def _fitted_to_features(
        self,
        problem: KernelProblem,
        penalty: float | str,
        choice: KernelChoice | None,
        rng: np.random.RandomState,
    ) -> tuple[dict[str, Any], Status]:
        """Return the attributes of `DPMeans` fitted to features of landmarks."""
        features = self._landmark_map(problem)
        assert problem.seen is not None
        rows = features.of_seen(problem.seen.rows)
        init: Any = "mean"
        if choice is not None and self.search != "paper":
            init = landmarks.cluster_means(rows[choice.ids], choice.labels, choice.weights)
        inner = DPMeans(
            penalty, prior_weight=0, search=self.search, init=init, order=self.order,
            n_clusters=self.n_clusters, max_clusters=self.max_clusters, n_init=self.n_init,
            max_iter=self.max_iter, random_state=rng, n_jobs=self.n_jobs,
        )  # fmt: skip
        fitted, status = inner._fit_rows(rows, problem.weights)
        paid: float = fitted["cluster_penalty_"]
        centres = fitted["_model"].shown_centres()
        costs = np.square(rows - centres[fitted["labels_"]]).sum(axis=1)
        quantiles = measure_cost_quantiles(costs, fitted["labels_"], len(centres), problem.weights)
        found = {name: fitted[name] for name in OF_FEATURES}
        return found | {
            "_model": FittedKernelFeatures(features, centres, paid, quantiles),
            "cluster_penalty_": paid,
            "status_": fitted["status_"] + LANDMARKS.format(features.n_landmarks),
        }, status
