"""Text: a fit at a penalty, and on hashed words, beside one start of KMeans."""

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.data import documents
from benchmarks.options import THREADS, Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import interleave, paired_ratio, progress, seconds
from hardbayes import DPMeans

NOTES = """\
CSR, float64: generated word counts, half of each row's words from the vocabulary of its topic, all
words with Zipf's frequencies. "kl" and "poisson" cluster counts, "cosine" tf-idf rows as
`TfidfTransformer` makes them; KMeans runs on the same matrix with the number of clusters found,
`n_init=1`. "Hashed" is the same matrix with its columns spread over 2^20, as `HashingVectorizer`
has them, and its ratio the time of the fit over that on the matrix itself. Lower is better."""

COLUMNS = [
    "data",
    "divergence",
    "k",
    "hardbayes",
    "compared with",
    "time",
    "ratio",
    *TARGET_COLUMNS,
]
FIT = Target(reach=3, moonshot=1, lower_is_better=True)
HASHED = Target(reach=1.3, lower_is_better=True)
HASHES = 1 << 20
# Penalty of a cluster for each row.
PENALTIES = {"kl": 0.008, "poisson": 0.8, "cosine": 0.003}


def run(options: Options) -> Section:
    """Compare three divergences."""
    section = Section("Text", COLUMNS, NOTES)
    n_rows, n_words, words = (300, 500, 20) if options.quick else (9_000, 8_600, 80)
    X = zipf(documents(n_rows, n_words, topics=20, words_per_row=words, seed=0))
    for divergence in PENALTIES:
        progress(f"text, {divergence}")
        rows = TfidfTransformer().fit_transform(X) if divergence == "cosine" else X
        _add(section, sp.csr_array(rows), divergence, options)
    return section


def zipf(X: sp.csr_matrix, seed: int = 0) -> sp.csr_matrix:
    """Return counts with frequencies that fall as one over the rank of the word, in each row."""
    rng = np.random.default_rng(seed)
    ranks = rng.permutation(X.shape[1])[X.indices] + 1.0
    counts = 1.0 + rng.poisson(0.05 * X.shape[1] / ranks).clip(0, 20)
    return sp.csr_matrix((counts, X.indices, X.indptr), X.shape)


def hashed(X: sp.csr_array, seed: int = 0) -> sp.csr_array:
    """Return the same rows with their columns among 2^20."""
    columns = np.random.default_rng(seed).choice(HASHES, X.shape[1], replace=False).astype(np.int32)
    spread = sp.csr_array((X.data.copy(), columns[X.indices], X.indptr), (X.shape[0], HASHES))
    spread.sort_indices()  # in place, the data too
    return spread


def _add(section: Section, X: sp.csr_array, divergence: str, options: Options) -> None:
    penalty = PENALTIES[divergence] * X.shape[0]
    wide = hashed(X)

    def fit(rows: sp.csr_array, seed: int) -> int:
        model = DPMeans(penalty, divergence=divergence, random_state=seed, n_jobs=THREADS)
        return int(model.fit(rows).n_clusters_)

    k = fit(X, 0)
    rounds = {
        "fit": lambda turn: fit(X, turn),
        "hashed": lambda turn: fit(wide, turn),
        "KMeans": lambda turn: KMeans(k, n_init=1, random_state=turn).fit(X).n_iter_,
    }
    times = interleave(rounds, options.repeats_up_to(3))
    size = f"{X.shape[0]:,} x {X.shape[1]:,}, {100 * X.nnz / X.shape[0] / X.shape[1]:.2f} %"
    for ours, theirs, target in (("fit", "KMeans", FIT), ("hashed", "fit", HASHED)):
        ratio = paired_ratio(times[ours], times[theirs])
        section.add(
            f"{size}{', hashed' if ours == 'hashed' else ''}",
            divergence,
            k,
            f"{seconds(times[ours]):.2f} s",
            "not hashed" if theirs == "fit" else theirs,
            f"{seconds(times[theirs]):.2f} s",
            ratio,
            *target.cells(ratio.median),
        )
