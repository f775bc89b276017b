"""What a sweep costs under another divergence."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.contestants import Fit, dp_means
from benchmarks.data import histograms
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import interleave, paired_ratio, progress, seconds
from hardbayes.core.geometry import GEOMETRIES, Geometry, Mahalanobis

NOTES = """\
Positive histograms, float32, the same starting centres (rows drawn at random), births priced
out, at most one, ten or forty sweeps; validation and the closing assignment are counted. Bounds
that skip centres in later sweeps are tightest for squared Euclidean distance. The ratio is the
time of a sweep over that of squared Euclidean distance; one thread, CPU time."""

COLUMNS = ["n x d", "k", "divergence", "sweeps", "time", "a sweep", "ratio", *TARGET_COLUMNS]
TARGET = Target(reach=1.5, lower_is_better=True)
NO_BIRTHS = 1e12


def run(options: Options) -> Section:
    """Compare the divergences at one shape, for one sweep and for ten."""
    section = Section("Divergences", COLUMNS, NOTES)
    n_rows, n_bins, k = (2_000, 16, 10) if options.quick else (100_000, 32, 50)
    X = histograms(n_rows, n_bins, k, seed=0)
    start = X[np.random.default_rng(0).choice(n_rows, size=k, replace=False)]

    root = np.random.default_rng(1).normal(size=(n_bins, n_bins)) / n_bins**0.5
    divergences: dict[str, str | Geometry] = {name: name for name in GEOMETRIES}
    divergences["Mahalanobis"] = Mahalanobis(root @ root.T + np.eye(n_bins))

    def fit(name: str, sweeps: int, _: int) -> Fit:
        return dp_means(
            X, NO_BIRTHS, divergence=divergences[name], init=start, max_iter=sweeps,
            random_state=0, n_jobs=1,
        )  # fmt: skip

    for sweeps in (1, 10, 40):
        progress(f"divergences, {sweeps} sweeps")
        rounds: dict[str, Callable[[int], Fit]] = {
            name: partial(fit, name, sweeps) for name in divergences
        }
        for contestant in rounds.values():
            contestant(0)
        times = interleave(rounds, options.repeats, clock=time.process_time)
        for name, runs in times.items():
            done = runs[-1].result
            taken = seconds(runs)
            ratio = paired_ratio(runs, times["squared_euclidean"], work=lambda fit: fit.sweeps)
            section.add(
                f"{n_rows:,} x {n_bins}",
                done.clusters,
                name,
                done.sweeps,
                f"{1e3 * taken:.1f} ms",
                f"{1e3 * taken / done.sweeps:.2f} ms",
                ratio,
                *TARGET.cells(ratio.median),
            )
    return section
