"""Gibbs samplers of Dirichlet process mixtures, for each family of rows."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.samplers.families import FAMILIES
from hardbayes.samplers.sampler import CHAIN_CONSTRAINTS, POSITIVE, PartitionSampler


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
