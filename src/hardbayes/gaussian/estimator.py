"""Gaussian DP-means: clusters that learn their own shapes, as many as pay for themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.arrays import Floats
from hardbayes.core.discrete import (
    Chosen,
    Dummies,
    choose_beside_discrete,
    left_out_sentence,
)
from hardbayes.core.estimator import AT_LEAST_ONE, SHARED_CONSTRAINTS, ClusterEstimator
from hardbayes.core.exact_number import add_told, told_number, unjudged
from hardbayes.core.frame import cluster_bound
from hardbayes.core.loop import Status, counted
from hardbayes.core.plateaus import table_of
from hardbayes.core.pool import Pool, import_whole, one_blas_thread
from hardbayes.core.schema import Schema
from hardbayes.core.validation import check_centres
from hardbayes.gaussian.choice.prior import choose_prior
from hardbayes.gaussian.choice.rule import COLUMNS, Choice, choose_number
from hardbayes.gaussian.choice.sample import Sample, take_sample
from hardbayes.gaussian.exactly import FEWER, keep_exactly
from hardbayes.gaussian.fitted import FittedGaussians, fitted_attributes, schemas
from hardbayes.gaussian.problem import (
    GaussianPartition,
    Gaussians,
    at_points,
    basis_of,
    given_prior,
    weighted_mean,
    whitening,
)
from hardbayes.gaussian.search import GaussianSolution, Options, descend, minimise, one_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.gaussian.choice.prior import Kept
    from hardbayes.gaussian.clusters import GaussianRows


MAX_TRIES = 4  # penalties, where all rows merge clusters that the sample keeps
# With full covariances: one matrix takes half a gigabyte then, and a fit holds several.
MAX_COLUMNS = 1 << 13


def fit_rows(
    matrix: NDArray[np.floating],
    weights: Floats,
    options: Options,
    rng: np.random.RandomState,
    pool: Pool,
    report: Callable[[int, int, int], None],
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Status]:
    """Return the fitted attributes for a matrix (n, d) with weights (n,), and the status."""
    if not options.diagonal and matrix.shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"X has {matrix.shape[1]:,} columns, and full covariances take a square matrix of so "
            f"many for each cluster. Pass covariance_type='diag', or project X to {MAX_COLUMNS:,} "
            "columns or fewer first, for example by PCA."
        )
    middle = weighted_mean(matrix, weights)
    prior, penalty, rate = options.prior, options.penalty, options.rate
    if prior is not None:
        whitening(middle, prior)  # raises before the search if it is not definite
    chosen, choice, told = None, None, None
    if options.n_clusters is not None:
        sample = take_sample(matrix, weights, options.diagonal, pool)
        given_own = None if prior is None else sample.to_sample(prior)
        kept, told = keep_exactly(sample, options.n_clusters, given_own)
        prior = sample.from_sample(kept.prior) if prior is None else prior
        told = told.scaled(rate)
        penalty, chosen = told.penalty, (sample, kept.labels)
    elif prior is None or penalty is None:
        if penalty is None:
            sample, choice = _choose(matrix, weights, options, pool, say)
            found, labels = choice.kept.prior, choice.kept.labels
            penalty = rate * choice.kept.penalty
        else:
            sample = take_sample(matrix, weights, options.diagonal, pool)
            found, labels = choose_prior(sample.rows, penalty / rate, options)
        prior = sample.from_sample(found) if prior is None else prior
        chosen = sample, labels
    frame = whitening(middle, prior)
    partition = GaussianPartition(penalty, rate, options.max_clusters)
    rows = replace(frame.rows(matrix, weights, pool), partition=partition)
    given = options.centres
    centres = rows.rows[:0] if given is None else frame.rows(given, np.zeros(0), pool).rows
    basis = None if options.diagonal else basis_of(np.concatenate([rows.rows, centres]))
    if basis is not None:
        with one_blas_thread():
            rows, centres = replace(rows, rows=rows.rows @ basis), centres @ basis
    start = one_cluster(rows)
    if given is not None:
        start = at_points(centres, options.diagonal)
    elif chosen is not None and (told is not None or options.search != "paper"):
        start = chosen[0].clusters(rows, chosen[1])
    if told is not None:
        how = ("rows", options.max_steps, np.random.RandomState(0), report)
        solution = descend(rows, start, *how)
        if solution.statistics.k < min(options.n_clusters or 0, start.k):
            # With this prior rows leave a cluster: single rows open others, where that costs less.
            told, partition = unjudged(0.0), replace(partition, penalty=0.0)
            rows = replace(rows, partition=partition)
            solution = descend(rows, start, "split-merge", options.max_steps, rng, report)
    elif choice is not None and options.centres is None and options.search != "paper":
        solution, partition = _keep_number(rows, choice.kept, start, options, report)
    else:
        solution = minimise(rows, start, options, rng, report)
    if basis is not None:
        solution = solution._replace(statistics=solution.statistics.along(basis))
    fitted = fitted_attributes(solution, frame, partition, weights, matrix.dtype)
    fitted["covariance_prior_"] = prior
    if told is not None:
        assert options.n_clusters is not None
        return fitted, add_told(fitted, solution.status, options.n_clusters, told, FEWER)
    if choice is None:
        return fitted, solution.status
    fitted["penalty_choice_"] = table_of(choice.candidates, COLUMNS)
    return _with_status(fitted, solution, choice, left_out_sentence(sample.left_out))


def _choose(
    matrix: NDArray[np.floating],
    weights: Floats,
    options: Options,
    pool: Pool,
    say: Callable[[str], None],
) -> tuple[Sample, Choice]:
    """Return a choice, and the sample that it was made on.

    Where the clusters follow from the values of one discrete column, it is made again without it.
    """

    def choose_without(left_out: Sequence[Dummies]) -> Chosen:
        def taken(diagonal: bool) -> Sample:
            return take_sample(matrix, weights, diagonal, pool, left_out)

        sample = taken(options.diagonal)
        given = None if options.prior is None else sample.to_sample(options.prior)
        by_columns = None if options.diagonal else partial(taken, True)
        choice = choose_number(sample, options.max_clusters, given, say, by_columns)
        found = sample, choice
        return Chosen(found, matrix[sample.ids], choice.kept.labels, sample.left_out)

    found: tuple[Sample, Choice] = choose_beside_discrete(choose_without)
    return found


def _keep_number(
    rows: GaussianRows,
    kept: Kept,
    start: Gaussians,
    options: Options,
    report: Callable[[int, int, int], None],
) -> tuple[GaussianSolution, GaussianPartition]:
    """Return the descent of all rows from the clusters of a sample, and what it minimised.

    Rows and clusters follow each other, and merges are considered. Rows do not move one by one:
    that lowers the objective further, but away from the clusters that were chosen. The number was
    chosen: where clusters merge, a lower penalty is tried.
    """
    penalty, rng = kept.penalty, np.random.RandomState(0)
    for _ in range(MAX_TRIES):
        partition = GaussianPartition(options.rate * penalty, options.rate, options.max_clusters)
        rows = replace(rows, partition=partition)
        solution = descend(rows, start, "kept", options.max_steps, rng, report)
        if solution.statistics.k >= kept.k:
            break
        penalty = float(np.sqrt(kept.low * penalty)) if 0 < kept.low < penalty else penalty / 2
    return solution, partition


def _with_status(
    fitted: dict[str, Any], solution: GaussianSolution, choice: Choice, left_out: str
) -> tuple[dict[str, Any], Status]:
    """Return the attributes and the status of an automatic fit, with what is to be said of it."""
    k, status = solution.statistics.k, solution.status
    if status is not Status.CONVERGED:
        return fitted, status
    if k == 1:
        fitted["status_"] = " ".join(filter(None, (choice.sentence(), left_out)))
        return fitted, Status.CONVERGED if choice.nearest is None else Status.REMARKED
    if choice.kept.is_capped:
        steps = counted(fitted["n_iter_"], "step")
        fitted["status_"] = (
            f"Converged after {steps} with the {k} clusters that were chosen. At this penalty more "
            f"would lower the objective: pass max_clusters={k} with it."
        )
    return fitted, status


class GaussianDPMeans(ClusterEstimator):
    """Clustering with a covariance matrix for each cluster, and no given number of them.

    Minimises ``sum_k [covariance_penalty * log|I + Phi0^-1 S_k| + cluster_penalty]`` over
    partitions, where ``S_k`` is the scatter of cluster k about its mean and Phi0 the
    ``covariance_prior``. This is ``sum_i w_i (x_i - mu)' Sigma^-1 (x_i - mu)
    + covariance_penalty * log|Sigma|`` (Broderick, Kulis & Jordan 2013, supplement E, made
    well-posed) at the optimal ``Sigma_k = (S_k + Phi0) / covariance_penalty``.

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        Cost of each cluster, in the units of ``covariance_penalty``. "auto" takes the number of
        clusters that is the likeliest for the widest range of penalties, or that between which
        rows thin out. If rows that had no part in finding them do not thin out there, and are no
        likelier in them than rows without clusters would be, there is one cluster. Where full
        covariances tell of one, clusters are looked for by diagonal ones, too. The penalty is one
        at which the objective keeps these clusters.
    covariance_type : {"full", "diag"}, default="full"
        Full matrices, or diagonal ones: clusters parallel to the axes.
    covariance_penalty : float, default=1.0
        Weight of the log-determinant. Only its ratio to ``cluster_penalty`` matters.
    covariance_prior : "auto", float or array of shape (n_features, n_features), default="auto"
        Phi0, which is added to every scatter: a matrix, its diagonal (n_features,), or a number
        that multiplies the identity. The larger it is, the rounder (in its metric) are the
        clusters. "auto" is a multiple of the pooled scatter of the clusters, from 1/8 to 16: the
        largest in whose clusters rows are almost likeliest. A given ``cluster_penalty`` determines
        which clusters these are: those of the least objective with the scatter of all rows as
        prior.
    covariances : array of shape (m, n_features, n_features) or None, default=None
        Known covariances, of which every cluster has another one, in place of learned ones; with
        ``covariance_type="diag"`` of shape (m, n_features). Minimises ``sum_k [sum_i w_i (x_i -
        mu_k)' Sigma_k^-1 (x_i - mu_k) + covariance_penalty * log(|Sigma_k| / |Sigma_0|) +
        cluster_penalty]``, Sigma_0 being the smallest. "auto" is then as many clusters as
        covariances, at no penalty. Pass a covariance repeatedly where several clusters may have it.
    search : {"split-merge", "paper"}, default="split-merge"
        "paper" alternates between rows and parameters, and a row that costs more than
        ``cluster_penalty`` opens a cluster. "split-merge" adds single-row moves, splits, merges and
        exchanges, each made only where it lowers the objective.
    init : {"mean"} or array of shape (k, n_features), default="mean"
        Where to start: one cluster, or clusters of the prior's shape at given centres. Where the
        penalty or the prior is "auto", "mean" starts from the clusters found while choosing it
        (unless ``search="paper"``). Where the penalty is, rows and clusters then follow each other
        without single-row moves, splits, births or exchanges, so that what was chosen stays, and
        `order`, `n_init` and `random_state` do not matter.
    n_clusters : int or None, default=None
        The number of clusters, where it is known. They are those into which a sample of the rows is
        likeliest to fall, with a prior and, in `cluster_penalty_`, a penalty that keep them; then
        rows move, whatever `search`. There are fewer where rows are equal, or leave a cluster.
    max_clusters : int or None, default=None
        Cap on the number of clusters. None stops at the larger of 64 and 2^25 / n_features; an
        automatic penalty at 160, and at ``2 (n_features + 2)`` rows for each cluster.
    n_init : int, default=1
        Number of starts, of which the best is kept; all but the first are at random rows.
    order, max_iter, random_state, n_jobs
        As for `DPMeans`.
    verbose : int, default=0
        1 reports every step on standard error.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row, 0 to K-1.
    n_clusters_ : int
        K.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Means, in the dtype of the data.
    covariances_ : ndarray of shape (n_clusters_, n_features, n_features)
        ``(S_k + Phi0) / covariance_penalty`` of each cluster, the model's Sigma; with
        ``covariance_type="diag"`` their diagonals, of shape (n_clusters_, n_features). They have
        the scale of scatters, which are sums over rows. The sample covariance of a cluster is
        ``(covariance_penalty * covariances_[k] - covariance_prior_) / cluster_weights_[k]``.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Sum of the weights of each cluster's rows.
    covariance_prior_ : ndarray of shape (n_features, n_features) or (n_features,)
        Phi0.
    cluster_penalty_ : float
        The penalty used.
    inertia_ : float
        Sum of the weighted costs of the rows, ``(x - mu)' Sigma^-1 (x - mu)``.
    objective_ : float
        What was minimised.
    objective_history_, n_iter_, n_splits_, n_merges_, converged_
        As for `DPMeans`.
    status_ : str
        How the fit ended, and what to do about it. Where an automatic penalty gives one cluster, it
        says which number came nearest, and how to get it.
    penalty_choice_ : dict of ndarrays of shape (n_candidates,)
        Only where the penalty was "auto": every number of clusters that was considered, with
        ``n_clusters``, ``evidence`` (nats by which a sample of the rows is likelier in so many
        Gaussian clusters than in one), ``p_value`` (of the valleys that rows held out show between
        the clusters of others; 1 where they were not looked for; where one is at most 0.01, there
        is more than one cluster) and ``chosen``. By diagonal covariances where these decided.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are all strings.

    See Also
    --------
    DPMeans : Round clusters; dense or sparse rows, and other divergences.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import GaussianDPMeans
    >>> rng = np.random.RandomState(0)
    >>> long = rng.normal(size=(100, 2)) * [8.0, 0.3]
    >>> X = np.vstack([long, long + [0.0, 4.0]])
    >>> GaussianDPMeans(random_state=0).fit(X).n_clusters_
    2
    """

    cluster_centers_: Floats
    covariances_: Floats
    covariance_prior_: Floats

    _choice_columns = COLUMNS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "covariance_type": [StrOptions({"full", "diag"})],
        "covariance_penalty": [Interval(Real, 0, None, closed="neither")],
        "covariance_prior": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "covariances": ["array-like", None],
        "init": [StrOptions({"mean"}), "array-like"],
        "order": [StrOptions({"random", "given"})],
        "n_clusters": [AT_LEAST_ONE, None],
        "max_clusters": [AT_LEAST_ONE, None],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        covariance_type: str = "full",
        covariance_penalty: float = 1.0,
        covariance_prior: Any = "auto",
        covariances: Any = None,
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
        self.cluster_penalty = cluster_penalty
        self.covariance_type = covariance_type
        self.covariance_penalty = covariance_penalty
        self.covariance_prior = covariance_prior
        self.covariances = covariances
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

    def _fitted(
        self, matrix: Any, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        every = np.array(np.broadcast_to(1.0 if weights is None else weights, len(matrix)))
        if self.n_clusters is not None:
            told_number(self, len(matrix))
        options = self._options(matrix.shape[1])
        report = self._report_changes
        if self.covariances is None:
            if options.penalty is None or options.prior is None:
                self._say("choosing the prior and the penalty")
            fitted, status = fit_rows(matrix, every, options, rng, pool, report, self._say)
        else:
            import_whole("hardbayes.gaussian.known")
            from hardbayes.gaussian.known import fit_known

            given = self.covariances
            fitted, status = fit_known(matrix, every, options, given, pool, rng, report)
        model: FittedGaussians = fitted["_model"]
        fitted["_model"] = model.with_cost_quantiles(matrix, fitted["labels_"], every, pool)
        return fitted, status

    def _options(self, d: int) -> Options:
        """Return the parameters, checked against the number of columns."""
        diagonal = self.covariance_type == "diag"
        most = self.n_clusters or self.max_clusters or cluster_bound(d)
        prior, init = self.covariance_prior, self.init
        return Options(
            penalty=None if self.cluster_penalty == "auto" else float(self.cluster_penalty),
            prior=None if isinstance(prior, str) else given_prior(prior, d, diagonal),
            centres=None if isinstance(init, str) else check_centres(init, self._geometry, d, most),
            rate=float(self.covariance_penalty),
            diagonal=diagonal,
            max_clusters=most,
            search=self.search,
            order=self.order,
            n_init=self.n_init,
            max_steps=self.max_iter,
            n_clusters=self.n_clusters,
        )

    def _schema(self, state: dict[str, Any]) -> Schema:
        attributes, model = schemas(self.covariance_type == "diag")
        return attributes | model | self._choice_schema

    def _model_from(self, state: dict[str, Any]) -> FittedGaussians:
        diagonal = self.covariance_type == "diag"
        return FittedGaussians.from_arrays(diagonal, state["cluster_penalty_"], state)
