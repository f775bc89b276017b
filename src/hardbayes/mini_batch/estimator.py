"""DP-means of a stream: rows come in blocks, and clusters that appear or fade are told."""

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import AT_LEAST_ONE, fit_task
from hardbayes.core.geometry import Geometry
from hardbayes.core.loop import Status, add_warning
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.row_blocks import rows_by_block
from hardbayes.core.schema import Schema
from hardbayes.core.validation import check_matrix, fit_method, read_weights
from hardbayes.dp_means.estimator import CentreEstimator
from hardbayes.mini_batch.saving import SCHEMA, from_arrays, to_arrays
from hardbayes.mini_batch.stream import Rules, Stream
from hardbayes.mini_batch.windows import Window


class MiniBatchDPMeans(CentreEstimator):
    """DP-means of a stream, in bounded memory: clusters appear, fade, and keep their names.

    Minimises ``sum_i w_i D(x_i, mu_z(i)) + sum_c [cluster_penalty + prior_weight D(m, mu_c)]`` over
    partitions z of the rows seen that divide no micro-cluster, and centres mu, m being the overall
    mean: the objective of `DPMeans`. Micro-clusters are exact weights and means of rows close to
    each other, at most ``max_micro_clusters`` of them. With ``half_life`` the weights w_i fade.

    Rows come through `partial_fit`, in blocks of any size. How the stream is cut into blocks
    changes no bit of what is found. Nor does reading results in between, but for the numbers of
    clusters and with them their order: what was told stays.

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        What each cluster costs, in units of the divergence: a squared distance by default. "auto"
        chooses as `DPMeans` does, among the first 4,096 rows (or all, as long as there are fewer),
        and from then on the penalty grows with the weight of the rows. `set_params` may change it
        at any time.
    divergence : str or Geometry, default="squared_euclidean"
        Cost of a row at a centre, as in `DPMeans`.
    prior_weight : float or "auto", default="auto"
        Pseudo-rows at the overall mean that each cluster carries, as in `DPMeans`. "auto" follows
        the first zero of the stream where zeros matter.
    max_clusters : int or None, default=None
        Cap on the number of clusters.
    max_micro_clusters : int or "auto", default="auto"
        Cap on the number of micro-clusters. More hide less of the rows and take more time and
        memory. "auto" is 50 for each cluster, from 2,000 to 20,000; fewer where rows have
        thousands of columns.
    half_life : float or None, default=None
        After so many rows, or so much of ``time``, a row counts half. None: rows count forever.
    penalty_per : {"total", "row"}, default="total"
        Whether ``cluster_penalty`` is for the sum of all costs, so that more rows pay for more
        clusters, or for each unit of weight seen, so that the number of clusters settles.
    refresh : int or "auto", default="auto"
        After how many rows clusters are found anew where no result is read, so that `events_` tell
        of what happened in between. "auto": where the last rows cost more than the clusters
        explain, where two clusters should be one, and after a quarter more rows or of a half-life.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits that are tried. The same seed gives the same bits, whatever ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads, as in `DPMeans`.
    verbose : int, default=0
        1 reports on standard error after each call.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row of the last call of `fit` or `partial_fit`: its place in `cluster_ids_`.
    n_clusters_ : int
        K, the number of clusters.
    cluster_ids_ : ndarray of shape (n_clusters_,), int64
        The permanent number of each cluster, in rising order. It stays with a cluster that drifts,
        and is never given again.
    events_ : list of tuples
        What happened: ``("born", id, row)``; ``("split", id, row, id of the other part)``;
        ``("merged", id, row, id of the one it went into)``; ``("died", id, row)`` for a cluster
        without rows for so long that it no longer pays. ``row`` is how many rows were seen then.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Centres, in the dtype of the first rows.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Sum of the weights of each cluster's rows, as they count now.
    micro_centers_ : ndarray of shape (n_micro_clusters, n_features)
        Means of the micro-clusters.
    micro_weights_ : ndarray of shape (n_micro_clusters,)
        Their weights.
    summary_error_ : float
        S, the cost of all rows at the means of their micro-clusters: what the summary hides. For
        squared distances and any centres, the square root of the cost of all rows is within
        sqrt(S) of that of the weighted means.
    n_rows_seen_ : int
        Rows of the stream.
    cluster_penalty_ : float
        The penalty used for the sum of all costs.
    prior_weight_ : float
        The prior weight used.
    inertia_ : float
        Fit term: sum of the weighted costs of all rows seen, exact for the partition told.
    objective_ : float
        What was minimised: fit term, prior term and penalties.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step on the micro-clusters. It never rises.
    n_iter_ : int
        Steps on the micro-clusters, when the clusters were last found.
    n_splits_, n_merges_ : int
        Accepted moves among these.
    converged_ : bool
        Whether these came to an end.
    status_ : str
        How they ended, and what to do about it.
    n_features_in_ : int
        Number of features of the rows.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the first rows had names that are all strings.

    See Also
    --------
    DPMeans : The same objective on rows that are at hand, and a little lower.

    Notes
    -----
    Results are computed when they are first read after `partial_fit`; only the names of the
    clusters that a reading has told are kept. One more pass over stored rows reaches an optimum of
    `DPMeans`: ``DPMeans(model.cluster_penalty_, init=model.cluster_centers_).fit(X)``.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import MiniBatchDPMeans
    >>> rng = np.random.default_rng(0)
    >>> model = MiniBatchDPMeans(20.0, random_state=0)
    >>> for centre in (0.0, 0.0, 9.0):
    ...     model = model.partial_fit(centre + rng.standard_normal((500, 2)) / 20)
    ...     print(model.n_rows_seen_, model.cluster_ids_, model.events_[-1])
    500 [0] ('born', 0, 500)
    1000 [0] ('born', 0, 500)
    1500 [0 1] ('born', 1, 1024)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        **{
            name: CentreEstimator._divergence_constraints[name]
            for name in (
                "divergence", "prior_weight", "max_clusters", "random_state", "n_jobs", "verbose",
            )
        },
        "max_micro_clusters": [StrOptions({"auto"}), AT_LEAST_ONE],
        "half_life": [Interval(Real, 0, None, closed="neither"), None],
        "penalty_per": [StrOptions({"total", "row"})],
        "refresh": [StrOptions({"auto"}), AT_LEAST_ONE],
    }  # fmt: skip
    _seen: Stream
    cluster_ids_: NDArray[np.int64]
    events_: list[tuple[Any, ...]]
    micro_centers_: Floats
    micro_weights_: Floats
    summary_error_: float
    prior_weight_: float

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        divergence: str | Geometry = "squared_euclidean",
        prior_weight: float | str = "auto",
        max_clusters: int | None = None,
        max_micro_clusters: int | str = "auto",
        half_life: float | None = None,
        penalty_per: str = "total",
        refresh: int | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cluster_penalty = cluster_penalty
        self.divergence = divergence
        self.prior_weight = prior_weight
        self.max_clusters = max_clusters
        self.max_micro_clusters = max_micro_clusters
        self.half_life = half_life
        self.penalty_per = penalty_per
        self.refresh = refresh
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- rows come in ------------------------------------------------------------------------------

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget all rows seen before, and take up these as a stream.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), row_blocks, or iterable
            Rows, or blocks of rows that are taken up one after the other; `labels_` are then those
            of the last block.
        y : ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Blocks of an iterable come without: pass those that have weights to
            `partial_fit`, or name the weights in `row_blocks`.

        Returns
        -------
        self : estimator
            The fitted estimator. If an error is raised, the estimator is unchanged.
        """
        with fit_task(self, X, y, sample_weight=sample_weight):
            self._keep(*self._fit_rows(X, sample_weight))
        return self

    def _fit_rows(self, X: Any, sample_weight: Any, **params: Any) -> tuple[dict[str, Any], Status]:
        fresh = copy(self)._set_fitted({})
        fresh.__dict__.pop("_seen", None)
        for rows, weights in _blocks(X, sample_weight):
            fresh._take_up(rows, weights, None)
        if "_seen" not in vars(fresh):
            raise ValueError(
                "X must be rows, or an iterable with at least one block of rows. Got none."
            )
        with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
            fitted, status = fresh._results(pool)
        return fresh._columns | fitted, status

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        raise NotImplementedError("streams are fitted by _fit_rows")

    @fit_method
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, time: Any = None
    ) -> Self:
        """Take up more rows of the stream.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; one or many. Errors count rows from the beginning of the stream.
        y : ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        time : array-like of shape (n_samples,) or float, default=None
            When the rows came, in any order, in the unit of ``half_life``. None: rows are numbered.

        Returns
        -------
        self : estimator
            The estimator. If an error is raised, it is unchanged.
        """
        self._take_up(X, sample_weight, time)
        return self

    def _take_up(self, X: Any, sample_weight: Any, time: Any) -> None:
        """Take up rows, or leave everything as it is and raise an error."""
        seen = vars(self).get("_seen")
        geometry, first = (self._geometry, 0) if seen is None else (seen.geometry, seen.n_seen)
        if seen is not None:
            self._check_divergence(seen)
        described = copy(self)  # gets the attributes of columns: errors must not change this one
        matrix = check_matrix(X, geometry, described, reset=seen is None, first_row=first)
        weights = None if sample_weight is None else read_weights(sample_weight, matrix, first)
        if geometry.length_as_weight:
            lengths = geometry.row_sizes(matrix)
            weights = lengths if weights is None else lengths * weights
        times = self._times(time, int(matrix.shape[0]), seen, first)
        rows = Window(matrix, weights, times)
        if seen is None:
            seen = Stream.begin(geometry, rows, int(self._stream().randint(2**31)))
        rows = rows.like(seen.is_sparse)
        seen.check_range(rows)
        with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
            seen = seen.after(rows, self._rules(), pool)
        self._say(f"{seen.n_seen:,} rows, {len(seen.summary):,} micro-clusters")
        self._set_fitted(described._columns | {"_seen": seen})

    @property
    def _columns(self) -> dict[str, Any]:
        """The attributes that describe the columns."""
        names = ("n_features_in_", "feature_names_in_")
        return {name: vars(self)[name] for name in names if name in vars(self)}

    @property
    def n_rows_seen_(self) -> int:
        """Rows of the stream; reading this finds no clusters."""
        if "_seen" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'n_rows_seen_'")
        return self._seen.n_seen

    def merge(self, other: "MiniBatchDPMeans") -> Self:
        """Take up all that another stream has seen.

        Rows that wait for their window to fill are taken up first, in both. With ``half_life`` the
        rows count as their times say; where rows are numbered, as if both streams had run side by
        side.

        Parameters
        ----------
        other : MiniBatchDPMeans
            A model of rows with the same features and the same divergence. It is unchanged.

        Returns
        -------
        self : estimator
            The estimator. It has the names of its own clusters; those of ``other`` are new to it.
            If an error is raised, it is unchanged.
        """
        if type(other) is not type(self) or "_seen" not in vars(other):
            raise ValueError(
                "The 'other' parameter of merge must be a MiniBatchDPMeans that has seen rows. Got "
                f"{other!r} instead. Call partial_fit on it first."
            )
        self._validate_params()
        mine, others = vars(self).get("_seen"), other._seen
        self._check_divergence(others)
        if mine is None:
            return self._set_fitted(other._columns | {"_seen": others})
        self._check_divergence(mine)
        if (self.n_features_in_, mine.is_timed) != (other.n_features_in_, others.is_timed):
            raise ValueError(
                "The 'other' parameter of merge must be a model of rows with as many features, "
                "and with times where this one has times. Pass rows alike to both."
            )
        with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
            seen = mine.united(others, self._rules(), other._rules(), pool)
        return self._set_fitted(self._columns | {"_seen": seen})

    def _check_divergence(self, seen: Stream) -> None:
        if type(self._geometry) is not type(seen.geometry):
            raise ValueError(
                f"The 'divergence' parameter of {type(self).__name__} must stay as it was when the "
                f"stream began, {type(seen.geometry).__name__}. Got {self.divergence!r} instead. "
                "Begin another stream, with clone."
            )

    def _times(self, time: Any, n_rows: int, seen: Stream | None, first_row: int) -> Floats | None:
        """Return the times of rows as float64 (n,); errors count rows from ``first_row``."""
        if seen is not None and seen.is_timed != (time is not None):
            has = "come with every call" if seen.is_timed else "be None, as in earlier calls"
            raise ValueError(
                f"The 'time' parameter of partial_fit must {has}. Got {time!r} instead."
            )
        if time is None:
            return None
        if self.half_life is None:
            raise ValueError(
                "The 'time' parameter of partial_fit must be None where half_life is: without "
                "forgetting, times change nothing. Set half_life, or leave out the times."
            )
        try:
            times = np.broadcast_to(np.asarray(time, np.float64), n_rows)
        except (TypeError, ValueError):
            raise ValueError(
                f"The 'time' parameter of partial_fit must be one number, or one for each of the "
                f"{n_rows} rows. Convert dates to numbers in the unit of half_life."
            ) from None
        if not np.isfinite(times).all():
            row = int(np.flatnonzero(~np.isfinite(times))[0])
            raise ValueError(
                "The 'time' parameter of partial_fit must hold finite numbers. "
                f"Got {times[row]} at row {first_row + row}. Leave out that row, or give it a time."
            )
        return times

    def _rules(self) -> Rules:
        """Return what the parameters say."""
        auto = "auto"
        return Rules(
            None if self.cluster_penalty == auto else float(self.cluster_penalty),
            self.penalty_per == "row",
            None if self.prior_weight == auto else float(self.prior_weight),
            self.max_clusters,
            None if self.max_micro_clusters == auto else int(self.max_micro_clusters),
            None if self.half_life is None else float(self.half_life),
            None if self.refresh == auto else int(self.refresh),
        )

    # -- results, when they are read ---------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """Return a result, which is computed where rows have come since the last were."""
        if name not in RESULTS or "_seen" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
            results, _ = self._results(pool)
        self.__dict__ |= results
        return results[name]

    def __sklearn_is_fitted__(self) -> bool:
        return "_seen" in vars(self)

    def _results(self, pool: Pool) -> tuple[dict[str, Any], Status]:
        """Return the attributes that tell of the stream: of it, only names that are told change."""
        rules = self._rules()
        read = self._seen.flushed(rules, pool)
        if not len(read.summary):
            raise NotFittedError(
                "All rows so far have weight zero, and clusters need some with weight. Pass more "
                "rows to partial_fit."
            )
        found, summary, _, sentence = read.find(rules, pool)
        read.name(found, summary, rules)
        by_name = np.argsort(read.identities.ids)  # so that labels change as little as may be
        found = found.in_order(by_name)
        assert read.recent is not None
        fitted = found.attributes | {
            "_seen": replace(self._seen, identities=read.identities, told=read.told),
            # Rows of weight zero before all others are in no micro-cluster.
            "labels_": np.append(found.labels, np.int32(0))[read.recent],
            "cluster_ids_": read.identities.ids[by_name],
            "events_": list(read.identities.events),
        }
        status = found.status
        if sentence and fitted["n_clusters_"] == 1:
            status = add_warning(fitted, status, sentence)
        return fitted, status

    # -- for save and load -------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        if "_seen" not in vars(self):
            return {}
        names = vars(self).get("feature_names_in_")
        state = {
            "n_features_in_": self.n_features_in_,
            "feature_names_in_": None if names is None else [str(name) for name in names],
        }
        return state | to_arrays(self._seen)

    def _schema(self, state: dict[str, Any]) -> Schema:
        return SCHEMA

    def _model_from(self, state: dict[str, Any]) -> Stream:
        return from_arrays(self._geometry, state)

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        self._set_fitted(self._columns | {"_seen": self._model})


