"""Are there topics? Corpora of one distribution, and corpora with topics."""

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.random import Generator
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks.options import Options
from benchmarks.report import Section
from benchmarks.timing import progress
from benchmarks.topic_models import OPTIONAL, installed
from benchmarks.topics import read
from hardbayes import HDPTopics
from hardbayes.datasets import make_bars

NOTES = """\
`HDPTopics()` as it comes. One topic: in how many draws it finds a single one; right is all of
those without topics, none of those with. z: the median and the largest (or least) evidence, of
which 3 is needed. Before: how many topics the penalties alone give, in the median. Constants were
chosen on the tuned kinds; the untuned ones were drawn once, at the end. Files of counts
(`--sets text_*.npz`) are cut into random subsets of documents, whose words are then dealt anew or
shuffled within columns. Peers that find their number of topics run where they are installed."""

COLUMNS = ["corpora", "half", "one topic", "z", "before", "peers", "CPU s"]
Counts = np.ndarray | sparse.csr_array
Kinds = Mapping[str, tuple[str, Callable[[Generator], Counts]]]
DRAWS = 10


def run(options: Options) -> Section:
    """Count the corpora that have topics."""
    section = Section("Are there topics?", COLUMNS, NOTES)
    n_draws = options.draws or (1 if options.quick else DRAWS)
    files = {file.stem: file for file in options.sets if file.stem.startswith("text")}
    without = WITHOUT | {k: v for file in files.values() for k, v in _dealt(file).items()}
    with_topics = WITH | {k: v for file in files.values() for k, v in _subsets(file).items()}
    HDPTopics(random_state=0).fit(make_bars(60, random_state=0)[0])  # compiled
    for kinds, is_null in ((without, True), (with_topics, False)):
        sums = {"tuned": [0, 0], "untuned": [0, 0]}
        for name, (half, draw) in kinds.items():
            progress(f"choosing topics, {name}")
            ones = _add(section, name, half, draw, n_draws, is_null)
            sums[half] = [sums[half][0] + ones, sums[half][1] + n_draws]
        for half, (ones, of) in sums.items():
            what = "without topics" if is_null else "with topics"
            section.add(f"all {what}", half, f"{ones} of {of}", *["-"] * 4)
    return section


def _add(
    section: Section,
    name: str,
    half: str,
    draw: Callable[[Generator], Counts],
    n_draws: int,
    is_null: bool,
) -> int:
    numbers, before, evidence, beside, taken = [], [], [], [], []
    for number in range(n_draws):
        seed = [number, *name.encode()]
        X = sparse.csr_array(draw(np.random.default_rng(seed)).astype(np.float64))
        begin = time.process_time()
        model = _quiet(X)
        taken.append(time.process_time() - begin)
        choice = model.penalty_choice_
        numbers.append(model.n_topics_)
        before.append(int(choice["n_topics"][0]) if len(choice["n_topics"]) else 1)
        evidence.append(float(choice["deviations"][0]) if len(choice["n_topics"]) else 0.0)
        if not number:
            peers = (fit(X) for package, fit in OPTIONAL.values() if installed(package))
            beside = [len(topics.scores) for topics in peers]
    end = max(evidence) if is_null else min(evidence)
    ones = numbers.count(1)
    section.add(
        name, half, f"{ones} of {n_draws}", f"{np.median(evidence):.1f}, {end:.1f}",
        f"{np.median(before):g}", " ".join(map(str, beside)) or "-", f"{np.mean(taken):.2f}",
    )  # fmt: skip
    return ones


def _quiet(X: sparse.csr_array) -> HDPTopics:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return HDPTopics(random_state=0, n_jobs=1).fit(X)


# -- one distribution ------------------------------------------------------------------------------


def zipf(v: int, power: float = 1.0) -> np.ndarray:
    """Return word shares by Zipf's law."""
    law = 1.0 / np.arange(1, v + 1) ** power
    return np.asarray(law / law.sum())


def lengths(rng: Generator, n: int, mean: float, spread: float) -> np.ndarray:
    """Return lognormal lengths of documents, at least one."""
    return np.maximum(1, np.rint(mean * np.exp(spread * rng.standard_normal(n)))).astype(int)


def drawn(
    rng: Generator, sizes: np.ndarray, shares: np.ndarray, concentration: float = np.inf
) -> np.ndarray:
    """Return documents of these lengths from word shares (v,) or (n, v), bursty if finite."""
    shares = np.broadcast_to(shares, (len(sizes), shares.shape[-1]))
    if np.isfinite(concentration):
        gammas = rng.gamma(concentration * shares + 1e-9)
        shares = gammas / gammas.sum(axis=1, keepdims=True)
    return np.array([rng.multinomial(m, q) for m, q in zip(sizes, shares, strict=True)])


