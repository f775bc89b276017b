"""The limit itself: as the variance falls, samplers choose as the hard algorithms do.

And ``-2 sigma log P`` tends to each objective, sigma being the variance: of partitions and of
features, with means and components, and with these integrated out (BKJ, supplements A to D).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln
from sklearn.metrics.cluster import contingency_matrix

from hardbayes.core.arrays import Floats
from hardbayes.datasets import make_three_gaussians
from hardbayes.experiments.results import Asked, Claim, Result, number
from hardbayes.plot.pictures import COLORS
from hardbayes.samplers import DPGaussianGibbs

SEED = 0  # any: shares over many sweeps are shown
#: Of the prior of the means, as in the paper (2012).
RHO = 100.0
PENALTY = 40.0  # at which the three Gaussians are three clusters, or a few more
MOVED = 0.3  # of the rows, which begin in any of the three clusters
#: The last is near the least at which exp(-lambda / 2 sigma) is a number.
VARIANCES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
FALLING = 10.0 ** -np.arange(0, 7)  # variances at which probabilities are measured


def published_sweep(X: Floats, labels: Any, penalty: float) -> Any:
    """Return the labels after one sweep of Algorithm 1 (KJ) from the means of these clusters."""
    centres = [X[labels == c].mean(axis=0) for c in np.unique(labels)]
    chosen = np.empty(len(X), int)
    for i, row in enumerate(X):
        costs = [float(np.square(row - centre).sum()) for centre in centres]
        chosen[i] = int(np.argmin(costs))
        if costs[chosen[i]] > penalty:
            chosen[i] = len(centres)
            centres.append(row)
    return chosen


def concentration(variance: float, penalty: float, d: int) -> float:
    """Return KJ's alpha, under which a new cluster costs the penalty (their section 3.1)."""
    return float(np.exp(d / 2 * np.log1p(RHO / variance) - penalty / (2 * variance)))


def sampled_sweep(X: Floats, labels: Any, penalty: float, variance: float, seed: int) -> Any:
    """Return the labels after one sweep of Gibbs sampling from these clusters."""
    sampler = DPGaussianGibbs(
        concentration(variance, penalty, X.shape[1]),
        noise_variance=variance,
        mean_variance=RHO,
        mean=0.0,
        algorithm="means",
        split_merge=False,
        start=labels,
        n_chains=1,
        n_sweeps=1,
        n_burn_in=0,
        random_state=seed,
        n_jobs=1,
    ).fit(X)
    return sampler.draws_[0, 0]


def same_choice(one: Any, other: Any) -> float:
    """Return the share of rows that are in the same cluster of both, under the best naming."""
    shared = contingency_matrix(one, other)
    return float(shared[linear_sum_assignment(-shared)].sum() / len(one))


# -- probabilities, and what they tend to ----------------------------------------------------------


def log_normal(X: Floats, means: Floats, variance: float) -> float:
    """Return the log-density of rows about means, with this variance in every direction."""
    return float(
        -0.5 * X.size * np.log(2 * np.pi * variance) - np.square(X - means).sum() / (2 * variance)
    )


def log_partition(sizes: Floats, log_alpha: float) -> float:
    """Return the log-probability of a partition under the Chinese restaurant process."""
    alpha, n = np.exp(log_alpha), sizes.sum()
    orders = gammaln(alpha + 1) - gammaln(alpha + n) + gammaln(sizes).sum()
    return float((len(sizes) - 1) * log_alpha + orders)


def log_features(Z: Floats, log_gamma: float) -> float:
    """Return the log-probability of features under the Indian buffet process."""
    n, sizes = len(Z), Z.sum(axis=0)
    same = np.unique(Z, axis=1, return_counts=True)[1]
    harmonic = (1.0 / np.arange(1, n + 1)).sum()
    own = gammaln(sizes) + gammaln(n - sizes + 1) - gammaln(n + 1)
    orders = own.sum() - gammaln(same + 1).sum()
    return float(Z.shape[1] * log_gamma - np.exp(log_gamma) * harmonic + orders)


def log_marginal(X: Floats, Z: Floats, variance: float) -> float:
    """Return the log-density of rows with means, or components, of variance RHO integrated out."""
    covariance = variance * np.eye(len(X)) + RHO * Z @ Z.T
    inside = float((X * np.linalg.solve(covariance, X)).sum())
    logarithm = float(np.linalg.slogdet(2 * np.pi * covariance)[1])
    return -0.5 * (X.shape[1] * logarithm + inside)


class Limit(NamedTuple):
    """An objective, and the logarithm of the probability that tends to it, by the variance."""

    objective: float
    log_probability: Callable[[float], float]

    def gaps(self, variances: Floats) -> Floats:
        """Return by how much ``-2 variance log P`` is off at these variances."""
        logs = np.array([self.log_probability(float(variance)) for variance in variances])
        return np.abs(-2 * variances * logs - self.objective)


