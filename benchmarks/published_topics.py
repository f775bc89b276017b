"""The topics of papers at NIPS that Jiang, Kulis & Jordan 2012 print, beside those found here."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from hardbayes import HDPTopics

#: Table 1: the fifteen heaviest words of six topics.
PUBLISHED = """\
neurons memory patterns activity response neuron stimulus firing cortex recurrent pattern
spike stimuli delay responses

neural networks state weight states results synaptic threshold large time systems activation
small work weights

training hidden recognition layer performance probability parameter error speech class
weights trained algorithm approach order

cells visual cell orientation cortical connection receptive field center tuning low ocular
present dominance fields

energy solution methods function solutions local equations minimum hopfield temperature
adaptation term optimization computational procedure

noise classifier classifiers note margin noisy regularization generalization hypothesis
multiclasses prior cases boosting fig pattern"""
SHOWN = 12  # words of a topic
SEARCHED = 100  # words of a topic among which published ones are counted
WISHED = 100  # topics, for the comparison on the paper's own weights; it does not say how many

NOTE = f"""\
Topics of Jiang, Kulis & Jordan's Table 1, each matched with one that HDPTopics finds in all
documents, no topic twice; in brackets: how many of the published words are among its {SEARCHED}
first. Published: how many are among the {SEARCHED} words that most documents have. Such words are
no topic by default: they are in the background. The last column has the weights of the paper and
its ranking, the heaviest words first; there the background is matched as the topics are."""


def side_by_side(counts: sparse.csr_array, file: Path) -> str:
    """Return a table: each published topic beside those that HDPTopics finds.

    ``counts``: the whole corpus of the file, which holds the words as ``vocab``, a line for each.
    """
    with np.load(file, allow_pickle=False) as data:
        vocabulary = np.array(str(data["vocab"]).split("\n"))
    published = [
        np.flatnonzero(np.isin(vocabulary, words.split())) for words in PUBLISHED.split("\n\n")
    ]
    first = HDPTopics(random_state=0).fit(counts)
    second = HDPTopics(n_topics=WISHED, weighting="counts", random_state=0).fit(counts)
    heaviest = np.vstack([second.components_, second.background_])
    common = np.argsort(-(counts > 0).sum(axis=0), kind="stable")[:SEARCHED]
    columns = [
        [
            f"{words} ({np.isin(own, common).sum()} common)".replace("\n", " ")
            for words, own in zip(PUBLISHED.split("\n\n"), published, strict=True)
        ],
        _matched(first.relevance_, published, vocabulary),
        _matched(heaviest, published, vocabulary),
    ]
    titles = [
        "published",
        f"as it comes: {first.n_topics_} topics",
        f"n_topics={WISHED}, weighting='counts': {second.n_topics_} topics and the background",
    ]
    rows = [titles, ["---"] * 3, *zip(*columns, strict=True)]
    return "\n".join([NOTE, "", *(f"| {' | '.join(row)} |" for row in rows)])


def _matched(
    scores: NDArray[np.float64], published: list[NDArray[np.intp]], vocabulary: NDArray[np.str_]
) -> list[str]:
    """Return the first words by scores (k, v) of the topic matched with each published one."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :SEARCHED]
    both = np.array([np.isin(order, own).sum(axis=1) for own in published])
    _, topics = linear_sum_assignment(-both)
    return [
        f"{' '.join(vocabulary[order[topic, :SHOWN]])} ({counted[topic]} of {len(own)})"
        for own, counted, topic in zip(published, both, topics, strict=True)
    ]