#: Attributes that are computed when they are read.
RESULTS = frozenset(
    {
        "_model", "labels_", "n_clusters_", "cluster_ids_", "events_", "cluster_weights_",
        "micro_centers_", "micro_weights_", "summary_error_", "cluster_penalty_", "prior_weight_",
        "inertia_", "objective_", "objective_history_", "n_iter_", "n_splits_",
        "n_merges_", "converged_", "status_",
    }
)  # fmt: skip


def _blocks(X: Any, sample_weight: Any) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of rows with their weights; X itself where it is no iterable of blocks."""
    if (by_block := rows_by_block(X, sample_weight)) is not None:
        for block in by_block.blocks():
            if block.rows.shape[0]:
                yield block.rows, block.weights
    elif not _are_blocks(X):
        yield X, sample_weight
    elif sample_weight is not None:
        raise ValueError(
            "The 'sample_weight' parameter of fit must be None where X is an iterable of blocks. "
            "Pass each block with its weights to partial_fit."
        )
    else:
        for block in X:
            yield block, None


def _are_blocks(X: Any) -> bool:
    """Whether X is an iterable of blocks of rows, rather than rows."""
    if isinstance(X, Iterator):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(getattr(block, "ndim", 0) == 2 for block in X)
    return hasattr(X, "__iter__") and not any(
        hasattr(X, name) for name in ("shape", "__array__", "__dataframe__", "columns", "__len__")
    )
