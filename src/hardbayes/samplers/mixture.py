"""Gibbs samplers of Dirichlet process mixtures: estimators whose fits are posterior draws."""

from abc import abstractmethod
from collections import Counter
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import (
    AT_LEAST_ONE,
    SHARED_CONSTRAINTS,
    Estimator,
    checked_data,
    fit_task,
)
from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.schema import Schema
from hardbayes.core.validation import fit_method
from hardbayes.samplers.chains import Chain, run_chains, streams
from hardbayes.samplers.diagnostics import effective_draws, split_r_hat
from hardbayes.samplers.families import FAMILIES, GEOMETRIES, pose
from hardbayes.samplers.partitions import (
    CredibleBall,
    certainty_of,
    coclustering_of,
    credible_ball_of,
    least_variation,
)
from hardbayes.samplers.starts import hard_labels, starting_labels

#: Labels that a fit keeps; of longer ones every second, third, ... sweep.
MOST_KEPT = 1 << 27
POSITIVE = Interval(Real, 0, None, closed="neither")
CHAIN_CONSTRAINTS: dict[str, list[Any]] = {
    "start": [StrOptions({"hard", "one", "random"}), "array-like"],
    "n_chains": [AT_LEAST_ONE],
    "n_sweeps": [AT_LEAST_ONE],
    "n_burn_in": [Interval(Integral, 0, None, closed="left")],
    **{name: SHARED_CONSTRAINTS[name] for name in ("random_state", "n_jobs", "verbose")},
}


