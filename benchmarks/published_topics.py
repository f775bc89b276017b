"""The topics of papers at NIPS that Jiang, Kulis & Jordan 2012 print, beside those found here."""

from pathlib import Path

import numpy as np
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


def side_by_side(counts: sparse.csr_array, file: Path) -> str:
    """Return a table: each published topic beside one that HDPTopics finds, no topic twice.

    ``counts``: the whole corpus of the file, which holds the words as ``vocab``, a line for each.
    """
    with np.load(file, allow_pickle=False) as data:
        vocabulary = str(data["vocab"]).split("\n")
    model = HDPTopics(random_state=0).fit(counts)
    column = {word: j for j, word in enumerate(vocabulary)}
    published = [
        [column[word] for word in words.split() if word in column]
        for words in PUBLISHED.split("\n\n")
    ]
    best = np.argsort(-model.relevance_, axis=1, kind="stable")[:, :SEARCHED]
    both = np.array([np.isin(best, own).sum(axis=1) for own in published])
    _, matched = linear_sum_assignment(-both)
    title = (
        "Topics of Jiang, Kulis & Jordan's Table 1, each matched with one of the "
        f"{model.n_topics_} that HDPTopics finds in all documents; in brackets: how many of the "
        f"published words are among the {SEARCHED} most relevant of that topic."
    )
    lines = [title, "", "| published | found |", "|---|---|"]
    words = model.top_words(SHOWN, vocabulary)
    for own, counts_of, topic in zip(published, both, matched, strict=True):
        names = " ".join(vocabulary[word] for word in own)
        lines.append(f"| {names} | {' '.join(words[topic])} ({counts_of[topic]} of {len(own)}) |")
    return "\n".join(lines)