def limits(X: Floats, labels: Any, Z: Floats, penalty: float) -> dict[str, Limit]:
    """Return the four limits of BKJ's supplements: of these clusters, and of these features."""

    def prior(of: Any, table: Any, variance: float) -> float:
        return float(of(table, -penalty / (2 * variance)))

    found = {}
    own = np.eye(int(labels.max()) + 1)[labels]
    for name, table, of, told, n_paid in (
        ("partition", own, log_partition, own.sum(axis=0), own.shape[1] - 1),
        ("features", Z, log_features, Z, Z.shape[1]),
    ):
        best = np.linalg.lstsq(table, X, rcond=None)[0]
        left = float(np.square(X - table @ best).sum())

        def joint(v: float, table=table, best=best, of=of, told=told) -> float:  # type: ignore[no-untyped-def]
            about = log_normal(X, table @ best, v) + log_normal(best, np.zeros(1), RHO)
            return prior(of, told, v) + about

        def collapsed(v: float, table=table, of=of, told=told) -> float:  # type: ignore[no-untyped-def]
            return prior(of, told, v) + log_marginal(X, table, v)

        value = left + penalty * n_paid
        found[name] = Limit(value, joint)
        found[f"{name}, collapsed"] = Limit(value, collapsed)
    return found


def run(asked: Asked) -> Result:
    """Compare sweeps of both from the same clusters, and probabilities with objectives."""
    n_starts = asked.either(100, 10)
    X, y = make_three_gaussians(120, random_state=SEED)
    X = X - X.mean(axis=0)
    rng = np.random.RandomState(SEED)
    shares: dict[float, list[float]] = {variance: [] for variance in VARIANCES}
    for at in range(n_starts):
        asked.progress.step("start", at, n_starts)
        labels = np.where(rng.rand(len(X)) < MOVED, rng.randint(3, size=len(X)), y)
        hard = published_sweep(X, labels, PENALTY)
        for variance in VARIANCES:
            drawn = sampled_sweep(X, labels, PENALTY, variance, at)
            shares[variance].append(same_choice(hard, drawn))
    mean = {variance: float(np.mean(values)) for variance, values in shares.items()}

    Z = np.column_stack([np.ones(len(X)), y == 1, rng.rand(len(X)) < 0.5]).astype(float)
    found = limits(X, y, Z, PENALTY)
    gaps = {name: each.gaps(FALLING) for name, each in found.items()}
    slope = FALLING * np.log(1 / FALLING)
    # By how much a gap exceeds variance * log(1 / variance), where that is small.
    factors = {name: values[3:] / slope[3:] for name, values in gaps.items()}
    rows = [
        (f"rows that choose alike, variance {variance:g}", "1 in the limit", number(share, 3))
        for variance, share in mean.items()
    ]
    rows += [
        (
            f"-2 variance log P, {name}: off at variance {FALLING[2]:g} and {FALLING[-1]:g}",
            f"0 from {each.objective:.1f}",
            f"{gaps[name][2]:.3g}, {gaps[name][-1]:.2g}",
        )
        for name, each in found.items()
    ]
    last = mean[VARIANCES[-1]]
    claims = [
        Claim(
            "as the variance falls the sampler chooses as Algorithm 1 does",
            last > 0.99,
            f"{number(last, 3)} of the rows at variance {VARIANCES[-1]:g}",
        ),
        Claim(
            "-2 variance log P tends to all four objectives, the gap like variance x log variance",
            all(np.ptp(values) < 0.5 * values.max() for values in factors.values()),
            "another rate",
        ),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(VARIANCES, list(mean.values()), "o-", color=COLORS[0])
        left.set(xlabel="variance", ylabel="rows that choose as Algorithm 1", xscale="log")
        left.invert_xaxis()
        for color, (name, values) in zip(COLORS, gaps.items(), strict=False):
            right.plot(FALLING, values, "o-", color=color, ms=3, label=name)
        factor = max(values[-1] / slope[-1] for values in gaps.values())
        right.plot(FALLING[1:], factor * slope[1:], "--", color="0.5", label="variance x log")
        right.set(xlabel="variance", ylabel="distance to the objective", xscale="log", yscale="log")
        right.invert_xaxis()
        right.legend(fontsize="small")

    return Result(
        head=("what", "paper", "measured"),
        rows=rows,
        claims=claims,
        seed=SEED,
        draw=draw,
        data=f"drawn: {len(X)} rows from three Gaussians (make_three_gaussians), centred",
        notes=f"One sweep of Neal's Algorithm 2 with KJ's alpha at lambda {PENALTY:g}, and one of "
        f"Algorithm 1, from the three Gaussians with {MOVED:.0%} of the rows moved, "
        f"{n_starts} times; rows are counted under the best naming of the clusters. "
        "Probabilities are those of the three Gaussians, and of three features: a base, one of "
        "the Gaussians, and one at random.",
        caption="Left: how many rows choose as Algorithm 1 does. Right: how far probabilities are "
        "from the objectives that they tend to.",
    )