class Sampler(Estimator):
    """Base of the samplers: parameters, checks, and that there is nothing to save."""

    @abstractmethod
    def _drawn(self, matrix: Matrix, rng: np.random.RandomState, pool: Pool) -> dict[str, Any]:
        """Return the fitted attributes for checked rows."""

    @property
    @abstractmethod
    def _family(self) -> str:
        """The family, which says what rows are accepted."""

    @fit_method
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw from the posterior given X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; sparse for counts and for yes and no.
        y : ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : sampler
            With its draws. If an error is raised, the sampler is unchanged.
        """
        self._check_pairs()
        with fit_task(self, X, y):
            matrix, _, names = checked_data(self, GEOMETRIES[self._family](), X, None)
            self._say("fit of {} rows, {} columns".format(*matrix.shape))
            with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
                fitted = self._drawn(matrix, self._stream(), pool)
            self._keep(fitted | names, Status.CONVERGED)
        return self

    def _check_pairs(self) -> None:
        """Raise where a prior is given by anything but two positive numbers."""
        for name in (
            "concentration",
            "noise_variance",
            "mean_variance",
            "prior_strength",
            "weight_variance",
        ):
            given = getattr(self, name, None)
            if isinstance(given, tuple | list) and not (
                len(given) == 2
                and all(
                    isinstance(each, int | float | np.number) and 0 < each < np.inf
                    for each in given
                )
            ):
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} must be a number, a name, or "
                    f"the two positive numbers of its prior. Got {given!r} instead."
                )

    def _schema(self, state: dict[str, Any]) -> Schema:
        return self._model_from(state)

    def _model_from(self, state: dict[str, Any]) -> Any:
        raise NotImplementedError("Samplers are not saved: keep the draws that you need.")


def kept_sweeps(n_rows: int, n_chains: int, n_sweeps: int) -> int:
    """Return every how many sweeps labels are kept, so that memory stays bounded."""
    return max(1, -(-n_rows * n_chains * n_sweeps // MOST_KEPT))


class PartitionSampler(ClusterMixin, Sampler):
    """Base of the samplers of partitions."""

    draws_: NDArray[np.signedinteger]
    thinning_: int
    labels_: NDArray[np.int32]
    n_clusters_: int
    n_clusters_posterior_: dict[int, float]
    certainty_: Floats
    n_clusters_draws_: NDArray[np.integer]
    concentration_draws_: Floats
    noise_variance_draws_: Floats
    prior_spread_draws_: Floats
    log_posterior_draws_: Floats
    rhat_: dict[str, float]
    ess_: dict[str, float]
    algorithm: str
    split_merge: bool
    start: Any
    n_chains: int
    n_sweeps: int
    n_burn_in: int

    @abstractmethod
    def _prior_parameters(self) -> dict[str, Any]:
        """Return the parameters that priors are made of."""

    def _drawn(self, matrix: Matrix, rng: np.random.RandomState, pool: Pool) -> dict[str, Any]:
        family, n = self._family, matrix.shape[0]
        check_counts(matrix, family)
        starts = starting_labels(self.start, matrix, family, self.n_chains, rng)
        guide = starts[0]
        if family == "full-gaussian":
            if self.algorithm == "means":
                raise ValueError("family='full-gaussian' is sampled by algorithm='collapsed' only.")
            if isinstance(self.start, str) and self.start != "hard":
                guide = hard_labels(matrix, family, 0)
        posed = pose(matrix, family, self.algorithm == "means", self._prior_parameters(), guide)
        total = self.n_burn_in + self.n_sweeps
        chains = [
            Chain(posed, labels, stream, total, self.split_merge)
            for labels, stream in zip(starts, streams(rng, self.n_chains), strict=True)
        ]
        thin = kept_sweeps(n, self.n_chains, self.n_sweeps)
        small = np.int16 if n < np.iinfo(np.int16).max else np.int32
        draws = np.empty((self.n_chains, -(-self.n_sweeps // thin), n), small)
        if thin > 1:
            self._say(f"labels of every {thin}th sweep are kept, {draws.nbytes >> 20} MiB")

        def take(chain: int, first: int, drawn: NDArray[np.int32]) -> None:
            numbers = np.arange(first, first + len(drawn)) - self.n_burn_in
            wanted = np.flatnonzero((numbers >= 0) & (numbers % thin == 0))
            draws[chain, numbers[wanted] // thin] = drawn[wanted]

        run_chains(chains, total, take, pool)
        record = np.array([chain.record[self.n_burn_in :] for chain in chains])
        return summarised(draws, record, starts, thin)

    def coclustering(self, rows: Any = None) -> Floats:
        """Return how often rows share a cluster.

        Parameters
        ----------
        rows : array-like of int or None, default=None
            Numbers of rows of the fit; None: all of them.

        Returns
        -------
        shares : ndarray of shape (n_chosen, n_chosen)
            Share of the draws in which two rows are in one cluster.
        """
        check_is_fitted(self)
        return coclustering_of(self._flat_draws(), rows)

    def credible_ball(self, level: float = 0.95) -> CredibleBall:
        """Return the partitions around `labels_` that hold a share of the posterior.

        Parameters
        ----------
        level : float, default=0.95
            The share of draws within the ball.

        Returns
        -------
        ball : CredibleBall
            ``radius``, in nats of variation of information; ``upper``, ``lower`` and ``horizon``:
            the draws at its border with fewest and with most clusters, and the farthest of all
            (Wade & Ghahramani 2018).
        """
        check_is_fitted(self)
        if not 0.0 < level <= 1.0:
            raise ValueError(f"The 'level' parameter must be a share of draws. Got {level!r}.")
        return credible_ball_of(self.labels_, self._flat_draws(), level)

    def certainty_of(self, labels: Any) -> Floats:
        """Return how sure each row is of its cluster in any labelling of the rows of the fit.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Numbers of clusters.

        Returns
        -------
        certainty : ndarray of shape (n_samples,)
            Share of the draws in which the row is in the cluster that matches its own.
        """
        check_is_fitted(self)
        return certainty_of(np.asarray(labels), self._flat_draws())

    def _flat_draws(self) -> NDArray[np.signedinteger]:
        return self.draws_.reshape(-1, self.draws_.shape[-1])


def check_counts(matrix: Matrix, family: str) -> None:
    """Raise where rows are not the whole numbers, or zeros and ones, that a family draws."""
    if family.endswith("gaussian"):
        return
    values = np.asarray(getattr(matrix, "data", matrix)) if hasattr(matrix, "indptr") else matrix
    if (values != np.floor(values)).any():
        what = "zeros and ones" if family == "bernoulli" else "whole numbers"
        raise ValueError(
            f"X must hold {what} for family={family!r}, which draws them. Pass counts instead of "
            "shares, or use family='gaussian'."
        )


def summarised(
    draws: NDArray[np.signedinteger], record: Floats, starts: list[Any], thin: int
) -> dict[str, Any]:
    """Return the fitted attributes of draws (chains, kept, n) and record (chains, sweeps, 5)."""
    flat = draws.reshape(-1, draws.shape[-1])
    sizes = record[:, :, 0].astype(int)
    counted = Counter(sizes.ravel().tolist())
    labels = least_variation(flat, starts)
    followed = {"n_clusters": record[:, :, 0], "log_posterior": record[:, :, 1]}
    return {
        "draws_": draws,
        "thinning_": thin,
        "n_clusters_draws_": sizes,
        "n_clusters_posterior_": {k: counted[k] / sizes.size for k in sorted(counted)},
        "labels_": labels,
        "n_clusters_": int(labels.max()) + 1,
        "certainty_": certainty_of(labels, flat),
        "log_posterior_draws_": record[:, :, 1],
        "concentration_draws_": record[:, :, 2],
        "noise_variance_draws_": record[:, :, 3],
        "prior_spread_draws_": record[:, :, 4],
        "rhat_": {name: split_r_hat(values) for name, values in followed.items()},
        "ess_": {name: effective_draws(values) for name, values in followed.items()},
    }


class DPMixtureGibbs(PartitionSampler):
    """Draw partitions from the posterior of a Dirichlet process mixture.

    Where `DPMeans` finds one partition, this shows how sure it is: the posterior of the number of
    clusters, how often two rows share one, and the certainty of each row. Clusters have the
    conjugate priors of their family, and rows are divided by a Chinese restaurant process.

    Parameters
    ----------
    family : {"gaussian", "multinomial", "poisson", "bernoulli", "full-gaussian"}, \