def unequal(rng: Generator, n: int, v: int, mean: float, spread: float, law: float) -> np.ndarray:
    """Return negative binomial words of unequal burstiness."""
    shapes = 0.3 * np.exp(law * rng.standard_normal(v))
    rates = np.outer(lengths(rng, n, mean, spread), zipf(v))
    return np.asarray(rng.poisson(rng.gamma(shapes, 1.0, (n, v)) / shapes * rates))


WITHOUT: Kinds = {
    "300 x 1000, equal words": (
        "tuned",
        lambda r: drawn(r, lengths(r, 300, 100, 0.3), np.full(1000, 1e-3)),
    ),
    "60 x 200": ("tuned", lambda r: drawn(r, lengths(r, 60, 80, 0.3), r.dirichlet(np.ones(200)))),
    "Zipf, 300 x 2000": ("tuned", lambda r: drawn(r, lengths(r, 300, 120, 0.5), zipf(2000))),
    "Zipf, many lengths, 50 x 500": (
        "tuned",
        lambda r: drawn(r, lengths(r, 50, 300, 1.0), zipf(500)),
    ),
    "bursty 50, 300 x 1000": (
        "tuned",
        lambda r: drawn(r, lengths(r, 300, 100, 0.3), zipf(1000), 50),
    ),
    "bursty 100, many lengths, 50 x 500": (
        "tuned",
        lambda r: drawn(r, lengths(r, 50, 200, 1.0), zipf(500), 100),
    ),
    "bursty 20, 200 x 8": (
        "tuned",
        lambda r: drawn(r, lengths(r, 200, 30, 0.5), r.dirichlet(np.full(8, 3.0)), 20),
    ),
    "bursty 30, 20 x 300": ("tuned", lambda r: drawn(r, lengths(r, 20, 100, 0.5), zipf(300), 30)),
    "unequally bursty, 300 x 500": ("tuned", lambda r: unequal(r, 300, 500, 200, 1.0, 1.5)),
    "unequally bursty, 100 x 500": ("tuned", lambda r: unequal(r, 100, 500, 100, 0.5, 1.5)),
    "multiples of one": ("tuned", lambda r: np.outer(np.arange(1, 41), r.poisson(2.0, 30) + 1)),
    "150 x 700, bursty 80": (
        "untuned",
        lambda r: drawn(r, lengths(r, 150, 90, 0.4), zipf(700), 80),
    ),
    "1000 x 100": (
        "untuned",
        lambda r: drawn(r, lengths(r, 1000, 50, 0.6), r.dirichlet(np.full(100, 0.5))),
    ),
    "1500 x 3000, Zipf": ("untuned", lambda r: drawn(r, lengths(r, 1500, 60, 0.8), zipf(3000))),
    "80 x 60, bursty 300": (
        "untuned",
        lambda r: drawn(r, lengths(r, 80, 200, 0.2), r.dirichlet(np.ones(60)), 300),
    ),
    "tweets: 800 x 1500, 10 words": (
        "untuned",
        lambda r: drawn(r, 1 + r.poisson(9.0, 800), zipf(1500, 0.8)),
    ),
    "two lengths, bursty 60": (
        "untuned",
        lambda r: drawn(r, np.where(r.random(200) < 0.5, 30, 400), zipf(600), 60),
    ),
    "equal lengths, steep Zipf": ("untuned", lambda r: drawn(r, np.full(120, 150), zipf(900, 1.4))),
    "very bursty 8, 150 x 400": (
        "untuned",
        lambda r: drawn(r, lengths(r, 150, 80, 0.7), zipf(400), 8),
    ),
    "long documents, 30 x 2000": (
        "untuned",
        lambda r: drawn(r, lengths(r, 30, 5000, 0.7), zipf(2000), 400),
    ),
    "15 documents": ("untuned", lambda r: drawn(r, lengths(r, 15, 120, 0.5), zipf(400), 100)),
    "12 words, bursty 10": (
        "untuned",
        lambda r: drawn(r, lengths(r, 90, 25, 0.4), np.full(12, 1 / 12), 10),
    ),
    "unequally bursty, 500 x 800": ("untuned", lambda r: unequal(r, 500, 800, 120, 0.9, 1.2)),
    "unequally bursty, 150 x 300": ("untuned", lambda r: unequal(r, 150, 300, 250, 0.7, 2.0)),
    "identical documents": ("untuned", lambda r: np.tile(r.poisson(1.5, 50), (40, 1))),
}


