"""Shapes found by kernels beside HDBSCAN and spectral clustering, and the time of many rows.

Shapes are generated; HARDBAYES_SHAPES names a folder of others, ``.npz`` files with arrays
``X_NAME`` and reference partitions ``y0_NAME``, ``y1_NAME``.
"""

import os
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.options import Options
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import KernelDPMeans, SpectralDPMeans

NOTES = """\
Adjusted Rand index with the best of the reference partitions, columns standardised:
`KernelDPMeans()` and `SpectralDPMeans()` without arguments beside scikit-learn's HDBSCAN without
arguments (its noise is one cluster more) and SpectralClustering, which is told the number of
clusters and uses ten nearest neighbours. The last rows are the samples of one distribution that are
divided, and seconds of a fit, wall and CPU, with the peak of the memory of this process."""

COLUMNS = ["shape", "KernelDPMeans", "SpectralDPMeans", "HDBSCAN", "told k", *TARGET_COLUMNS]

Shape = tuple[str, NDArray[np.floating], list[NDArray[Any]]]


def run(options: Options) -> Section:
    """Compare partitions of shapes, and time a fit of many rows."""
    section = Section("Kernels", COLUMNS, NOTES)
    scores = []
    for name, X, references in shapes(options):
        progress(f"kernels, {name}")
        rows = StandardScaler().fit_transform(X)
        k = len(np.unique(references[0]))
        told = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
        contestants: list[Any] = [KernelDPMeans(random_state=0), SpectralDPMeans(random_state=0)]
        contestants += [HDBSCAN(copy=True), told]
        scores.append([agreement(model, rows, references) for model in contestants])
        section.add(name, *(f"{score:.2f}" for score in scores[-1]), *[NOTHING] * 3)
    means = np.mean(scores, axis=0)
    target = Target(reach=float(np.round(means[2], 3)), unit="")
    section.add("mean", *(f"{mean:.3f}" for mean in means), *target.cells(float(means[:2].min())))
    _add_samples(section, 1 if options.quick else 5)
    _add_times(section, 2000 if options.quick else 20_000)
    return section


def shapes(options: Options) -> Iterator[Shape]:
    """Yield names, rows and reference partitions."""
    for noise in (0.05, 0.1):
        X, y = make_moons(400, noise=noise, random_state=0)
        yield f"moons, noise {noise:g}", X, [y]
        X, y = make_circles(400, noise=noise, factor=0.4, random_state=0)
        yield f"circles, noise {noise:g}", X, [y]
    rng = np.random.default_rng(0)
    for arms, noise in ((2, 0.05), (3, 0.12)):
        X, y = spirals(600, arms, noise, rng)
        yield f"{arms} spirals, noise {noise:g}", X, [y]
    for k, d in ((3, 2), (8, 2), (10, 10)):
        X, y = make_blobs(600, d, centers=k, random_state=k)
        yield f"{k} blobs in {d} columns", X, [y]
        yield f"{k} of them, sheared", X @ rng.normal(size=(d, d)), [y]
    folder = None if options.quick else os.environ.get("HARDBAYES_SHAPES")
    for path in sorted(Path(folder).glob("*.npz")) if folder else []:
        with np.load(path, allow_pickle=False) as file:
            names = sorted(key[2:] for key in file.files if key.startswith("X_"))
            for name in names:
                keys = [f"y{number}_{name}" for number in range(9)]
                yield name, file[f"X_{name}"], [file[key] for key in keys if key in file.files]


def spirals(
    n: int, arms: int, noise: float, rng: np.random.Generator
) -> tuple[NDArray[np.floating], NDArray[Any]]:
    """Return rows (n, 2) along spiral arms, and their arms (n,)."""
    arm, along = np.arange(n) % arms, 3.0 * np.pi * np.sqrt(rng.uniform(0.03, 1.0, n))
    angle = along + 2.0 * np.pi * arm / arms
    X = along[:, np.newaxis] / 3.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.normal(size=(n, 2)), arm


def agreement(model: Any, rows: NDArray[np.floating], references: list[NDArray[Any]]) -> float:
    """Return the adjusted Rand index with the nearest reference."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit(rows).labels_
    return max(float(adjusted_rand_score(each, labels)) for each in references)


def _add_samples(section: Section, count: int) -> None:
    """Count the samples of one distribution that are divided."""
    progress("kernels, samples of one distribution")
    divided, total = [0, 0], 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        for n in (100, 300):
            for d in (1, 2, 5, 10):
                for draw in (rng.normal, rng.uniform, rng.exponential, partial(rng.standard_t, 4)):
                    rows = StandardScaler().fit_transform(draw(size=(n, d)))
                    total += 1
                    for at, model in enumerate((KernelDPMeans, SpectralDPMeans)):
                        divided[at] += model(random_state=0).fit(rows).n_clusters_ > 1
    target = Target(reach=0.02, lower_is_better=True, unit="")
    cells = (*divided, *[NOTHING] * 2)
    section.add(f"divided of {total} samples", *cells, *target.cells(max(divided) / total))


def _add_times(section: Section, n: int) -> None:
    for name, X in (
        ("moons", make_moons(n, noise=0.05, random_state=0)[0]),
        ("blobs of 10 columns", make_blobs(n, 10, centers=8, random_state=0)[0]),
    ):
        progress(f"kernels, {n} rows of {name}")
        rows = StandardScaler().fit_transform(X)
        wall, cpu = time.perf_counter(), time.process_time()
        KernelDPMeans(random_state=0).fit(rows)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak /= 1e9 if sys.platform == "darwin" else 1e6
        cells = (f"{wall:.1f} s, {cpu:.1f} s CPU, {peak:.2f} GB", *[NOTHING] * 3)
        target = Target(reach=30, lower_is_better=True, unit=" s")
        section.add(f"{n:,} rows of {name}", *cells, *target.cells(wall))