default="gaussian"
        What rows of a cluster are: "gaussian", normal around its mean with one variance for all
        clusters and columns; "multinomial", counts that share proportions; "poisson", counts with
        a rate for each column; "bernoulli", zeros and ones with a probability for each column;
        "full-gaussian", normal with a covariance of its own.
    concentration : float, "gamma" or (shape, rate), default="gamma"
        alpha: how readily clusters open. A number fixes it; with a gamma prior it is drawn (Escobar
        & West 1995). "gamma" stands for (1, 1).
    noise_variance : float, "inverse-gamma" or (shape, scale), default="inverse-gamma"
        sigma: the variance of rows around the mean of their cluster, for "gaussian".
    mean_variance : float, "auto", "inverse-gamma" or (shape, scale), default="auto"
        rho: the variance of the means of clusters, for "gaussian". "auto" is the variance of X.
    prior_strength : float, "gamma" or (shape, rate), default="gamma"
        For counts, and for zeros and ones: how closely clusters keep to the prior mean. The prior
        counts as so many entries ("multinomial") or rows.
    mean : "auto", float or array-like of shape (n_features,), default="auto"
        The mean that the means of clusters are drawn around. "auto" is that of X.
    algorithm : {"collapsed", "means"}, default="collapsed"
        Whether rows choose with the parameters of clusters integrated out (Neal 2000, Algorithm 3)
        or drawn (Algorithm 2, the papers').
    split_merge : bool, default=True
        Whether each sweep proposes to divide a cluster or to unite two (Jain & Neal 2004).
    start : {"hard", "one", "random"} or array-like of shape (n_samples,) or \
(n_chains, n_samples), default="hard"
        Labels that chains start from. "hard": the first, third, ... chain from those of `DPMeans`
        or `GaussianDPMeans`, the others from one cluster, so that agreement means something.
    n_chains : int, default=4
        Number of chains.
    n_sweeps : int, default=1000
        Sweeps of each chain that are kept.
    n_burn_in : int, default=200
        Sweeps of each chain before those, which are dropped.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same bits, whatever ``n_jobs``.
    n_jobs : int or None, default=None
        Threads, over which chains are spread. None: all cores.
    verbose : int, default=0
        1 reports progress on standard error.

    Attributes
    ----------
    draws_ : ndarray of shape (n_chains, n_kept, n_samples), int16 or int32
        Labels after each sweep, in the order of the first rows of clusters. Large ones are thinned.
    thinning_ : int
        Every how many sweeps labels are kept. Numbers below are kept of every sweep.
    n_clusters_posterior_ : dict
        The probability of each number of clusters that was drawn.
    labels_ : ndarray of shape (n_samples,), int32
        The partition of least expected variation of information.
    n_clusters_ : int
        Its number of clusters.
    certainty_ : ndarray of shape (n_samples,)
        For each row, the share of draws in which it is in the cluster that matches its own.
    n_clusters_draws_, concentration_draws_, noise_variance_draws_, prior_spread_draws_, \
log_posterior_draws_ : ndarrays of shape (n_chains, n_sweeps)
        After each sweep: number of clusters, alpha, sigma, rho or the strength of the prior, and
        the log of the joint density up to a constant.
    rhat_, ess_ : dict
        Split R-hat and effective number of draws, of "n_clusters" and of "log_posterior".
    n_features_in_, feature_names_in_
        As for `DPMeans`.

    See Also
    --------
    DPGaussianGibbs : The same for rows that are normal around the means of clusters.
    hardbayes.certainty : How sure a fitted model is.

    Notes
    -----
    alpha and rho decide the number of clusters, whatever the number of draws. Posteriors of these
    mixtures have small clusters beyond the true ones. A chain that stays near its start is no proof
    that nothing better is elsewhere: look at `rhat_`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes.samplers import DPMixtureGibbs
    >>> counts = np.repeat([[9, 1, 0], [0, 2, 8]], 10, axis=0)
    >>> sampler = DPMixtureGibbs("multinomial", n_sweeps=200, random_state=0).fit(counts)
    >>> sampler.labels_
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
          dtype=int32)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "family": [StrOptions(set(FAMILIES))],
        "concentration": [StrOptions({"gamma"}), POSITIVE, tuple, list],
        "noise_variance": [StrOptions({"inverse-gamma"}), POSITIVE, tuple, list],
        "mean_variance": [StrOptions({"auto", "inverse-gamma"}), POSITIVE, tuple, list],
        "prior_strength": [StrOptions({"gamma"}), POSITIVE, tuple, list],
        "mean": [StrOptions({"auto"}), Interval(Real, None, None, closed="neither"), "array-like"],
        "algorithm": [StrOptions({"collapsed", "means"})],
        "split_merge": ["boolean"],
        **CHAIN_CONSTRAINTS,
    }

    def __init__(
        self,
        family: str = "gaussian",
        concentration: Any = "gamma",
        *,
        noise_variance: Any = "inverse-gamma",
        mean_variance: Any = "auto",
        prior_strength: Any = "gamma",
        mean: Any = "auto",
        algorithm: str = "collapsed",
        split_merge: bool = True,
        start: Any = "hard",
        n_chains: int = 4,
        n_sweeps: int = 1000,
        n_burn_in: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.family = family
        self.concentration = concentration
        self.noise_variance = noise_variance
        self.mean_variance = mean_variance
        self.prior_strength = prior_strength
        self.mean = mean
        self.algorithm = algorithm
        self.split_merge = split_merge
        self.start = start
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_burn_in = n_burn_in
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _family(self) -> str:
        return self.family

    def _prior_parameters(self) -> dict[str, Any]:
        names = ("concentration", "noise_variance", "mean_variance", "prior_strength", "mean")
        return {name: getattr(self, name) for name in names}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.family.endswith("gaussian")
        tags.input_tags.positive_only = not self.family.endswith("gaussian")
        return tags


class DPGaussianGibbs(PartitionSampler):
    """Draw partitions from the posterior of a Dirichlet process mixture of round Gaussians.

    The Gibbs sampler whose limit is DP-means (Kulis & Jordan 2012): rows are normal with variance
    sigma around the mean of their cluster, and means are normal with variance rho.

    Parameters
    ----------
    concentration, noise_variance, mean_variance, mean, algorithm, split_merge, start, n_chains, \
n_sweeps, n_burn_in, random_state, n_jobs, verbose
        As for `DPMixtureGibbs`.

    Attributes
    ----------
    draws_, thinning_, n_clusters_posterior_, labels_, n_clusters_, certainty_, n_clusters_draws_, \
concentration_draws_, noise_variance_draws_, prior_spread_draws_, log_posterior_draws_, rhat_, \
ess_, n_features_in_, feature_names_in_
        As for `DPMixtureGibbs`.

    See Also
    --------
    DPMixtureGibbs : Counts, zeros and ones, and clusters with covariances.
    DPMeans : The limit, and one partition in a fraction of the time.

    Examples
    --------
    >>> from hardbayes.datasets import make_three_gaussians
    >>> from hardbayes.samplers import DPGaussianGibbs
    >>> X, y = make_three_gaussians(random_state=0)
    >>> sampler = DPGaussianGibbs(random_state=0).fit(X)
    >>> sampler.n_clusters_
    3
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in DPMixtureGibbs._parameter_constraints.items()
        if name not in ("family", "prior_strength")
    }

    def __init__(
        self,
        concentration: Any = "gamma",
        *,
        noise_variance: Any = "inverse-gamma",
        mean_variance: Any = "auto",
        mean: Any = "auto",
        algorithm: str = "collapsed",
        split_merge: bool = True,
        start: Any = "hard",
        n_chains: int = 4,
        n_sweeps: int = 1000,
        n_burn_in: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.concentration = concentration
        self.noise_variance = noise_variance
        self.mean_variance = mean_variance
        self.mean = mean
        self.algorithm = algorithm
        self.split_merge = split_merge
        self.start = start
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_burn_in = n_burn_in
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _family(self) -> str:
        return "gaussian"

    def _prior_parameters(self) -> dict[str, Any]:
        names = ("concentration", "noise_variance", "mean_variance", "mean")
        return {name: getattr(self, name) for name in names}
