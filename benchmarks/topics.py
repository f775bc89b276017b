"""Topics: bars, coherence beside other topic models, and what sweeps cost."""

import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.coherence import diversity, npmi, top_words
from benchmarks.options import Options
from benchmarks.published_topics import side_by_side
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from benchmarks.topic_models import OPTIONAL, Topics, hard, installed, lda, nmf
from hardbayes import HDPTopics
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_bars
from hardbayes.topics.problem import LocalPenalty, SharedTopics, make_documents, no_topics
from hardbayes.topics.state import sweep_documents

#: Folder with text_*.npz: data, indices, indptr, shape, vocab and perhaps labels.
FOLDER = "HARDBAYES_TEXTS"
NIPS = "text_nips12"  # of these, the corpus that a paper prints topics of

NOTES = f"""\
**Bars**: documents that mix two of ten bars on a 5 x 5 grid; every option as it comes. Found: the
ten bars are matched with cosines above .95.

**Corpora**: fitted to two thirds of the documents. NPMI of the ten first words of each topic on the
other third (a pair that never meets counts -1), diversity (distinct words among all of them), and
NMI of a document's strongest topic with its label. First words: of HDPTopics those of `top_words`,
and in a second row the heaviest, as of all others. NMF (of sublinear tf-idf) and LDA are told the
number of topics that HDPTopics finds. Duplicates: topics with the same ten words. Wished: the
largest miss of `n_topics` = 10, 30 and 100. Text is read from the folder that the environment
variable {FOLDER} names.

**Sweeps**: generated documents of 100 words over 20,000, 50 topics, one thread, CPU time; all
documents choose topics and words are added up."""

COLUMNS = ["work", "found", "NPMI", "diversity", "NMI", "s", "measured", *TARGET_COLUMNS]
NOTHING = "-"
WISHES = (10, 30, 100)  # numbers of topics


def run(options: Options) -> Section:
    """Compare topics."""
    section = Section("Topics", COLUMNS, NOTES)
    progress("topics, bars")
    _add_bars(section, 3 if options.quick else 10)
    corpora = {"generated": lambda: generated(200 if options.quick else 2000)}
    folder = os.environ.get(FOLDER)
    if options.quick or folder is None:
        section.remarks.append(f"Text: skipped, {FOLDER} names no folder, or --quick.")
    else:
        files = sorted(Path(folder).glob("text_*.npz"))
        corpora |= {file.stem: lambda file=file: read(file) for file in files}
    missing = [name for name, (package, _) in OPTIONAL.items() if not installed(package)]
    if missing:
        section.remarks.append(f"Not installed, skipped: {', '.join(missing)}.")
    above = {name: _add_corpus(section, name, *load()) for name, load in corpora.items()}
    del above["generated"]
    for name in above:
        _add_wished(section, name, corpora[name]()[0])
    if above:
        mean = float(np.mean(list(above.values())))
        row = ("texts, NPMI above that of NMF, mean", len(above), f"{mean:+.3f}", *[NOTHING] * 3)
        section.add(*row, f"{mean:+.3f}", *Target(-0.02, unit="").cells(mean))
    if NIPS in corpora:
        file = Path(folder or "") / f"{NIPS}.npz"
        section.remarks.append(side_by_side(read(file)[0], file))
    _add_sweeps(section, (4, 5) if options.quick else (6, 7, 8))
    return section


def _add_bars(section: Section, n_draws: int) -> None:
    n_found, begin = 0, time.process_time()
    for draw in range(n_draws):
        X, bars, _ = make_bars(500, random_state=draw)
        model = HDPTopics(random_state=draw).fit(X)
        n_found += model.n_topics_ == 10 and _matched(model.components_, bars) > 0.95
    taken = (time.process_time() - begin) / n_draws
    verdict = Target(reach=0.9, unit="").cells(n_found / n_draws)
    row = (f"bars, {n_draws} draws", f"{n_found} of {n_draws}", *[NOTHING] * 3, f"{taken:.2f}")
    section.add(*row, f"{n_found / n_draws:g}", *verdict)


def _matched(components: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (components, truth)]
    likeness = unit[0] @ unit[1].T
    return float(likeness[linear_sum_assignment(-likeness)].min())


