"""What a sweep costs under another divergence."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.contestants import Fit, dp_means
from benchmarks.data import histograms
from benchmarks.options import Options
from benchmarks.report import Section
from benchmarks.timing import interleave, paired_ratio, progress, seconds

NOTES = """\
Positive histograms, float32, the same starting centres (rows drawn at random), births priced
out, at most one or ten sweeps; validation and the closing assignment are counted. Bounds that
skip distances in later sweeps need squared Euclidean distance. The ratio is the time of a sweep
over that of squared Euclidean distance."""

COLUMNS = ["n x d", "k", "divergence", "sweeps", "time", "a sweep", "ratio"]
DIVERGENCES = ["squared_euclidean", "kl"]
NO_BIRTHS = 1e12


def run(options: Options) -> Section:
    """Compare the divergences at one shape, for one sweep and for ten."""
    section = Section("Divergences", COLUMNS, NOTES)
    n_rows, n_bins, k = (2_000, 16, 10) if options.quick else (100_000, 32, 50)
    X = histograms(n_rows, n_bins, k, seed=0)
    start = X[np.random.default_rng(0).choice(n_rows, size=k, replace=False)]

    def fit(divergence: str, sweeps: int, _: int) -> Fit:
        return dp_means(
            X, NO_BIRTHS, divergence=divergence, init=start, max_iter=sweeps, random_state=0
        )

    for sweeps in (1, 10):
        progress(f"divergences, {sweeps} sweeps")
        rounds: dict[str, Callable[[int], Fit]] = {
            name: partial(fit, name, sweeps) for name in DIVERGENCES
        }
        for contestant in rounds.values():
            contestant(0)
        times = interleave(rounds, options.repeats)
        for name, runs in times.items():
            done = runs[-1].result
            taken = seconds(runs)
            ratio = paired_ratio(runs, times[DIVERGENCES[0]], work=lambda fit: fit.sweeps)
            section.add(
                f"{n_rows:,} x {n_bins}",
                done.clusters,
                name,
                done.sweeps,
                f"{1e3 * taken:.1f} ms",
                f"{1e3 * taken / done.sweeps:.2f} ms",
                ratio,
            )
    return section
