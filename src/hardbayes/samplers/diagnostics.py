"""Whether chains agree: split R-hat and the effective number of draws.

Both after Gelman et al., Bayesian Data Analysis (2013), chapter 11: each chain is cut into halves,
so that a drift within a chain counts as a disagreement. Autocorrelations are summed in pairs until
a pair is negative (Geyer 1992).
"""

import numpy as np

from hardbayes.core.arrays import Floats


def halves(draws: Floats) -> Floats:
    """Return draws (chains, sweeps) as twice as many chains of half the length."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def split_r_hat(draws: Floats) -> float:
    """Return R-hat of a quantity (chains, sweeps): near 1 where chains agree.

    1 where it never changes; infinite where it never changes within chains that differ; NaN for
    less than four sweeps.
    """
    if draws.shape[1] < 4:
        return float("nan")
    cut = halves(draws)
    within = float(cut.var(axis=1, ddof=1).mean())
    between = float(cut.mean(axis=1).var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    length = cut.shape[1]
    return float(np.sqrt((length - 1) / length + between / within))


def effective_draws(draws: Floats) -> float:
    """Return how many independent draws say as much about the mean of a quantity."""
    if draws.shape[1] < 4:
        return float("nan")
    cut = halves(draws)
    m, length = cut.shape
    within = float(cut.var(axis=1, ddof=1).mean())
    pooled = within * (length - 1) / length + float(cut.mean(axis=1).var(ddof=1))
    if pooled == 0.0:
        return float(m * length)
    if within == 0.0:
        return float(m)
    correlations = 1.0 - (within - covariances(cut)) / pooled
    pairs = correlations[0 : 2 * (length // 2) : 2] + correlations[1 : 2 * (length // 2) : 2]
    negative = np.flatnonzero(pairs < 0.0)
    pairs = pairs[: negative[0]] if len(negative) else pairs
    time = 2.0 * float(np.minimum.accumulate(pairs).sum()) - 1.0
    return min(m * length / max(time, 1e-9), m * length * np.log10(m * length))


def covariances(draws: Floats) -> Floats:
    """Return the autocovariance at every lag (sweeps,), the mean over chains."""
    length = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * length, axis=1)
    lagged = np.fft.irfft(np.abs(spectrum) ** 2, 2 * length, axis=1)[:, :length]
    return lagged.mean(axis=0) / length * (length / (length - 1))
