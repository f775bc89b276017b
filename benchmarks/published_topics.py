"""The topics of papers at NIPS that Jiang, Kulis & Jordan 2012 print, beside those found here."""

from pathlib import Path

import numpy as np
from scipy import sparse

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
SHOWN = 12


def side_by_side(counts: sparse.csr_array, file: Path) -> str:
    """Return a table: each published topic beside the nearest that HDPTopics finds.

    ``counts``: the whole corpus of the file, which holds the words as ``vocab``, a line for each.
    """
    with np.load(file, allow_pickle=False) as data:
        vocabulary = str(data["vocab"]).split("\n")
    model = HDPTopics(random_state=0).fit(counts)
    column = {word: j for j, word in enumerate(vocabulary)}
    heaviest = model.top_words(SHOWN, vocabulary)
    # A word's share of a topic, over its mean share of all: common words say little.
    lift = np.log(model.components_ / model.components_.mean(axis=0))
    title = (
        f"Topics of Jiang, Kulis & Jordan's Table 1, and of the {model.n_topics_} that HDPTopics "
        "finds in all documents the one in which the words of the paper are most frequent beyond "
        "their mean:"
    )
    lines = [title, "", "| published | found |", "|---|---|"]
    for words in PUBLISHED.split("\n\n"):
        own = [column[word] for word in words.split() if word in column]
        best = int(lift[:, own].mean(axis=1).argmax())
        lines.append(f"| {' '.join(words.split())} | {' '.join(heaviest[best])} |")
    return "\n".join(lines)
