"""Sweeps over sparse rows beside SciPy's matrix product of the same size."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.contestants import dp_means
from benchmarks.data import documents
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import interleave, progress

NOTES = """\
CSR, float64: word counts, half of each row's words from the vocabulary of its topic; one thread,
CPU time. Centres: rows drawn at random; births priced out. *A sweep* is the difference of a fit
with `max_iter=MORE` and one with `max_iter=1`, for each further sweep: assignment, totals, new
means, objective. *The product* is `X @ C.T`, C the centres. Medians."""

COLUMNS = ["data", "k", "divergence", "a sweep", "the product", "ratio", *TARGET_COLUMNS]
TARGET = Target(reach=2, lower_is_better=True)
DIVERGENCES = ["squared_euclidean", "kl", "cosine"]
NO_BIRTHS = 1e12
MORE = 11


def run(options: Options) -> Section:
    """Compare at the size of a collection of newsgroup posts."""
    section = Section("Sparse sweeps", COLUMNS, NOTES.replace("MORE", str(MORE)))
    n_rows, n_words, words, k = (1_000, 2_000, 20, 5) if options.quick else (11_300, 15_500, 80, 20)
    X = documents(n_rows, n_words, topics=k, words_per_row=words, seed=0).astype(np.float64)
    start = X[np.random.default_rng(0).choice(n_rows, size=k, replace=False)].toarray()
    progress("sparse sweeps")
    rounds: dict[str, Callable[[int], int]] = {"product": partial(_product, X, start.T.copy())}
    for name in DIVERGENCES:
        rounds[f"{name} 1"] = partial(_sweeps, X, start, name, 1)
        rounds[f"{name} {MORE}"] = partial(_sweeps, X, start, name, MORE)
    for contestant in rounds.values():
        contestant(0)
    times = interleave(rounds, options.repeats, clock=time.process_time)
    product = float(np.median([run.seconds for run in times["product"]]))
    for name in DIVERGENCES:
        a_sweep = float(
            np.median(
                [
                    (long.seconds - short.seconds) / (long.result - short.result)
                    for short, long in zip(times[f"{name} 1"], times[f"{name} {MORE}"], strict=True)
                ]
            )
        )
        section.add(
            f"{n_rows:,} x {n_words:,}, {100 * X.nnz / n_rows / n_words:.2f} %",
            k,
            name,
            f"{1e3 * a_sweep:.2f} ms",
            f"{1e3 * product:.2f} ms",
            f"{a_sweep / product:.2f}",
            *TARGET.cells(a_sweep / product),
        )
    return section


def _product(X: sp.csr_matrix, centres: np.ndarray, _: int) -> int:
    return len(X @ centres)


def _sweeps(X: sp.csr_matrix, start: np.ndarray, divergence: str, most: int, _: int) -> int:
    return dp_means(
        X, NO_BIRTHS, divergence=divergence, init=start, max_iter=most, random_state=0, n_jobs=1
    ).sweeps
