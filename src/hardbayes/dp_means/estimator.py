"""DP-means: clusters around centres by any divergence, as many as pay for themselves."""

import os
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.arrays import Floats, Matrix, lazy_kind
from hardbayes.core.estimator import AT_LEAST_ONE, SHARED_CONSTRAINTS, ClusterEstimator
from hardbayes.core.exact_number import told_number
from hardbayes.core.frame import used_columns
from hardbayes.core.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.core.loop import Status, counted
from hardbayes.core.plateaus import Columns
from hardbayes.core.pool import Pool
from hardbayes.core.schema import Schema
from hardbayes.core.validation import check_centres, touches_border
from hardbayes.core.validation.cells import remark_on_extremes
from hardbayes.dp_means.blocks.fit import ByBlock
from hardbayes.dp_means.choice.automatic import (
    COLUMNS,
    Choice,
    choice_attributes,
    choice_inputs,
    choose_penalty,
    tell_choice,
    told_by_a_category,
)
from hardbayes.dp_means.choice.farthest_first import farthest_first_penalty
from hardbayes.dp_means.descent import Solution
from hardbayes.dp_means.discount import check_discount, minimise_discounted
from hardbayes.dp_means.exactly import Told, fit_told
from hardbayes.dp_means.fitted import (
    ATTRIBUTES,
    BY_BLOCK,
    MODEL,
    FittedPartition,
    fitted_attributes,
)
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.problem import Problem, pose
from hardbayes.dp_means.starts import Starts, minimise
from hardbayes.mixed.divergence import Mixed
from hardbayes.mixed.estimator import MixedAttributes, MixedDPMeans, as_mixed, mixed_tags
from hardbayes.mixed.fitted import FittedMixed


class CentreEstimator(ClusterEstimator):
    """Base of `DPMeans` and `HDPMeans`: the parameters that they share."""

    divergence: str | Geometry
    prior_weight: float | str
    search: str
    init: Any
    order: str
    max_clusters: int | None
    n_clusters: int | None
    n_init: int
    max_iter: int
    prior_weight_: float

    _divergence_constraints: ClassVar[dict[str, list[Any]]] = {
        "divergence": [StrOptions(set(GEOMETRIES)), Geometry],
        "prior_weight": [StrOptions({"auto"}), Interval(Real, 0, 1e9, closed="both")],
        "init": [
            StrOptions({"mean", "farthest-first", "k-means++"}),
            "array-like",
            "sparse matrix",
        ],
        "order": [StrOptions({"random", "random-each-sweep", "given"})],
        "max_clusters": [AT_LEAST_ONE, None],
        "n_clusters": [AT_LEAST_ONE, None],
        **SHARED_CONSTRAINTS,
    }

    @property
    def cluster_centers_(self) -> Floats:
        """Centres of shape (n_clusters_, n_features), made anew at each access."""
        return self._model.shown_centres()

    @property
    def _geometry(self) -> Geometry:
        return geometry_for(self.divergence)

    @property
    def _search(self) -> str:
        """The search as a key of the stages of a descent."""
        return self.search

    def _prior_weight_for(self, matrix: Matrix) -> float:
        """Return the number that ``prior_weight`` stands for."""
        if self.prior_weight != "auto":
            return float(self.prior_weight)
        geometry = self._geometry
        inside, at_border = (geometry.default_prior_weight(border) for border in (False, True))
        if inside == at_border:  # no need to look for entries at the border
            return inside
        return at_border if touches_border(matrix, geometry) else inside

    def _given_centres(self, n_columns: int) -> Floats | None:
        """Return the centres (k, d) passed as ``init``, checked; None for a name."""
        if isinstance(self.init, str):
            return None
        most = self.max_clusters if self.n_clusters is None else self.n_clusters
        return check_centres(self.init, self._geometry, n_columns, most)

    def _starts(self, init: str | Floats) -> Starts:
        return Starts(init, self.order, self.n_init, self._search, self.max_iter)

    def _report(self, start: int, step: int, n_clusters: int, n_changed: int) -> None:
        head = f"start {start + 1}, " if self.n_init > 1 else ""
        self._say(f"{head}step {step}: {n_clusters} clusters, {n_changed} rows moved")

    def _call(self, **penalties: float) -> str:
        """Return the call of this estimator with given penalties."""
        shown = {name: float(f"{penalty:.6g}") for name, penalty in penalties.items()}
        return " ".join(repr(clone(self).set_params(**shown)).split())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kind = GEOMETRIES.get(self.divergence) if isinstance(self.divergence, str) else None
        tags.input_tags.positive_only = kind is not None and (
            kind.nonnegative or kind.unit_interval
        )
        return tags


