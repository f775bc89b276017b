"""Topics: their words, their weight, and the documents they are strongest in."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import _check_feature_names_in, check_array

from hardbayes.core.html import Markup, tag
from hardbayes.reports.data import Given, checked_names
from hardbayes.reports.pieces import Section, colour, mark, percent, section, share_bar, table
from hardbayes.topics.estimator import top_word_ids

MAX_TOPICS = 60
N_WORDS = 10
N_DOCUMENTS = 3
N_IN_LINE = 6  # words of a topic in a line
N_OF_DOCUMENT = 4  # words that stand for a document without a name
N_DOUBTFUL = 12
MIN_SHARE = 0.02  # of that of its heaviest word, of a word that is shown
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
    strongest: list[int]  # (n,): the strongest topic of each document, -1 without words


def topics_of(given: Given) -> Topics:
    """Return the topics of a model and of these documents."""
    model = given.model
    counts = check_array(given.X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n, v = counts.shape
    names = checked_names(given.row_names, n)
    vocabulary = _check_feature_names_in(model, given.feature_names)
    called = names if names is not None else _first_words(csr_array(counts), vocabulary)
    shares = np.asarray(model.transform(given.X), np.float64)
    shown = min(int(model.n_topics_), MAX_TOPICS)
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
                    if share >= MIN_SHARE * own.max()
                ],
                [each for each in documents if each[1] > 0],
            )
        )
    mixed = _mixed(shares, typical, called) if model.n_topics_ > 1 else []
    return Topics(
        topics,
        int(model.n_topics_),
        mixed,
        n,
        v,
        _background(model, given),
        names is not None,
        np.where(lengths > 0, shares.argmax(axis=1), -1).tolist(),
    )


def _first_words(counts: Any, vocabulary: Any) -> list[str]:
    """Return numbers of documents with the words that each has most often."""
    found = []
    for row in range(counts.shape[0]):
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        order = np.argsort(-counts.data[part], kind="stable")[:N_OF_DOCUMENT]
        words = " ".join(str(vocabulary[word]) for word in counts.indices[part][order])
        found.append(f"{row}: {words} …" if words else str(row))
    return found


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


def topics_section(found: Topics) -> Section:
    """Return a card for each topic."""
    notes = []
    if len(found.topics) < found.n_topics:
        notes.append(f"The {len(found.topics)} heaviest of {found.n_topics:,} topics are shown.")
    if found.background:
        notes.append(
            f"Words that all documents share stand in a background: {', '.join(found.background)}."
        )
    widest = max(share for topic in found.topics for _, share in topic.words)
    return section(
        "topics",
        "Words and documents of each topic",
        tag(
            "p",
            "Words are those that tell most about the topic; bars and shares beside them: what "
            "part of the topic the word is. Documents are those in which the topic has the largest "
            "share.",
        ),
        [tag("p", note) for note in notes],
        _overview(found),
        tag("div", [_card(topic, widest, found.named) for topic in found.topics], class_="cards"),
    )


def _overview(found: Topics) -> Markup:
    """Return one line for each topic."""
    widest = max(topic.weight for topic in found.topics)
    rows = [
        (mark(topic.number),
         tag("td", ", ".join(word for word, _ in topic.words[:N_IN_LINE]), class_="words"),
         percent(topic.weight), tag("td", share_bar(topic.weight, widest, colour(topic.number))),
         percent(topic.prevalence))
        for topic in found.topics
    ]  # fmt: skip
    head = ("topic", "strongest words", "of words", "", "in documents")
    return table("All topics at a glance", head, rows, 2)


def _card(topic: Topic, widest: float, named: bool) -> Markup:
    words = [
        (word, percent(share), tag("td", share_bar(share, widest, colour(topic.number))))
        for word, share in topic.words
    ]
    size = f"{percent(topic.weight)} of words, in {percent(topic.prevalence)} of documents"
    documents = "; ".join(
        f"{name if named else f'document {name}'} ({percent(share)})"
        for name, share in topic.documents
    )
    return tag(
        "article",
        tag("h3", mark(topic.number), tag("span", size, class_="quiet")),
        table(f"Words of topic {topic.number}", ("word", "share", ""), words),
        tag("p", "Strongest in: ", documents, ".") if documents else None,
        class_="card",
    )


def mixed_section(found: Topics) -> Section | None:
    """Return the documents without a clear topic."""
    if not found.mixed:
        return None
    rows = [
        (each.name, mark(each.first[0]), percent(each.first[1]), mark(each.second[0]),
         percent(each.second[1]))
        for each in found.mixed
    ]  # fmt: skip
    return section(
        "mixed",
        "Documents without a clear topic",
        tag("p", "In these, the two strongest topics have nearly equal shares."),
        table("Doubtful documents", ("document", "topic", "share", "next", "share"), rows),
    )
