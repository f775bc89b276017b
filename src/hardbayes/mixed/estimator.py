"""MixedDPMeans: clusters of tables as people have them."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from hardbayes.core.arrays import Floats
from hardbayes.core.estimator import AT_LEAST_ONE, SHARED_CONSTRAINTS, ClusterEstimator
from hardbayes.core.exact_number import told_number
from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool, one_blas_thread, resolve_threads
from hardbayes.core.schema import Schema
from hardbayes.core.summaries import as_configured
from hardbayes.core.validation import check_weights
from hardbayes.mixed.choice.rule import COLUMNS
from hardbayes.mixed.divergence import Mixed
from hardbayes.mixed.fitted import ATTRIBUTES, MODEL, FittedMixed
from hardbayes.mixed.fitting import Options, fit_table
from hardbayes.mixed.reading import read_table
from hardbayes.mixed.summary import summary_of

SCHEMA: Schema = ATTRIBUTES | MODEL
PSEUDO_ROWS = 1.0  # at the shares of all rows: a level that a cluster lacks is only unlikely there


class MixedAttributes:
    """Attributes of models of mixed tables alone; other models have none of them."""

    _model: Any

    @property
    def center_names_(self) -> list[str]:
        """What the columns of the centres are."""
        return self._model.centre_names

    @property
    def column_kinds_(self) -> dict[str, str]:
        """What each column was taken for."""
        return self._model.column_kinds


class MixedDPMeans(MixedAttributes, ClusterEstimator):
    """Clustering of tables of numbers, counts, grades, yes and no, categories and dates.

    Minimises, in nats,

    ``sum_i w_i [1/2 (x_i - m_z(i))' V^-1 (x_i - m_z(i)) + 1/2 log det V + 1/2 tr(V^-1 F)
    - sum_c log share_z(i)(c_i) - log(n_z(i) / n)] + cluster_penalty * K``

    over partitions, means m, the covariance V within clusters (one for all, or one for each where
    that pays), shares of levels and the number K of clusters. Divergences of columns add up, as in
    the families of Jiang, Kulis & Jordan 2012; no weights between numbers and categories are
    needed, for variances are those *within* clusters and labels cost their entropy, so that a
    division along one column alone does not pay. F holds floors of columns in steps, a cell that is
    missing costs nothing, and each cluster carries ``prior_weight`` pseudo-rows with the shares of
    all rows (and p + 2 with the common covariance, where covariances are its own).

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        What each cluster costs, in nats. "auto" chooses the number of clusters that describes rows
        better than one by more nats than it does in tables that have the same shares, steps and
        dependences but no clusters; where none does, one cluster, with a warning. See
        `penalty_choice_`.
    n_clusters : int or None, default=None
        The number of clusters, where it is known; there may be fewer if rows are equal.
    columns : mapping, sequence of str or None, default=None
        What columns hold, by name or number, where that is not to be found out: "number", "count",
        "ordered", "date", "yes/no", "category" or "ignore"; for example ``{"stars": "ordered"}``.
        Found out are: text, truth values and columns of two values as categories; numbers and
        ordered categoricals as numbers in steps; dates as days. Columns of text that name the rows,
        with more than 50 levels, or that follow from another category are left out.
    prior_weight : float or "auto", default="auto"
        Pseudo-rows with the shares of all rows that each cluster carries. "auto" is 1.
    max_clusters : int or None, default=None
        Largest number of clusters considered. None is 16.
    n_init : int, default=1
        Multiplies the random starts tried at each number of clusters.
    max_iter : int, default=300
        Largest number of steps of the final descent.
    random_state, n_jobs, verbose
        As for `DPMeans`. Fits use one thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row; cluster 0 is the largest.
    n_clusters_ : int
        K.
    cluster_centers_ : ndarray of shape (n_clusters_, n_coordinates)
        Means of numbers in the units of their columns, then shares of the levels of categories.
    center_names_ : list of str
        What these are: "age", "country=DE".
    column_kinds_ : dict of str to str
        What each column was taken for: one of the kinds above, or "left out: " and why.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Sum of the weights of each cluster's rows.
    cluster_penalty_ : float
        The penalty used: one at which K is best, where K was chosen or told.
    prior_weight_ : float
        The pseudo-rows used.
    inertia_ : float
        Fit term: sum of the weighted costs of the rows.
    objective_ : float
        What was minimised, pseudo-rows and penalties included.
    objective_history_, n_iter_, converged_
        As for `DPMeans`: steps of the final descent of all rows. It never rises.
    status_ : str
        How the fit ended; with one cluster, which number came nearest, how to get it, and which
        columns are associated.
    penalty_choice_ : dict of ndarrays of shape (n_candidates,)
        Only where the number was chosen: "n_clusters", "penalty", "evidence" (nats a row that so
        many clusters save, after a price for their parameters), "reference" (the largest evidence
        for at most as many in tables without clusters) and "chosen".
    n_features_in_, feature_names_in_
        As for `DPMeans`.

    See Also
    --------
    DPMeans : ``DPMeans(divergence="mixed")`` does the same.

    Examples
    --------
    >>> import pandas as pd
    >>> from hardbayes import MixedDPMeans
    >>> from hardbayes.datasets import make_customers
    >>> columns, segment = make_customers(random_state=0)
    >>> model = MixedDPMeans(random_state=0).fit(pd.DataFrame(columns))
    >>> model.n_clusters_
    4
    """

    _choice_columns = COLUMNS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "n_clusters": [AT_LEAST_ONE, None],
        "columns": [dict, list, tuple, None],
        "prior_weight": [StrOptions({"auto"}), Interval(Real, 0, 1e9, closed="both")],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        **{name: rule for name, rule in SHARED_CONSTRAINTS.items() if name != "search"},
    }

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        n_clusters: int | None = None,
        columns: Any = None,
        prior_weight: float | str = "auto",
        max_clusters: int | None = None,
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cluster_penalty = cluster_penalty
        self.n_clusters = n_clusters
        self.columns = columns
        self.prior_weight = prior_weight
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def cluster_centers_(self) -> Floats:
        """Means and shares, made anew at each access."""
        return self._model.shown_centres()

    @property
    def _geometry(self) -> Any:
        return Mixed(self.columns)

    def _fit_rows(self, X: Any, sample_weight: Any, **params: Any) -> tuple[dict[str, Any], Status]:
        table = read_table(X, self._geometry.columns)
        described = copy(self)  # gets the attributes: a fit that fails must not change them
        validate_data(described, X, skip_check_array=True)
        weights = check_weights(sample_weight, np.zeros((len(table.matrix), 1)))
        every = np.array(np.broadcast_to(1.0 if weights is None else weights, len(table.matrix)))
        self._say("fit of {} rows, {} columns".format(*table.matrix.shape))
        with Pool(resolve_threads(self.n_jobs), self._progress()), one_blas_thread():
            fitted, status = fit_table(
                table, every, self._geometry, self._options(len(table.matrix)), self._stream(),
                "MixedDPMeans(n_clusters={k}).fit(X)", self._say,
            )  # fmt: skip
        return fitted | described._columns, status

    def _options(self, n: int) -> Options:
        return Options(
            None if self.cluster_penalty == "auto" else float(self.cluster_penalty),
            told_number(self, n),
            self.max_clusters,
            PSEUDO_ROWS if self.prior_weight == "auto" else float(self.prior_weight),
            self.n_init,
            self.max_iter,
        )

    def _checked(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._model.read(X, self)

    def summary(self, X: Any, *, values: Any = None, n_columns: int = 3, groups: Any = None) -> Any:
        """Return a table of the clusters of X: how large they are and what sets them apart.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows, those of the fit or others.
        values, groups : None
            Not used: X is in units that people read.
        n_columns : int, default=3
            How many columns are told in "apart": those that differ most from all rows.

        Returns
        -------
        table : dict of ndarrays of shape (n_clusters_,), or data frame if `set_output` names one
            "cluster", "size", "share", "apart", and every column that is used: the mean of a
            number, the shares of levels, both where a number has a spike ("60 % none; else 42"),
            and in brackets the same of all rows.
        """
        matrix = self._checked(X)
        return as_configured(summary_of(self, matrix, self.predict(X), n_columns), self)

    def __sklearn_tags__(self) -> Any:
        return mixed_tags(super().__sklearn_tags__())

    def _schema(self, state: dict[str, Any]) -> Schema:
        return SCHEMA | self._choice_schema

    def _model_from(self, state: dict[str, Any]) -> FittedMixed:
        return FittedMixed.from_arrays(self._geometry, state["cluster_penalty_"], state)


def as_mixed(estimator: Any) -> MixedDPMeans:
    """Return the estimator that does the work of a `DPMeans` with a mixed divergence."""
    free = {"search": "split-merge", "method": "joint", "init": "mean", "order": "random"}
    for name, default in free.items():
        given = getattr(estimator, name)
        if not isinstance(given, str) or given != default:
            raise ValueError(
                f"The {name!r} parameter of DPMeans must be {default!r} where the divergence "
                f"is mixed. Got {given!r} instead. Leave it out."
            )
    names = set(MixedDPMeans().get_params()) & set(estimator.get_params(deep=False))
    shared = {name: getattr(estimator, name) for name in names}
    return MixedDPMeans(**shared, columns=estimator._geometry.columns)


def mixed_tags(tags: Any) -> Any:
    """Return the tags of an estimator of mixed tables."""
    tags.input_tags.allow_nan = True
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    tags.input_tags.sparse = False
    tags.input_tags.positive_only = False
    tags.transformer_tags.preserves_dtype = ["float64"]
    return tags
