"""Real data that scikit-learn carries, and heavy tails: where bounds spare least."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_sample_image
from threadpoolctl import threadpool_limits

from benchmarks.contestants import Fit, dp_means, k_means_from
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import Timed, interleave, paired_ratio, progress, seconds

NOTES = """\
`DPMeans(search="paper")` with a penalty that no row exceeds against scikit-learn's Lloyd: the same
work, sweep by sweep. Both start at the same k rows drawn at random, and run as many sweeps as ours
takes to converge, at most 100, on one thread each: threads of OpenMP wait actively, so on a shared
machine more of them would measure the neighbours. Ratios are scikit-learn's time over ours, *CPU*
that of the process. *Objective*: how far ours is above."""

COLUMNS = ["data", "k", "sweeps", "hardbayes", "scikit-learn", "ratio", "CPU", "objective"]
COLUMNS += TARGET_COLUMNS
TARGET = Target(reach=1, moonshot=4)
MAX_SWEEPS = 100
NO_BIRTHS = 1e30

Rows = NDArray[np.floating]


@dataclass(frozen=True)
class Run:
    """A fit, and the CPU time it took."""

    fit: Fit
    cpu: float


def pixels() -> Rows:
    """Return the colours of a photograph."""
    return load_sample_image("china.jpg").reshape(-1, 3).astype(np.float32)


def patches(size: int = 4) -> Rows:
    """Return square patches of a photograph, side by side: (17,000, 48)."""
    image = load_sample_image("flower.jpg").astype(np.float32)
    high, wide = (length // size for length in image.shape[:2])
    cut = image[: high * size, : wide * size].reshape(high, size, wide, size, 3)
    return cut.transpose(0, 2, 1, 3, 4).reshape(high * wide, -1)


def digits() -> Rows:
    """Return handwritten digits."""
    rows: Rows = load_digits(return_X_y=True)[0].astype(np.float32)
    return rows


def lognormal() -> Rows:
    """Return 58,000 rows whose columns are lognormal."""
    return np.random.default_rng(0).lognormal(0.0, 1.5, (58_000, 9))


def student() -> Rows:
    """Return 58,000 rows of Student's t with two degrees of freedom, whose variance is infinite."""
    return np.random.default_rng(0).standard_t(2.0, (58_000, 9))


SETS: dict[str, tuple[Callable[[], Rows], int]] = {
    "digits": (digits, 40),
    "patches of a photograph": (patches, 60),
    "colours of a photograph": (pixels, 64),
    "lognormal columns, float32": (lambda: lognormal().astype(np.float32), 40),
    "lognormal columns, float64": (lognormal, 40),
    "Student's t, float32": (lambda: student().astype(np.float32), 40),
    "Student's t, float64": (student, 100),
}


def run(options: Options) -> Section:
    """Compare on every set."""
    section = Section("Real data and heavy tails", COLUMNS, NOTES)
    ratios = []
    for name, (make, k) in SETS.items():
        progress(f"real data, {name}")
        X = make()[:2000] if options.quick else make()
        ratios.append(_add(section, name, np.ascontiguousarray(X), k, options))
    section.remarks.append(
        f"CPU ratio in the median {median(ratios):.2f}, at least {min(ratios):.2f}."
    )
    return section


def _add(section: Section, name: str, X: Rows, k: int, options: Options) -> float:
    start = np.random.default_rng(0).choice(np.unique(X, axis=0), k, replace=False)

    def ours(max_iter: int) -> Fit:
        return dp_means(X, NO_BIRTHS, init=start, max_iter=max_iter, random_state=0, n_jobs=1)

    n_sweeps = ours(MAX_SWEEPS).sweeps
    contestants = {
        "ours": lambda _: _with_cpu(lambda: ours(n_sweeps)),
        "theirs": lambda _: _with_cpu(lambda: k_means_from(X, start, max_iter=n_sweeps)),
    }
    with threadpool_limits(1):
        times = interleave(contestants, options.repeats_up_to(3))
    fits = {side: runs[-1].result.fit for side, runs in times.items()}
    costs = {side: _cost(X, fit) for side, fit in fits.items()}
    cpu = {
        side: [Timed(run.result.cpu, run.result) for run in runs] for side, runs in times.items()
    }

    def sweeps(run: Run) -> float:
        return run.fit.sweeps

    ratio = paired_ratio(times["theirs"], times["ours"], work=sweeps)
    cpu_ratio = paired_ratio(cpu["theirs"], cpu["ours"], work=sweeps)
    progress(f"  {ratio}, CPU {cpu_ratio}")
    section.add(
        f"{name}, {X.shape[0]:,} x {X.shape[1]}",
        k,
        n_sweeps,
        f"{seconds(times['ours']):.3f} s, CPU {seconds(cpu['ours']):.3f}",
        f"{seconds(times['theirs']):.3f} s, CPU {seconds(cpu['theirs']):.3f}",
        ratio,
        cpu_ratio,
        f"{100 * (costs['ours'] / costs['theirs'] - 1):+.3f} %",
        *TARGET.cells(cpu_ratio.median),
    )
    return cpu_ratio.median


def _with_cpu(fit: Callable[[], Fit]) -> Run:
    begin = time.process_time()
    found = fit()
    return Run(found, time.process_time() - begin)


def _cost(X: Rows, fit: Fit) -> float:
    """Return the sum of squared distances from the means of these labels."""
    X = X.astype(np.float64)
    labels = np.unique(fit.labels, return_inverse=True)[1]
    weights = np.bincount(labels)
    means = [np.bincount(labels, column) / weights for column in X.T]
    return float(np.square(X - np.transpose(means)[labels]).sum())
