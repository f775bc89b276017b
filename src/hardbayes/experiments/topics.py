"""JKJ Table 1 and Figure 1 right: topics of documents, sweeps, and seconds against their number.

The paper's NIPS papers cannot be shipped: a corpus of their size is drawn, whose topics are known.
"""

import time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.preprocessing import normalize

from hardbayes import HDPTopics
from hardbayes.core.arrays import Floats
from hardbayes.experiments.results import Asked, Claim, Result, clock, span
from hardbayes.plot.pictures import COLORS

SEED = 0  # any: one corpus is drawn
#: Documents, words of the vocabulary and words of a document of NIPS 1-12, as in the paper (2012).
SIZE = (1740, 13_649, 1320)
QUICK_SIZE = (200, 1000, 200)
N_TOPICS = 20  # that are drawn
FEW, RARE = 0.1, 0.05  # concentrations: of topics in documents, of words in topics
ALIKE = 0.8  # cosine of the words of a topic and of the one that was drawn
NIPS = "text_nips12.npz"
SOURCE = "words of NIPS 1-12 as CSR arrays data, indices, indptr, shape, and the vocabulary vocab"
#: Sweeps of the paper until it converges, and seconds of each at most.
PAPER_SWEEPS, PAPER_SECONDS = (13, 25), 60.0
LOCAL_PENALTY = 8.0  # of the published algorithm, in nats, within the range that has topics at all
LEVELS = (1.0, 4.0, 16.0, 64.0, 256.0)  # global penalties tried, times the local one
STEPS = 10  # of a fit that is timed
EVERY = 8  # of the documents the published algorithm has one, which is slow


def draw_corpus(size: tuple[int, int, int], rng: np.random.RandomState) -> tuple[Any, Floats]:
    """Return counts of words, and the word shares (k, v) of their topics."""
    n_documents, n_words, length = size
    topics = rng.dirichlet(np.full(n_words, RARE), N_TOPICS)
    shares = rng.dirichlet(np.full(N_TOPICS, FEW), n_documents)
    counts = [rng.multinomial(rng.poisson(length) + 1, share @ topics) for share in shares]
    return sparse.csr_array(np.array(counts, float)), topics


def n_found(components: Any, topics: Floats) -> str:
    """Return how many of the drawn topics are among those found."""
    cosines = normalize(topics) @ normalize(components).T
    return f"{int((cosines.max(axis=1) > ALIKE).sum())} of {len(topics)}"


def timed(fit: Any) -> tuple[Any, float]:
    """Return what a function returns, and the seconds that it took."""
    begin = time.perf_counter()
    found = fit()
    return found, time.perf_counter() - begin


