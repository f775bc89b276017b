"""Gaussian DP-means: clusters that learn their own shapes, as many as pay for themselves."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.engine.gaussian.restarts import Options
from hardbayes.engine.status import Status
from hardbayes.estimators.base import AT_LEAST_ONE, SHARED_CONSTRAINTS
from hardbayes.estimators.cluster_estimator import ClusterEstimator
from hardbayes.estimators.fitted_state import check_gaussians
from hardbayes.matrices import Floats
from hardbayes.models.gaussian import FittedGaussians
from hardbayes.pool import Pool
from hardbayes.problems.gaussian import given_prior
from hardbayes.problems.partition import cluster_bound
from hardbayes.selection.gaussian.choice import COLUMNS
from hardbayes.selection.gaussian.fitting import fit_rows
from hardbayes.validation import check_centres


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
        likelier in them than rows without clusters would be, there is one cluster. The penalty is
        one at which the objective keeps these clusters.
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
    search : {"split-merge", "paper"}, default="split-merge"
        "paper" alternates between rows and parameters, and a row that costs more than
        ``cluster_penalty`` opens a cluster. "split-merge" adds single-row moves, splits, merges and
        exchanges, each made only where it lowers the objective.
    init : {"mean"} or array of shape (k, n_features), default="mean"
        Where to start: one cluster, or clusters of the prior's shape at given centres. Where the
        penalty or the prior is "auto", "mean" starts from the clusters found while choosing it
        (unless ``search="paper"``). Where the penalty is, rows and clusters then follow each other
        without splits, births or exchanges, and `order`, `n_init` and `random_state` do not matter.
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
        is more than one cluster) and ``chosen``.
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
        "init": [StrOptions({"mean"}), "array-like"],
        "order": [StrOptions({"random", "given"})],
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

    def _fitted(
        self, matrix: Any, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        if self.cluster_penalty == "auto" or isinstance(self.covariance_prior, str):
            self._say("choosing the prior and the penalty")
        every = np.array(np.broadcast_to(1.0 if weights is None else weights, len(matrix)))
        options = self._options(matrix.shape[1])
        report = self._report_changes
        fitted, status = fit_rows(matrix, every, options, rng, pool, report, self._say)
        model: FittedGaussians = fitted["_model"]
        fitted["_model"] = model.with_spread(matrix, fitted["labels_"], every, pool)
        return fitted, status

    def _options(self, d: int) -> Options:
        """Return the parameters, checked against the number of columns."""
        diagonal = self.covariance_type == "diag"
        most = self.max_clusters or cluster_bound(d)
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
        )

    def _model_from(
        self, arrays: dict[str, Any], fitted: dict[str, Any]
    ) -> tuple[FittedGaussians, int]:
        penalty = fitted.get("cluster_penalty_", np.nan)  # checked below
        model = FittedGaussians.from_arrays(self.covariance_type == "diag", penalty, arrays)
        k, d = model.clusters.means.shape
        check_gaussians(fitted, k, d, model.whitening.forward.shape)
        return model, d