# -- topics ----------------------------------------------------------------------------------------


def lda(
    rng: Generator, n: int, v: int, k: int, mean: float, alpha: float = 0.1,
    concentration: float = np.inf, beta: float = 0.1,
) -> np.ndarray:  # fmt: skip
    """Return documents that mix k topics."""
    mixed = rng.dirichlet(np.full(k, alpha), n) @ rng.dirichlet(np.full(v, beta), k)
    return drawn(rng, lengths(rng, n, mean, 0.4), mixed, concentration)


def two(rng: Generator, n: int, mean: float, share: float, v: int = 500) -> np.ndarray:
    """Return documents of two topics of which this share of words differs."""
    one, other = zipf(v), zipf(v)
    ids = rng.permutation(v)[: int(share * v)]
    other[ids] = one[rng.permutation(ids)]
    which = np.arange(n) % 2
    return drawn(rng, lengths(rng, n, mean, 0.4), np.stack([one, other])[which])


def _bars(n: int) -> Callable[[Generator], Counts]:
    return lambda rng: make_bars(n, random_state=int(rng.integers(1 << 30)))[0]


WITH: Kinds = {
    "bars, 60": ("tuned", _bars(60)),
    "2 topics, 100": ("tuned", lambda r: lda(r, 100, 500, 2, 80)),
    "5 topics, 50": ("tuned", lambda r: lda(r, 50, 500, 5, 80)),
    "20 topics, 300": ("tuned", lambda r: lda(r, 300, 1000, 20, 80)),
    "20 topics mixed evenly, 300": ("tuned", lambda r: lda(r, 300, 1000, 20, 80, 1.0)),
    "5 topics mixed, bursty 100": ("tuned", lambda r: lda(r, 300, 500, 5, 80, 1.0, 100)),
    "3 topics of 8 words": ("tuned", lambda r: lda(r, 200, 8, 3, 30, 0.3, beta=0.5)),
    "two, 20 % of words, 300": ("tuned", lambda r: two(r, 300, 100, 0.2)),
    "two, 20 % of words, 50": ("tuned", lambda r: two(r, 50, 300, 0.2)),
    "bars, 200": ("untuned", _bars(200)),
    "8 topics, 120": ("untuned", lambda r: lda(r, 120, 800, 8, 100)),
    "3 topics, 40, bursty 50": ("untuned", lambda r: lda(r, 40, 300, 3, 60, 0.1, 50)),
    "10 topics, tweets": ("untuned", lambda r: lda(r, 600, 1500, 10, 10)),
    "50 topics, 400": ("untuned", lambda r: lda(r, 400, 2000, 50, 120)),
    "6 topics of 12 words": ("untuned", lambda r: lda(r, 150, 12, 6, 20, 0.2, beta=0.2)),
    "two, 30 % of words, 80": ("untuned", lambda r: two(r, 80, 120, 0.3)),
    "two, 20 % of words, 1000 short": ("untuned", lambda r: two(r, 1000, 30, 0.2)),
}


def _subsets(file: Path) -> Kinds:
    """Return random subsets of the documents of a file; the first two corpora by name are tuned."""
    half = "tuned" if file.stem in ("text_20news_train", "text_ap2246") else "untuned"
    return {
        f"{file.stem}, {n} documents": (half, lambda rng, n=n: _some(rng, file, n))
        for n in (50, 150, 600)
    }


def _dealt(file: Path) -> Kinds:
    half = "tuned" if file.stem in ("text_20news_train", "text_ap2246") else "untuned"
    return {
        f"{file.stem}, words dealt anew": (half, lambda rng: _deal(rng, _some(rng, file, 200))),
        f"{file.stem}, columns shuffled": (half, lambda rng: _shuffle(rng, _some(rng, file, 200))),
    }


def _some(rng: Generator, file: Path, n: int) -> sparse.csr_array:
    counts, _ = read(file)
    return sparse.csr_array(counts[np.sort(rng.permutation(counts.shape[0])[:n])])


def _deal(rng: Generator, counts: sparse.csr_array) -> np.ndarray:
    """Return documents of the same lengths with the same words, dealt at random."""
    words = np.repeat(counts.indices, counts.data.astype(int))
    rows = np.repeat(np.arange(counts.shape[0]), np.asarray(counts.sum(axis=1)).astype(int))
    found = np.zeros(counts.shape)
    np.add.at(found, (rows, rng.permutation(words)), 1)
    return found


def _shuffle(rng: Generator, counts: sparse.csr_array) -> np.ndarray:
    """Return the counts of each word given to other documents."""
    return np.asarray(rng.permuted(counts.toarray(), axis=0))