def run(asked: Asked) -> Result:
    """Fit topics as published, as by default, at several numbers, and by other methods."""
    file = asked.file(NIPS, SOURCE)
    if file is None:
        X, topics = draw_corpus(QUICK_SIZE if asked.quick else SIZE, np.random.RandomState(SEED))
        what = f"drawn: {X.shape[0]} documents of {N_TOPICS} topics, {X.shape[1]:,} words"
    else:
        with np.load(file, allow_pickle=False) as arrays:
            parts = arrays["data"].astype(float), arrays["indices"], arrays["indptr"]
            X, topics = sparse.csr_array(parts, shape=tuple(arrays["shape"])), None
        what = f"{file.name}: {X.shape[0]} papers, {X.shape[1]:,} words"
    what += f", {int(X.sum()):,} in all"
    HDPTopics(n_topics=3, random_state=SEED).fit(X[:50])  # compiles

    some = X[:: asked.either(EVERY, 2)]
    literal = []
    for at, level in enumerate(LEVELS):
        asked.progress.step("published algorithm, penalty", at, len(LEVELS))
        published = HDPTopics(
            LOCAL_PENALTY, level * LOCAL_PENALTY, search="paper", max_iter=PAPER_SWEEPS[1]
        )
        model, seconds = timed(lambda each=published: each.fit(some))
        literal.append((model.n_topics_, model.n_iter_, seconds / model.n_iter_))
    numbers = (10, 20) if asked.quick else (10, 20, 50, 100)
    ours = []
    for at, k in enumerate(numbers):
        asked.progress.step("number of topics", at, len(numbers))
        template = HDPTopics(n_topics=k, max_iter=STEPS, random_state=SEED)
        model, seconds = timed(lambda t=template: t.fit(X))
        ours.append((model, seconds))
    asked.progress.step("other methods", 0, 1)
    auto, auto_seconds = timed(lambda: HDPTopics(random_state=SEED).fit(X))
    lda, lda_seconds = timed(
        lambda: LatentDirichletAllocation(
            N_TOPICS, learning_method="online", max_iter=asked.either(5, 2), random_state=SEED
        ).fit(X)
    )
    nmf, nmf_seconds = timed(
        lambda: NMF(N_TOPICS, init="nndsvd", max_iter=50, random_state=SEED).fit(X)
    )
    per_sweep = [seconds / model.n_iter_ for model, seconds in ours]
    rows = [
        (
            f"published, lambda_g {level * LOCAL_PENALTY:g}: topics, sweeps, seconds a sweep",
            f"not printed; {PAPER_SWEEPS[0]}-{PAPER_SWEEPS[1]}; < 60",
            f"{k}; {sweeps}; {clock(seconds)}",
            "-",
            "-",
        )
        for level, (k, sweeps, seconds) in zip(LEVELS, literal, strict=True)
    ]
    rows += [
        (
            f"about {k} topics: found, steps, seconds a step",
            "-",
            "-",
            f"{model.n_topics_}; {model.n_iter_}; {clock(each)}",
            "-",
        )
        for k, (model, _), each in zip(numbers, ours, per_sweep, strict=True)
    ]
    others = (("LDA", lda, lda_seconds), ("NMF", nmf, nmf_seconds))
    took = ", ".join(f"{name} {clock(seconds)}" for name, _, seconds in others)
    found = f"{auto.n_topics_}, {clock(auto_seconds)}"
    rows.append((f"topics, penalties found; {N_TOPICS} told", "-", "-", found, took))
    if topics is not None:
        theirs = ", ".join(
            f"{n_found(each.components_, topics)} {name}" for name, each, _ in others
        )
        own = n_found(auto.components_, topics)
        rows.append(("drawn topics that are found", "-", "-", own, theirs))
    sweeps = [each[1] for each in literal]
    ks = [each[0] for each in literal]
    # More than one, and of several documents each.
    between = [k for k in ks if 2 <= k <= some.shape[0] // 4]
    claims = [
        Claim(
            f"it converges in {PAPER_SWEEPS[0]} to {PAPER_SWEEPS[1]} sweeps",
            min(sweeps) >= PAPER_SWEEPS[0],
            f"it stops after {span(sweeps)} at every penalty, as it has "
            "nearly one topic for each document, or one for all",
        ),
        Claim(
            "its topics are few and reasonable",
            len(between) > 1,
            f"its numbers of topics are {', '.join(map(str, ks))} on {some.shape[0]} documents: a "
            "cliff",
        ),
        Claim(
            "a sweep takes less than a minute, here a step of the default",
            max(per_sweep) < PAPER_SECONDS,
            clock(max(per_sweep)),
        ),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(numbers, per_sweep, "o-", color=COLORS[0], label="HDPTopics(n_topics=K)")
        left.axhline(PAPER_SECONDS, color=COLORS[4], ls="--", label="the paper: below")
        left.set(xlabel="topics", ylabel="seconds a step", yscale="log")
        left.legend(fontsize="small")
        right.plot(LOCAL_PENALTY * np.array(LEVELS), ks, "o-", color=COLORS[0])
        if topics is not None:
            right.axhline(N_TOPICS, color="0.5", ls="--", lw=1, label="drawn")
            right.legend(fontsize="small")
        right.set(xlabel="lambda_g", ylabel="topics of the published algorithm")
        right.set(xscale="log", yscale="log")

    return Result(
        head=("what", "paper", "search='paper'", "HDPTopics", "LDA, NMF"),
        rows=rows,
        claims=claims,
        seed=SEED,
        draw=draw,
        data=what,
        notes=f"The published algorithm has {some.shape[0]} of the documents and lambda_l "
        f"{LOCAL_PENALTY:g}. Seconds a step are those of a fit of {STEPS} steps, the search "
        "for a penalty that gives so many topics included. A drawn topic counts as found where the "
        f"words of one have a cosine above {ALIKE:g} with its own; LDA is scikit-learn's online "
        f"one, and both others are told {N_TOPICS} topics.",
        caption="Left: seconds a step against the number of topics. Right: topics of the published "
        "algorithm at rising penalties.",
    )