class DPMeans(MixedAttributes, ByBlock, CentreEstimator):  # type: ignore[override]
    """Clustering that finds the number of clusters from what a cluster costs.

    Minimises ``sum_i w_i D(x_i, mu_z(i)) + sum_c [cluster_penalty + prior_weight D(m, mu_c)]`` over
    the number of clusters, the partition z and the centres mu, m being the overall mean (Kulis &
    Jordan 2012, eq. 1, which has no prior; with a cap, Broderick, Kulis & Jordan 2013, eq. 12; for
    other divergences Jiang, Kulis & Jordan 2012). A row opens a cluster of its own where that is
    cheaper than joining any other.

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        What each cluster costs, in units of the divergence: a squared distance by default. Small
        penalties give many clusters. "auto" takes a number of clusters that is best over a wider
        range of penalties than in data without structure, or between whose clusters held-out rows
        are fewer than without clusters, and the middle of that range; where there is none, one
        cluster, with a warning. See `penalty_choice_`.
    discount : float, default=0.0
        The k-th cluster costs ``cluster_penalty / k ** discount``, at least 0 and below 1: there
        are more clusters, many of them small, as under a Pitman-Yor process (Kulis & Jordan 2012,
        section 7). It needs a number as `cluster_penalty`; `predict` with ``novelty=True`` compares
        rows with the price of one cluster more.
    divergence : str or Geometry, default="squared_euclidean"
        Cost of a row at a centre: "squared_euclidean"; "kl" (shares: rows are divided by their
        sums); "poisson" (counts); "itakura_saito" (waiting times, > 0); "logistic" (zeros and ones,
        or shares); "cosine" (directions: rows are divided by their lengths); "mixed" or a `Mixed`
        object (tables of numbers, grades, yes and no, categories and dates, with missing cells: the
        model of `MixedDPMeans`, with its objective and attributes); or an object of
        `hardbayes.core.geometry`, such as ``Mahalanobis(matrix)`` or one of your own.
    prior_weight : float or "auto", default="auto"
        Pseudo-rows at the overall mean that each cluster carries; 0 is the published model. "auto"
        is 0, but 10 for "kl" and "poisson" on data with zeros and for "logistic" on data with zeros
        or ones, where clusters of a few rows would otherwise be infinitely far from every other.
    search : {"split-merge", "paper"}, default="split-merge"
        How hard to minimise. "paper" is Algorithm 1 of Kulis & Jordan 2012, row for row; it stops
        in the first local optimum. "split-merge" starts with it and goes on with splits and merges
        of clusters, moves of single rows, and exchanges of a split for a merge, each made only
        where the objective falls, until none helps. It never ends higher, unless Algorithm 1 would
        take more than half of ``max_iter``, where moves begin before it has converged.
    method : {"joint", "collapsed"}, default="joint"
        "joint" moves rows while centres stand still, and centres while rows do. "collapsed" is the
        algorithm of Broderick, Kulis & Jordan 2013, section 4.1: rows move one by one, each judged
        by the exact change of the objective with the means following at once; `search` does not
        apply to it.
    init : {"mean", "farthest-first", "k-means++"} or array of shape (k, n_features), default="mean"
        Where to start: one cluster at the overall mean; that and the farthest rows until none costs
        more than the penalty; rows drawn by their cost until none costs more; or given centres.
    order : {"random", "random-each-sweep", "given"}, default="random"
        Order in which a sweep visits the rows; with "random-each-sweep" another one in each sweep
        (Jiang, Kulis & Jordan 2012, section 5). It matters only where clusters are opened.
    n_clusters : int or None, default=None
        The number of clusters, where it is known: exactly so many, or fewer where rows are equal.
        `cluster_penalty_` is then one at which that number is best, or nearest to it: `predict`
        with ``novelty=True`` compares rows with that. "split-merge" begins with a path of all
        numbers up to this, unless `init` says otherwise; Algorithm 1 with as many farthest rows.
    max_clusters : int or None, default=None
        Cap on the number of clusters. None stops at the larger of 64 and 2^25 / n_features, with
        a warning.
    n_init : int, default=1
        Number of starts, of which the one with the lowest objective is kept. Starts differ in the
        visiting order, in the seeds of "k-means++" and in the splits tried; where none of these is
        random, one start is made.
    max_iter : int, default=300
        Largest number of steps of a start: sweeps over the rows, and rounds of moves.
    random_state : int, RandomState instance or None, default=None
        Seed of the visiting order, of "k-means++" and of the splits that are tried. The same seed
        gives the same bits, whatever ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads. None uses every core this process may use, within OMP_NUM_THREADS; -1 all
        cores.
    verbose : int, default=0
        1 reports on standard error: what the search for a penalty does and what of it is left, at
        most twice a second, and every step of the fit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row, 0 to K-1, in the order in which clusters were opened.
    n_clusters_ : int
        K, their number.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Centres, in the dtype of the data. Computed at each access, because with sparse rows they
        may take much more memory than the fit: columns without entries are left out of it.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Sum of the weights of each cluster's rows.
    cluster_penalty_ : float
        The penalty used.
    prior_weight_ : float
        The prior weight used.
    inertia_ : float
        Fit term: sum of the weighted costs of the rows.
    objective_ : float
        What was minimised: fit term, prior term and penalties.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step: a sweep or a round of accepted moves. It never rises.
    n_iter_ : int
        Steps of the start that was kept.
    n_splits_, n_merges_ : int
        Accepted moves that split a cluster, or merged two; an exchange counts as both.
    converged_ : bool
        Whether the search came to its end before ``max_iter``.
    status_ : str
        How the fit ended, and what to do about it.
    plateau_width_ : float
        How wide the range of penalties is for which this number of clusters is best, as a logarithm
        of the ratio of its ends. Only where the penalty was "auto"; with one cluster, that of the
        number that came nearest.
    plateau_reference_ : float
        How wide that range is in data without structure but of the same shape.
    penalty_choice_ : dict of ndarrays of shape (n_candidates,)
        The numbers of clusters that were compared where the penalty was "auto", for a DataFrame:
        "n_clusters"; "penalty", in the middle of its range; "width" and "reference", as above;
        "p_value" of the test that held-out rows are not fewer between the clusters, for all
        candidates together; "strength" of the evidence, of which 1 is needed; and "chosen".
    layers_ : ndarray of shape (n_layers, n_samples), int32
        Labels in each number of clusters with evidence, coarsest first; ``labels_`` among them.
    n_passes_ : int
        How often the rows were gone through, in whole or in part, where they are read by block.
    n_features_in_, feature_names_in_
        Number of features seen in `fit`, and their names where X had names that are all strings.

    See Also
    --------
    row_blocks : Rows that are read block by block, in place of X.
    penalty_path : Solutions along falling penalties, and their plateaus.
    penalty_for : The penalty for a number of clusters, by the papers' rule.
    objective : The objective of any labelling.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import DPMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 0.2], [5.0, 5.0], [5.2, 4.9], [9.0, 0.0]])
    >>> model = DPMeans(cluster_penalty=4.0, order="given").fit(X)
    >>> model.n_clusters_
    3
    >>> model.predict([[5.1, 5.1], [20.0, 20.0]], novelty=True)
    array([ 1, -1], dtype=int32)
    """

    plateau_width_: float
    plateau_reference_: float
    layers_: NDArray[np.int32]
    n_passes_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "discount": [Interval(Real, 0, 1, closed="left")],
        "method": [StrOptions({"joint", "collapsed"})],
        **CentreEstimator._divergence_constraints,
        "divergence": [StrOptions({*GEOMETRIES, "mixed"}), Geometry, Mixed],
    }

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        discount: float = 0.0,
        divergence: str | Geometry = "squared_euclidean",
        prior_weight: float | str = "auto",
        search: str = "split-merge",
        method: str = "joint",
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
        self.cluster_penalty = cluster_penalty
        self.discount = discount
        self.divergence = divergence
        self.prior_weight = prior_weight
        self.search = search
        self.method = method
        self.init = init
        self.order = order
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _is_mixed(self) -> bool:
        """Whether the model is that of mixed tables."""
        given = self.divergence
        return isinstance(given, Mixed) or (isinstance(given, str) and given == "mixed")

    @property
    def _geometry(self) -> Any:
        if not self._is_mixed:
            return super()._geometry
        return self.divergence if isinstance(self.divergence, Mixed) else Mixed()

    @property
    def _choice_columns(self) -> Columns:  # type: ignore[override]
        return MixedDPMeans._choice_columns if self._is_mixed else COLUMNS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return mixed_tags(tags) if self._is_mixed else tags

    def _goes_by_block(self, X: Any) -> bool:
        """Whether rows are not in memory, and need not be: tables of mixed columns must be."""
        return lazy_kind(X) is not None and not self._is_mixed

    def _fit_rows(self, X: Any, sample_weight: Any, **params: Any) -> tuple[dict[str, Any], Status]:
        if self.discount:
            check_discount(self, self._is_mixed)
        if self._is_mixed:
            return as_mixed(self)._fit_rows(X, sample_weight)
        if lazy_kind(X) is not None:
            return self._fit_by_block(X, sample_weight)
        return super()._fit_rows(X, sample_weight, **params)

    def predict(
        self, X: Any, novelty: bool | float = False, *, out: str | os.PathLike[str] | None = None
    ) -> NDArray[np.int32]:
        """Return the cluster of lowest cost for each row; no cluster is opened.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), row_blocks or Dask
            Rows. Those of Dask give a lazy array with their chunks.
        novelty : bool or float, default=False
            Which rows get -1. True: rows that would have opened a cluster; weights are one, or the
            rows' lengths if the divergence has ``length_as_weight``. A share, 0 < novelty < 1: rows
            farther out than all but that share of the training rows of their cluster, whatever the
            penalty, unless they differ from their centre by rounding only.
        out : path or None, default=None
            For `row_blocks`, a ``.npy`` file to write the labels to, block by block; they are then
            returned as a memory map.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Numbers of clusters.
        """
        if out is not None or self._goes_by_block(X):
            return self._predict_by_block(X, novelty, out)
        return super().predict(X, novelty)

    def transform(self, X: Any, *, out: str | os.PathLike[str] | None = None) -> Floats:
        """Return the distance of each row from each centre.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), row_blocks or Dask
            Rows.
        out : path or None, default=None
            For `row_blocks`, a ``.npy`` file for the distances, as in `predict`.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters_)
            Euclidean distances, or divergences. Dask gives a lazy array; `row_blocks` without
            ``out`` those of each block.
        """
        if out is not None or self._goes_by_block(X):
            return self._transform_by_block(X, out)
        return super().transform(X)

    def _checked(self, X: Any) -> Matrix:
        if isinstance(getattr(self, "_model", None), FittedMixed):
            return self._model.read(X, self)
        return super()._checked(X)

    def summary(self, X: Any, *, values: Any = None, n_columns: int = 3, groups: Any = None) -> Any:  # noqa: D102
        kind: Any = MixedDPMeans if self._is_mixed else CentreEstimator
        return kind.summary(self, X, values=values, n_columns=n_columns, groups=groups)

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        geometry = self._geometry
        prior_weight = self._prior_weight_for(matrix)
        given = self._given_centres(matrix.shape[1])
        columns, every = used_columns(matrix, geometry, given), matrix
        matrix = columns.of(matrix)
        problem = pose(matrix, geometry, weights, pool)
        init = self.init if given is None else problem.centres_in_frame(columns.of(given))
        if self.n_clusters is not None:
            told_number(self, matrix.shape[0])
            told = Told.of(self, prior_weight, init)
            return fit_told(problem, matrix, weights, columns, told, rng, self._report)
        choice, alone = None, ""
        if self.cluster_penalty == "auto":
            self._say("choosing the penalty")
            choice = choose_penalty(
                matrix, geometry, weights, prior_weight, self.max_clusters, rng, pool
            )
            penalty = self._penalty_for(choice.n_clusters, problem, prior_weight, choice)
            self._say(f"penalty {penalty:.6g} for {counted(choice.n_clusters, 'cluster')}")
        else:
            penalty = float(self.cluster_penalty)
            problem.check_penalty(penalty)
            if remark_on_extremes(matrix, None) is not None:
                problem.check_penalty_of_hidden_rows(penalty)
        partition = problem.partition(penalty, prior_weight, self.max_clusters, self.discount)
        starts_at_mean = given is None and self.init == "mean"
        if choice is not None and starts_at_mean and self._search == "split-merge":
            init = problem.centres_in_frame(choice.centres)  # found on the way to the penalty
        solution = self._solve(problem, partition, init, rng)
        if choice is not None and (alone := told_by_a_category(choice, matrix, solution.labels)):
            choice = choice._replace(n_clusters=1, layers={})
            penalty = self._penalty_for(1, problem, prior_weight, choice)
            partition = problem.partition(penalty, prior_weight, self.max_clusters)
            solution = self._solve(problem, partition, "mean", rng)
        fitted = fitted_attributes(solution, problem, partition, penalty, columns, matrix.dtype)
        if choice is None:
            return fitted, solution.status
        fitted |= choice_attributes(choice, fitted, problem, every, pool)
        fitted["_chosen_for"] = choice_inputs(self, every, weights)
        own = problem, prior_weight, choice
        return fitted, tell_choice(
            fitted, solution.status, choice, alone, matrix, geometry,
            lambda k: self._call(cluster_penalty=self._penalty_for(k, *own)),
        )  # fmt: skip

    def _solve(
        self, problem: Problem, partition: Partition, init: str | Floats, rng: np.random.RandomState
    ) -> Solution:
        """Return the best of the starts."""
        if partition.discount:
            solve = partial(self._solve, problem, rng=rng)
            return minimise_discounted(partition, problem.rows.n_rows, init, solve)
        return minimise(
            problem.state(partition), partition, problem.opening_costs(partition),
            lambda: problem.mean, self._starts(init), rng, self._report,
        )  # fmt: skip

    def _penalty_for(
        self, n_clusters: int, problem: Problem, prior_weight: float, choice: Choice
    ) -> float:
        """Return the penalty for one of the numbers of clusters that were compared."""
        if self._search == "split-merge" or n_clusters == 1:
            return choice.penalties[n_clusters]
        # The published algorithms need their own penalty for as many clusters.
        most = self.max_clusters or n_clusters
        return farthest_first_penalty(problem, min(n_clusters, most), prior_weight)

    @property
    def _search(self) -> str:
        return "collapsed" if self.method == "collapsed" else self.search

    def _schema(self, state: dict[str, Any]) -> Schema:
        if self._is_mixed:
            return as_mixed(self)._schema(state)
        by_block = BY_BLOCK if "n_passes_" in state else {}
        return ATTRIBUTES | by_block | MODEL | self._choice_schema

    def _model_from(self, state: dict[str, Any]) -> FittedPartition | FittedMixed:
        if self._is_mixed:
            return as_mixed(self)._model_from(state)
        model = FittedPartition.from_arrays(
            self._geometry, self.max_clusters, state["n_features_in_"], state
        )
        centres = state.pop("cluster_centers_", None)  # in files of version 0.1, without a dtype
        return model if centres is None else replace(model, dtype=centres.dtype)
