"""Gaussian DP-means: clusters that learn their own shapes, as many as pay for themselves."""

import sys
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.engine.gaussian_model import FittedGaussians
from hardbayes.engine.gaussian_result import fitted_attributes
from hardbayes.engine.status import Status
from hardbayes.estimators.fitted_state import check_fitted
from hardbayes.estimators.gaussian_fitting import fit_rows
from hardbayes.estimators.kept_state import KeptState
from hardbayes.executors.pool import Pool, resolve_threads
from hardbayes.geometry.base import Floats
from hardbayes.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.validation import check_dense, check_weights


class GaussianDPMeans(
    KeptState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Clustering with a covariance matrix for each cluster, and no given number of them.

    Minimises ``sum_k [covariance_penalty * log|I + Phi0^-1 S_k| + cluster_penalty]`` over
    partitions, where ``S_k`` is the scatter of cluster k about its mean and Phi0 the
    ``covariance_prior``. It is what is left of ``sum_i w_i (x_i - mu)' Sigma^-1 (x_i - mu)
    + covariance_penalty * log|Sigma|`` (Broderick, Kulis & Jordan 2013, supplement E, made
    well-posed) once every ``Sigma_k = (S_k + Phi0) / covariance_penalty`` is at its best.

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        What each cluster costs besides, in units of ``covariance_penalty``. "auto" takes the number
        of clusters at which the rows are likeliest, each cluster being a Gaussian, and a penalty at
        which the objective has its minimum there.
    covariance_type : {"full", "diag"}, default="full"
        Whether clusters may lie obliquely to the axes.
    covariance_penalty : float, default=1.0
        Weight of the log-determinant. Only its ratio to ``cluster_penalty`` matters.
    covariance_prior : "auto", float or array of shape (n_features, n_features), default="auto"
        Phi0, the scatter that a cluster of nothing has: a matrix, its diagonal (n_features,), or a
        number that multiplies the identity. The larger, the rounder (in its own metric) the
        clusters. "auto" is a multiple of the pooled scatter of the clusters themselves: the one
        whose clusters make the rows likeliest, tried out on at most 4096 rows.
    search : {"split-merge", "paper"}, default="split-merge"
        "paper" alternates between rows and parameters, and a row dearer than ``cluster_penalty``
        opens a cluster. "split-merge" goes on with moves of single rows, splits, merges and
        exchanges, each made only where the objective falls.
    init : {"mean"} or array of shape (k, n_features), default="mean"
        Where to start: one cluster, or clusters of the prior's shape at given centres. Where
        something is "auto", "mean" goes on with the clusters found on the way (not so "paper").
    order : {"random", "given"}, default="random"
        Order in which a sweep visits the rows. It matters only where clusters are opened.
    max_clusters : int or None, default=None
        Cap on the number of clusters. None stops at the larger of 64 and 2^25 / n_features.
    n_init : int, default=1
        Number of starts, of which the best is kept; all but the first are at rows drawn.
    max_iter : int, default=300
        Largest number of steps of a start: sweeps over the rows, and rounds of moves.
    random_state : int, RandomState instance or None, default=None
        Seed of the visiting order and of the splits that are tried.
    n_jobs : int or None, default=None
        Threads; None takes all cores. The same seed gives the same labels for any number.
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
        ``(S_k + Phi0) / covariance_penalty`` of each cluster; with ``covariance_type="diag"`` their
        diagonals (n_clusters_, n_features).
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
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step. It never rises.
    n_iter_ : int
        Steps of the start that was kept.
    n_splits_, n_merges_ : int
        Accepted moves that split a cluster, or merged two.
    converged_ : bool
        Whether the search came to its end before ``max_iter``.
    status_ : str
        How the fit ended, and what to do about it.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "covariance_type": [StrOptions({"full", "diag"})],
        "covariance_penalty": [Interval(Real, 0, None, closed="neither")],
        "covariance_prior": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "search": [StrOptions({"split-merge", "paper"})],
        "init": [StrOptions({"mean"}), "array-like"],
        "order": [StrOptions({"random", "given"})],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        covariance_type: str = "full",
        covariance_penalty: float = 1.0,
        covariance_prior: Any = "auto",
        search: str = "split-merge",
        init: Any = "mean",
        order: str = "random",
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
        self.search = search
        self.init = init
        self.order = order
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting ----------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianDPMeans":
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, dense.
        y : ignored
            For scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. A row of weight zero opens no cluster, but is labelled.

        Returns
        -------
        self : GaussianDPMeans
            The fitted estimator. If anything is raised, the estimator is as it was before.
        """
        seen = GaussianDPMeans()  # takes the feature names: a failed fit leaves no trace
        matrix = check_dense(X, SquaredEuclidean(), seen)
        given = check_weights(sample_weight, matrix)
        weights = np.array(
            np.broadcast_to(1.0 if given is None else given, len(matrix)), np.float64
        )
        state = self.random_state
        rng = np.random.RandomState() if state is None else check_random_state(state)
        parameters = self.get_params(deep=False)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            found = fit_rows(matrix, weights, parameters, rng, pool, self._report)
        fitted = fitted_attributes(
            found.solution, found.frame, found.partition, weights, matrix.dtype
        )
        fitted["covariance_prior_"] = found.prior
        if found.solution.status is not Status.CONVERGED:
            warnings.warn(
                fitted["status_"], ConvergenceWarning, stacklevel=3
            )  # past scikit-learn's wrapper of fit
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        names = {name: value for name, value in vars(seen).items() if name.endswith("_")}
        self.__dict__ = kept | fitted | names  # at once, or not at all
        return self

    def _report(self, step: int, n_clusters: int, n_changed: int) -> None:
        if self.verbose:
            print(  # noqa: T201 - what verbose asks for
                f"[GaussianDPMeans] step {step}: {n_clusters} clusters, {n_changed} changes",
                file=sys.stderr,
            )

    # -- using ------------------------------------------------------------------------------------

    def _checked(self, X: Any) -> NDArray[np.floating]:
        check_is_fitted(self)
        return check_dense(X, SquaredEuclidean(), self, reset=False)

    def predict(self, X: Any, novelty: bool = False) -> NDArray[np.int32]:
        """Return the cheapest cluster of each row; no cluster is ever opened.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        novelty : bool, default=False
            Return -1 for rows dearer than the penalty: those that would have opened a cluster.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Numbers of clusters.
        """
        labels, costs = self._model_of(X)
        if novelty:
            labels[costs > self.cluster_penalty_] = -1
        return labels.astype(np.int32)

    def _model_of(self, X: Any) -> tuple[NDArray[np.intp], Floats]:
        matrix = self._checked(X)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            return self._model.place(matrix, pool)

    def transform(self, X: Any) -> Floats:
        """Return the Mahalanobis distance of each row from each cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters_)
            Roots of the rows' costs.
        """
        matrix = self._checked(X)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            costs = self._model.all_costs(matrix, pool)
        return np.sqrt(costs).astype(matrix.dtype, copy=False)

    def score_samples(self, X: Any) -> Floats:
        """Return minus the cost of each row at its cheapest cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The higher, the better a row fits.
        """
        return -self._model_of(X)[1]

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # -- for save and load ------------------------------------------------------------------------

    def _model_from(
        self, arrays: dict[str, Any], fitted: dict[str, Any]
    ) -> tuple[FittedGaussians, int]:
        model = FittedGaussians.from_arrays(self.covariance_type == "diag", arrays)
        k, d = model.clusters.means.shape
        shape = model.whitening.forward.shape
        check_fitted(fitted, k, d, {"covariances_": (k, *shape), "covariance_prior_": shape})
        return model, d
