"""How sure is a fitted clustering? The sampler whose limit it is, started at its labels."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats, is_sparse, refuse_lazy
from hardbayes.core.geometry import geometry_for
from hardbayes.core.loop import counted
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.samplers.families import DIVERGENCES, GEOMETRIES, residual_variance
from hardbayes.samplers.mixture import DPMixtureGibbs
from hardbayes.samplers.partitions import certainty_of

#: Work of all sweeps by default, in numbers read: some ten seconds of one core.
SWEEP_WORK = 6e9
FEWEST_SWEEPS, MOST_SWEEPS = 200, 1000
#: R-hat of the number of clusters up to which chains from one cluster count.
AGREEMENT = 1.1
#: Rows count as sure from this certainty on, where results are put into words.
SURE = 0.9
#: Shape of the prior of the variance of means, and its least mean, in variances within clusters.
#: A larger one makes clusters that overlap rarer; benchmarks.samplers measures both.
SPREAD_SHAPE, LEAST_SPREAD = 3.0, 10.0


@dataclass
class Certainty:
    """What the posterior says of a fitted partition; `print` it for a few sentences."""

    n_clusters: int  #: Of the fitted model.
    n_clusters_posterior: dict[int, float]  #: The probability of each number of clusters.
    certainty: Floats  #: For each row, that it belongs to its cluster in ``model.labels_``.
    limits: str  #: What these numbers rest on, in words.
    sampler: DPMixtureGibbs = field(repr=False)  #: Fitted, with all draws.

    @property
    def sentences(self) -> list[str]:
        """The number of clusters, the rows, and what both rest on, a sentence or two each."""
        likely = sorted(self.n_clusters_posterior.items(), key=lambda item: -item[1])[:5]
        shown = sorted(item for item in likely if item is likely[0] or item[1] >= 0.005)
        numbers = ", ".join(f"{k}: {share:.0%}" for k, share in shown)
        sure = float((self.certainty >= SURE).mean())
        fitted = counted(self.n_clusters, "cluster")
        rows = (
            f"{sure:.0%} of the rows are at least {SURE:.0%} sure of their cluster, the least sure "
            f"{self.certainty.min():.0%}."
        )
        return [f"{fitted} fitted. Posterior of their number: {numbers}.", rows, self.limits]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def certainty(
    model: Any,
    X: Any,
    *,
    concentration: Any = "gamma",
    n_chains: int = 4,
    n_sweeps: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Certainty:
    """Say how sure a fitted clustering is: of its number of clusters, and of each row.

    Runs the Gibbs sampler whose small-variance limit the model is. Half of the chains start from
    the labels of the model, half from one cluster; these count only where both kinds agree.

    Parameters
    ----------
    model : DPMeans or GaussianDPMeans
        A fitted model. Of `DPMeans` the divergences "squared_euclidean", "kl", "poisson" (of
        counts) and "logistic" (of zeros and ones).
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows that it was fitted to, in the same order.
    concentration : float, "gamma" or (shape, rate), default="gamma"
        As for `DPMixtureGibbs`.
    n_chains : int, default=4
        Number of chains.
    n_sweeps : int or None, default=None
        Sweeps of each chain that are kept; half as many come before. None: 200 to 1000, fewer for
        large X, so that it takes seconds.
    random_state : int, RandomState instance or None, default=0
        Seed.
    n_jobs : int or None, default=None
        Threads, over which chains are spread. None: all cores.
    verbose : int, default=0
        1 reports progress on standard error.

    Returns
    -------
    result : Certainty
        ``n_clusters_posterior``, a dict; ``certainty`` of each row of ``model.labels_``;
        ``sampler``, with all draws; ``limits``, a text. ``print(result)`` says it in words.

    Examples
    --------
    >>> from hardbayes import DPMeans, certainty
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> model = DPMeans(random_state=0).fit(X)
    >>> found = certainty(model, X, n_sweeps=200)
    >>> bool(found.certainty.mean() > 0.9)
    True
    """
    family = family_of(model)
    check_is_fitted(model)
    refuse_lazy(X)
    labels = np.asarray(model.labels_)
    n, d = np.shape(X)
    if n != len(labels):
        raise ValueError(
            f"X has {n} rows, but the model was fitted to {len(labels)}. Pass those rows."
        )
    if family.endswith("gaussian") and is_sparse(X):
        raise ValueError(
            f"The sampler of {type(model).__name__} reads dense rows. Pass X.toarray() as X."
        )
    starts = np.array([np.zeros(n, int) if chain % 2 else labels for chain in range(n_chains)])
    if n_sweeps is None:
        n_sweeps = affordable_sweeps(n, d, int(labels.max()) + 1, n_chains, family)
    sampler = DPMixtureGibbs(
        family,
        concentration,
        mean_variance=spread_prior(X, labels) if family == "gaussian" else "auto",
        start=starts,
        n_chains=n_chains,
        n_sweeps=n_sweeps,
        n_burn_in=n_sweeps // 2,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    ).fit(X)
    return _result(sampler, labels)


def spread_prior(X: Any, labels: NDArray[np.signedinteger]) -> tuple[float, float]:
    """Return the prior of the variance of means: its mean is the variance of X or more.

    At least `LEAST_SPREAD` times the variance within clusters: where there is one cluster, X says
    nothing of how far apart clusters are, and a small spread would make many that overlap.
    """
    rows = np.asarray(X, dtype=np.float64)
    centred = rows - rows.mean(axis=0)
    within = residual_variance(centred, np.unique(labels, return_inverse=True)[1])
    total = float(centred.var(axis=0).mean())
    return SPREAD_SHAPE, (SPREAD_SHAPE - 1.0) * max(total, LEAST_SPREAD * within)


def family_of(model: Any) -> str:
    """Return the family of distributions whose limit the model is."""
    if isinstance(model, GaussianDPMeans):
        if model.covariances is not None:
            raise ValueError(
                "No sampler has the limit GaussianDPMeans(covariances=...). Leave covariances out."
            )
        return "full-gaussian"
    if isinstance(model, DPMeans):
        geometry = geometry_for(model.divergence)
        for family in DIVERGENCES:
            if type(geometry) is GEOMETRIES[family]:
                return family
        raise ValueError(
            f"No sampler has the limit DPMeans(divergence={model.divergence!r}). Use the "
            "divergence 'squared_euclidean', 'kl', 'poisson' or 'logistic'."
        )
    raise TypeError(
        f"The 'model' parameter of certainty must be a fitted DPMeans or GaussianDPMeans. "
        f"Got {type(model).__name__} instead."
    )


def affordable_sweeps(n: int, d: int, k: int, n_chains: int, family: str) -> int:
    """Return how many sweeps take about as long as `SWEEP_WORK` says."""
    affordable = SWEEP_WORK / _sweep_work(n, d, k, n_chains, family)
    return int(np.clip(affordable, FEWEST_SWEEPS, MOST_SWEEPS))


def is_quick(model: Any, X: Any, n_chains: int = 4) -> bool:
    """Whether the fewest sweeps take no more than `SWEEP_WORK`."""
    n, d = np.shape(X)
    work = _sweep_work(n, d, int(model.n_clusters_), n_chains, family_of(model))
    return FEWEST_SWEEPS * work <= SWEEP_WORK


def _sweep_work(n: int, d: int, k: int, n_chains: int, family: str) -> float:
    """Return the numbers read by a sweep of all chains, and its share of the burn-in."""
    row = (k + 2) * (d + 16.0)
    if family == "full-gaussian":
        row = (k + 2) * (d * d + 30.0) + d**3
    return 1.5 * n_chains * n * row


def _result(sampler: DPMixtureGibbs, labels: NDArray[np.signedinteger]) -> Certainty:
    draws, sizes = sampler.draws_, sampler.n_clusters_draws_
    r_hat = sampler.rhat_["n_clusters"]
    limits = (
        "The prior decides with the data: the concentration alpha and the spread of clusters move "
        "these numbers, and such mixtures add small clusters. "
    )
    if sampler.family == "gaussian":
        limits += (
            "All clusters of the sampler are round and equally wide: several stand for one that is "
            "longer or wider. "
        )
    if r_hat <= AGREEMENT:
        limits += f"Chains from one cluster came to the same (R-hat {r_hat:.2f})."
    elif sampler.n_chains > 1:
        draws, sizes = draws[::2], sizes[::2]
        limits += (
            f"Chains from one cluster did not come to the same (R-hat {r_hat:.2f}) and are left "
            "out: the others may only have stayed near the fitted partition, which is no proof."
        )
    else:
        limits += "A single chain may only have stayed near the fitted partition: no proof."
    counted = Counter(sizes.ravel().tolist())
    return Certainty(
        n_clusters=len(np.unique(labels)),
        n_clusters_posterior={k: counted[k] / sizes.size for k in sorted(counted)},
        certainty=certainty_of(labels, draws.reshape(-1, draws.shape[-1])),
        limits=limits,
        sampler=sampler,
    )