def _add_corpus(
    section: Section, name: str, counts: sparse.csr_array, labels: NDArray[np.int64] | None
) -> float:
    """Return by how much the coherence is above that of NMF."""
    order = np.random.default_rng(0).permutation(counts.shape[0])
    train, test = np.split(order, [2 * len(order) // 3])
    seen, reference = counts[train], counts[test]

    def add(who: str, topics: Topics, begin: float | None = None) -> float:
        taken = NOTHING if begin is None else f"{time.process_time() - begin:.1f}"
        tops = top_words(topics.scores)
        coherence = npmi(tops, reference)
        agreement = NOTHING
        if labels is not None:
            agreement = f"{normalized_mutual_info_score(labels[train], topics.labels):.2f}"
        row = (f"{name}, {who}", len(tops), f"{coherence:.3f}", f"{diversity(tops):.2f}", agreement)
        section.add(*row, taken, f"{coherence:.3f}", *Target().cells(coherence))
        return coherence

    hard(seen[:50])  # compiled
    progress(f"topics, {name}, HDPTopics")
    begin = time.process_time()
    ours, heaviest = hard(seen)
    reached = add("HDPTopics", ours, begin)
    add("HDPTopics, heaviest words", heaviest)
    k = len(ours.scores)
    peers = {"NMF of sublinear tf-idf": lambda: nmf(seen, k), "LDA": lambda: lda(seen, k)}
    for who, (package, fit) in OPTIONAL.items():
        if installed(package):
            peers[who] = lambda fit=fit: fit(seen)
    coherences = []
    for who, run_peer in peers.items():
        progress(f"topics, {name}, {who}")
        begin = time.process_time()
        coherences.append(add(who, run_peer(), begin))
    twins = k - len(np.unique(np.sort(top_words(ours.scores), axis=1), axis=0))
    target = Target(0, lower_is_better=True, unit="")
    section.add(f"{name}, duplicates", twins, *[NOTHING] * 4, twins, *target.cells(twins))
    return reached - coherences[0]


def _add_wished(section: Section, name: str, counts: sparse.csr_array) -> None:
    found = []
    begin = time.process_time()
    for wished in WISHES:
        progress(f"topics, {name}, {wished} wished")
        found.append(HDPTopics(n_topics=wished, random_state=0).fit(counts).n_topics_)
    taken = time.process_time() - begin
    miss = max(abs(k - wished) / wished for k, wished in zip(found, WISHES, strict=True))
    row = (f"{name}, {WISHES} wished", " ".join(map(str, found)), *[NOTHING] * 3, f"{taken:.1f}")
    target = Target(0.1, lower_is_better=True, unit="")
    section.add(*row, f"{miss:.3f}", *target.cells(miss))


def _add_sweeps(section: Section, powers: tuple[int, ...]) -> None:
    rates = []
    for power in powers:
        progress(f"topics, sweeps over 10^{power} words")
        n = 10 ** (power - 2)
        counts, topics = zipf_documents(n, 50, 20_000, 100)
        with Pool(1) as pool:
            documents = make_documents(counts, LocalPenalty(0.25, per_word=True), pool)
            prior = np.asarray(counts.sum(axis=0)).ravel() * (10_000 / counts.sum())
            structure = SharedTopics(prior, 0.0, False)
            state = sweep_documents(
                documents, structure, no_topics(n), topics.T * (counts.sum() / 50)
            )
            begin = time.process_time()
            sweep_documents(documents, structure, state.sets, state.totals)
            taken = time.process_time() - begin
        rates.append(1e9 * taken / counts.sum())
        verdict = Target(reach=1.5, lower_is_better=True).cells(rates[-1] / rates[0])
        row = (f"sweep, 10^{power} words, 50 topics", f"{rates[-1]:.0f} ns a word")
        section.add(*row, *[NOTHING] * 3, f"{taken:.2f}", f"{rates[-1] / rates[0]:.2f}", *verdict)


def generated(n: int) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Return documents of 30 topics with labels: the topic of most of their words."""
    return zipf_documents(n, 30, 3000, 120)[0], np.arange(n) % 30


def zipf_documents(
    n: int, k: int, v: int, length: int
) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Return documents of so many words, and the word shares (k, v) of their topics.

    Document d has three quarters of its own words from topic d mod k, the rest from one drawn at
    random; two words in five are common ones. Topics and common words follow Zipf's law.
    """
    rng = np.random.default_rng(0)
    law = 1.0 / np.arange(1, v + 1)
    topics = np.stack([rng.permutation(law) for _ in range(k)]) / law.sum()
    cumulative = np.cumsum(law / law.sum())
    places = np.argsort(-topics, axis=1).astype(np.int32)  # the word of each rank
    rows = []
    for start in range(0, n, 100_000):
        ids = np.arange(start, min(start + 100_000, n))
        shape = (len(ids), length)
        rank = np.minimum(np.searchsorted(cumulative, rng.random(shape)), v - 1)
        chance = rng.random(shape)
        second = rng.integers(0, k, len(ids))[:, np.newaxis]
        topic = np.where(chance < 0.45, (ids % k)[:, np.newaxis], second)
        words = np.where(chance < 0.6, places[topic, rank], rank)
        ones = np.ones(words.size)
        starts = np.arange(0, words.size + 1, length)
        part = sparse.csr_array((ones, words.ravel().astype(np.int32), starts), (len(ids), v))
        part.sum_duplicates()
        rows.append(part)
    return sparse.csr_array(sparse.vstack(rows)), topics


def read(file: Path) -> tuple[sparse.csr_array, NDArray[np.int64] | None]:
    """Return the counts of a corpus, and labels of its documents where there are any."""
    with np.load(file, allow_pickle=False) as data:
        parts = data["data"].astype(np.float64), data["indices"], data["indptr"]
        counts = sparse.csr_array(parts, shape=tuple(data["shape"]))
        labels = data["labels"] if "labels" in data.files else None
    return counts, labels
