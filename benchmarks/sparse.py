"""Sparse rows: one assignment pass, and one sweep with its refit."""

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.contestants import dp_means, k_means_from
from benchmarks.data import documents
from benchmarks.options import THREADS, Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import interleave, paired_ratio, progress, seconds
from hardbayes import DPMeans

NOTES = """\
CSR, float32: word counts, half of each row's words from the vocabulary of its topic. Centres:
rows drawn at random, then one sweep; births priced out. *Pass* is `predict` of both libraries
with the same centres; *one sweep* is a fit with `max_iter=1` (a sweep, the new means and a
closing assignment, in both). "Same" is the share of rows with equal labels. "SciPy" is the ratio
for `X @ C.T` and the least of each row on one thread: a yardstick, for scikit-learn's time grows
faster with k than that of either."""

COLUMNS = [
    "data", "k", "work", "hardbayes", "scikit-learn", "ratio", "SciPy", "same", *TARGET_COLUMNS
]  # fmt: skip
PASS = Target(reach=8)
NO_BIRTHS = 1e12


def run(options: Options) -> Section:
    """Compare at three numbers of clusters."""
    section = Section("Sparse rows", COLUMNS, NOTES)
    n_rows, n_words, words = (1_000, 2_000, 20) if options.quick else (20_000, 20_000, 103)
    X = documents(n_rows, n_words, topics=50, words_per_row=words, seed=0)
    for k in (20, 100, 500):
        _add(section, X, k, options)
    return section


def _add(section: Section, X: sp.csr_matrix, k: int, options: Options) -> None:
    progress(f"sparse, k {k}")
    n_rows, n_words = X.shape
    rows = np.random.default_rng(k).choice(n_rows, size=k, replace=False)
    start = k_means_from(X, X[rows].toarray(), max_iter=1).centres
    ours, theirs = _fitted(X, start)
    transposed, squares = np.ascontiguousarray(start.T), np.square(start).sum(axis=1)
    rounds: dict[str, Callable[[int], NDArray[np.integer]]] = {
        "our pass": lambda _: ours.predict(X),
        "their pass": lambda _: theirs.predict(X),
        "product": lambda _: (squares - 2 * (X @ transposed)).argmin(axis=1),
        "our one sweep": lambda _: dp_means(X, NO_BIRTHS, init=start, max_iter=1).labels,
        "their one sweep": lambda _: k_means_from(X, start, max_iter=1).labels,
    }
    for contestant in rounds.values():
        contestant(0)
    times = interleave(rounds, options.repeats)
    for work, target in [("pass", PASS), ("one sweep", Target())]:
        one, other = times[f"our {work}"], times[f"their {work}"]
        ratio = paired_ratio(other, one)
        section.add(
            f"{n_rows:,} x {n_words:,}, {100 * X.nnz / n_rows / n_words:.2f} %",
            k,
            work,
            f"{1e3 * seconds(one):.1f} ms",
            f"{1e3 * seconds(other):.1f} ms",
            ratio,
            f"{paired_ratio(other, times['product']).median:.2f}" if work == "pass" else "",
            f"{100 * np.mean(one[-1].result == other[-1].result):.2f} %",
            *target.cells(ratio.median),
        )


def _fitted(X: sp.csr_matrix, start: NDArray[np.floating]) -> tuple[DPMeans, KMeans]:
    """Return two models with the same centres."""
    ours = DPMeans(NO_BIRTHS, search="paper", init=start, max_iter=1, n_jobs=THREADS)
    theirs = KMeans(len(start), init=start, n_init=1, max_iter=1, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours.fit(X)
        theirs.fit(X)
    # Bit for bit: the two libraries may round their means differently.
    theirs.cluster_centers_ = np.ascontiguousarray(ours.cluster_centers_)
    return ours, theirs
