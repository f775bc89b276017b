"""Topics: their words, their weight, and the documents they are strongest in."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names_in, check_array

from hardbayes.estimators.topic_words import top_word_ids
from hardbayes.reports.facts.data import Given, checked_names

MOST_TOPICS = 60
N_WORDS = 10
N_DOCUMENTS = 3
N_DOUBTFUL = 12
LEAST_SHARE = 0.02  # of that of its heaviest word, of a word that is shown
LONG = 20  # words from which on a document can be typical


class Topic(NamedTuple):
    """A topic: words and documents, the strongest first."""

    number: int
    weight: float  # share of all words
    prevalence: float  # share of documents that use it
    words: list[tuple[str, float]]  # with their share of the topic
    documents: list[tuple[str, float]]  # with the share of the topic in them


class Mixed(NamedTuple):
    """A document whose two strongest topics are nearly as strong."""

    name: str
    first: tuple[int, float]  # topic and share
    second: tuple[int, float]


class Topics(NamedTuple):
    """What a report says about topics."""

    topics: list[Topic]
    n_topics: int
    mixed: list[Mixed]
    n_documents: int
    n_vocabulary: int
    background: list[str]  # its words
    named: bool  # whether documents have names


def topics_of(given: Given) -> Topics:
    """Return the topics of a model and of these documents."""
    model = given.model
    counts = check_array(given.X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n, v = counts.shape
    names = checked_names(given.row_names, n)
    called = names if names is not None else [str(row) for row in range(n)]
    shares = np.asarray(model.transform(given.X), np.float64)
    shown = min(int(model.n_topics_), MOST_TOPICS)
    words = model.top_words(N_WORDS, given.feature_names)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    typical = lengths >= min(LONG, float(np.median(lengths)))
    total = float(model.topic_weights_.sum())
    n_used = max(1, int((model.labels_ >= 0).sum()))
    topics = []
    best = top_word_ids(model, N_WORDS)
    for number in range(shown):
        own = model.components_[number]
        order = np.argsort(-shares[:, number] * typical, kind="stable")[:N_DOCUMENTS]
        documents = [(called[row], float(shares[row, number])) for row in order]
        topics.append(
            Topic(
                number,
                float(model.topic_weights_[number]) / total,
                float(model.topic_documents_[number]) / n_used,
                [
                    (word, share)
                    for word, share in zip(words[number], own[best[number]].tolist(), strict=True)
                    if share >= LEAST_SHARE * own.max()
                ],
                [each for each in documents if each[1] > 0],
            )
        )
    mixed = _mixed(shares, typical, called) if model.n_topics_ > 1 else []
    return Topics(
        topics, int(model.n_topics_), mixed, n, v, _background(model, given), names is not None
    )


def _mixed(shares: Any, typical: NDArray[np.bool_], called: list[str]) -> list[Mixed]:
    """Return documents without a clear topic, the least clear first."""
    ranked = np.argsort(-shares, axis=1, kind="stable")[:, :2]
    rows = np.arange(len(shares))
    first, second = shares[rows, ranked[:, 0]], shares[rows, ranked[:, 1]]
    gaps = np.where(typical & (second > 0), first - second, np.inf)
    found = np.argsort(gaps, kind="stable")[:N_DOUBTFUL]
    return [
        Mixed(
            called[row],
            (int(ranked[row, 0]), float(first[row])),
            (int(ranked[row, 1]), float(second[row])),
        )
        for row in found
        if np.isfinite(gaps[row])
    ]


def _background(model: Any, given: Given) -> list[str]:
    """Return the heaviest words of the background, where there is one."""
    if getattr(model, "background_", None) is None:
        return []
    names = _check_feature_names_in(model, given.feature_names)
    order = np.argsort(-model.background_, kind="stable")[:N_WORDS]
    return [str(names[word]) for word in order]
