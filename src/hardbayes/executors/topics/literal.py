"""One pass of the published algorithm over documents in memory."""

import numpy as np

from hardbayes.executors.topics.protocol import WordLabels
from hardbayes.kernels.topics.literal import assign_words, associate
from hardbayes.matrices import Floats
from hardbayes.tuples import Corpus

ROOM = 64  # columns for topics that a pass opens, at first


def literal_pass(
    corpus: Corpus,
    costs: Floats,
    never: float,
    global_penalty: float,
    labels: WordLabels,
    tiles: list[tuple[int, int]],
) -> int:
    """Make steps 4 and 5 of the algorithm; return the number of topics.

    Topics that the pass opens are columns beside those of ``costs`` (v, k); a word that a topic
    does not have costs ``never``. ``tiles`` are the documents of each call, in order. INOUT labels.
    """
    n_topics, longest = costs.shape[1], int(np.diff(corpus.starts).max(initial=0))
    own, counts, renumbered = (np.empty(2 * longest, np.int64) for _ in range(3))
    for step in (assign_words, associate):
        for first, last in tiles:
            while first < last:
                scratch: list[np.ndarray] = [own]
                if step is assign_words:
                    in_use = np.zeros(costs.shape[1], np.bool_)
                    scratch = [own, in_use, counts, renumbered]
                n_topics, first = step(
                    corpus, costs, n_topics, global_penalty, never, *labels, first, last, *scratch
                )
                if first < last:  # there is no room for more topics
                    more = np.empty((len(costs), max(ROOM, costs.shape[1], longest)))
                    costs = np.ascontiguousarray(np.concatenate([costs, more], axis=1))
    return n_topics
