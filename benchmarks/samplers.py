"""Samplers: time of a sweep, beside a NumPy loop of the same algorithm, and calibration."""

import time
import warnings

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import DPMeans, GaussianDPMeans, certainty
from hardbayes.samplers import DPGaussianGibbs, IBPGibbs
from hardbayes.samplers.partitions import certainty_of
from tests.samplers.literal import Literal

NOTES = """\
CPU time of a sweep over 300 rows in two columns; the loop is `tests/samplers/literal.py`, at the
same starting labels, with fixed variances and alpha. Then `certainty` on 10,000 x 10. Calibration:
sets drawn from the model; of the rows whose certainty lies in a range, the share that is right: in
the true cluster that matches its own, with one standard error over sets. rho 6 to 25 (as when the
prior of rho was chosen), and 3 and 60 (not looked at then)."""
COLUMNS = ["what", "measured", "rows", "said", *TARGET_COLUMNS]
RANGES = ((0.0, 0.5), (0.5, 0.85), (0.85, 0.95), (0.95, 1.01))

Labels = NDArray[np.intp]


def run(options: Options) -> Section:
    """Time sweeps and `certainty`; compare what is said with what is true."""
    section = Section("Samplers", COLUMNS, NOTES)
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [4.6, 0.0], [9.2, 0.3]])
    X = np.repeat(centres, 100, axis=0) + rng.normal(size=(300, 2))
    progress("samplers, sweeps")
    loop = _seconds_of_loop(X, 5 if options.quick else 40)
    for split_merge in (False, True):
        each = _seconds_of_sweep(X, split_merge, 500 if options.quick else 4000)
        name = "sweep, 300 x 2, us" + (", with a division or union" if split_merge else "")
        verdict = Target(reach=100, lower_is_better=True, unit=" us").cells(1e6 * each)
        section.add(name, f"{1e6 * each:.0f}", 300, NOTHING, *verdict)
        if not split_merge:
            verdict = Target(reach=20).cells(loop / each)
            section.add("NumPy loop over sweep", f"{loop / each:.0f}x", 300, NOTHING, *verdict)
    _add_features(section, rng, options)
    _add_certainty(section, rng, options)
    for spreads in ((6.0, 12.0, 25.0), (3.0,), (60.0,)):
        _add_calibration(section, spreads, 5 if options.quick else 150)
    return section


def _seconds_of_loop(X: NDArray[np.float64], n_sweeps: int) -> float:
    literal = Literal(X - X.mean(axis=0), 1.0, 1.0, 10.0)
    literal.z = np.repeat(np.arange(3), 100)
    begin = time.process_time()
    for _ in range(n_sweeps):
        literal.sweep()
    return (time.process_time() - begin) / n_sweeps


def _seconds_of_sweep(X: NDArray[np.float64], split_merge: bool, n_sweeps: int) -> float:
    """Return the CPU time of a sweep: the difference of two fits, so without start and summary."""
    times = []
    for n_burn_in in (0, 0, n_sweeps):
        sampler = DPGaussianGibbs(
            1.0, noise_variance=1.0, mean_variance=10.0, split_merge=split_merge, n_chains=1,
            start=np.repeat(np.arange(3), 100), n_sweeps=100, n_burn_in=n_burn_in, n_jobs=1,
            random_state=0,
        )  # fmt: skip
        begin = time.process_time()
        sampler.fit(X)
        times.append(time.process_time() - begin)
    return (times[2] - times[1]) / n_sweeps


def _add_features(section: Section, rng: Generator, options: Options) -> None:
    X = (rng.random((100, 5)) < 0.4) @ rng.normal(size=(5, 36)) + 0.3 * rng.normal(size=(100, 36))
    n_sweeps = 50 if options.quick else 500
    sampler = IBPGibbs(
        start="one", n_chains=1, n_sweeps=n_sweeps, n_burn_in=0, n_jobs=1, random_state=0
    )
    sampler.fit(X)
    begin = time.process_time()
    sampler.fit(X)
    each = (time.process_time() - begin) / n_sweeps
    section.add("features, sweep, 100 x 36, us", f"{1e6 * each:.0f}", 100, NOTHING, *[NOTHING] * 3)


def _add_certainty(section: Section, rng: Generator, options: Options) -> None:
    n = 1000 if options.quick else 10_000
    X = rng.normal(0, 3, (10, 10))[rng.integers(0, 10, n)] + rng.normal(size=(n, 10))
    for model in (DPMeans(random_state=0), GaussianDPMeans(random_state=0)):
        name = type(model).__name__
        progress(f"samplers, certainty of {name}")
        model.fit(X)
        certainty(model, X, n_sweeps=1)  # compiles
        begin = time.process_time()
        certainty(model, X)
        seconds = time.process_time() - begin
        verdict = Target(reach=40, lower_is_better=True, unit=" s").cells(seconds)
        section.add(f"certainty of {name}, CPU s", f"{seconds:.1f}", n, NOTHING, *verdict)


def drawn(
    rng: Generator, n: int, d: int, rho: float, alpha: float
) -> tuple[NDArray[np.float64], Labels]:
    """Return rows of a Dirichlet process mixture of unit Gaussians, and their clusters."""
    labels = np.zeros(n, np.intp)
    for i in range(1, n):
        weights = np.append(np.bincount(labels[:i]), alpha)
        labels[i] = rng.choice(len(weights), p=weights / weights.sum())
    means = rng.normal(0, rho**0.5, (labels.max() + 1, d))
    return means[labels] + rng.normal(size=(n, d)), labels


def _add_calibration(section: Section, spreads: tuple[float, ...], n_sets: int) -> None:
    said, right = [], []
    for seed in range(n_sets):
        progress(f"samplers, calibration {seed + 1} of {n_sets}")
        rng = np.random.default_rng([seed, 7])
        X, labels = drawn(rng, 100, 2, rng.choice(spreads), rng.gamma(1.0, 1.0) + 0.05)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPMeans(random_state=0).fit(X)
        said.append(certainty(model, X, n_sweeps=300, n_chains=2, random_state=seed).certainty)
        right.append(certainty_of(model.labels_, labels[np.newaxis]))
    every, true = np.concatenate(said), np.concatenate(right)
    sets = np.repeat(np.arange(n_sets), [len(each) for each in said])
    name = "rho " + ", ".join(f"{spread:g}" for spread in spreads)
    for low, high in RANGES:
        there = (every >= low) & (every < high)
        if there.any():
            # Rows of a set are right or wrong together: the error is that of sums over sets.
            off = np.bincount(sets[there], (true - every)[there])
            error = np.sqrt((off**2).sum()) / there.sum()
            section.add(
                f"{name}: certain {low:g} to {min(high, 1.0):g}, right",
                f"{true[there].mean():.3f} +- {error:.3f}", there.sum(),
                f"{every[there].mean():.3f}", *[NOTHING] * 3,
            )  # fmt: skip
