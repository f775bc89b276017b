"""A background: one topic that every document may use for its common words."""

from dataclasses import replace

import numpy as np

from hardbayes.moves.topics.state import Proposal, TopicState, swept
from hardbayes.tuples import TopicSets

SWEEPS = 4  # before the background is judged


def add_background(current: TopicState) -> Proposal | None:
    """Propose a background that starts at the word shares of the corpus.

    Judged after a few sweeps: words move to it from all topics, one sweep after another.
    """
    if current.structure.has_background:
        return None
    structure = replace(current.structure, has_background=True)
    words = current.totals.sum(axis=1, keepdims=True)
    totals = np.concatenate([words, current.totals], axis=1)
    sets = TopicSets(current.sets.topics + np.int32(1), current.sets.sizes)
    outcome = swept(current.documents, structure, sets, totals)
    for _ in range(SWEEPS - 1):
        outcome = swept(current.documents, structure, outcome.sets, outcome.totals)
    change = outcome.objective - current.objective
    return Proposal(change, outcome) if outcome.n_topics and change < 0 else None
