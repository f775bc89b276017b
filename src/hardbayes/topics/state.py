"""A fit of topics: sets of topics, totals, and what follows from them; and proposals of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Topics, TopicSets
from hardbayes.core.loop import Proposal
from hardbayes.topics.problem import SharedTopics

if TYPE_CHECKING:
    from hardbayes.topics.memory import Documents

RELATIVE_TOLERANCE = 1e-12  # of the objective, by which a move must lower it


@dataclass(frozen=True)
class TopicState:
    """Where a fit is. Words were given to topics by ``topics``, which made ``totals``."""

    documents: Documents
    structure: SharedTopics
    topics: Topics
    sets: TopicSets
    totals: Floats  # (v, k)
    losses: Floats  # (k,): what documents would lose without a topic, at most
    objective: float

    @property
    def n_topics(self) -> int:
        """Number of topics, the background not included."""
        return self.totals.shape[1] - self.n_free

    @property
    def n_free(self) -> int:
        """Number of topics in no set: one where there is a background."""
        return int(self.structure.has_background)

    @property
    def own_costs(self) -> Floats:
        """What the words of each topic cost it, its prior included (k,)."""
        return self.structure.topic_costs(self.totals)


def sweep_documents(
    documents: Documents, structure: SharedTopics, sets: TopicSets, totals: Floats
) -> TopicState:
    """Return the state after one sweep at the topics that have these totals.

    Documents choose among the topics and words follow; topics without words are dropped.
    """
    topics = Topics(structure.costs(totals), int(structure.has_background))
    sets, totals, losses = documents.sweep(topics, sets)
    kept = np.asarray(totals.any(axis=0))
    kept[: topics.n_free] = True
    if not kept.all():
        topics = Topics(np.ascontiguousarray(topics.costs[:, kept]), topics.n_free)
        sets = rename_topics(sets, np.cumsum(kept) - 1)
        totals, losses = np.ascontiguousarray(totals[:, kept]), losses[kept]
    objective = structure.objective(totals, documents.penalties, sets.sizes)
    return TopicState(documents, structure, topics, sets, totals, losses, objective)


def propose(
    current: TopicState,
    sets: TopicSets,
    totals: Floats,
    *,
    n_splits: int = 0,
    n_merges: int = 0,
) -> Proposal[TopicState] | None:
    """Return the proposal of one sweep from other sets and totals, if it lowers the objective."""
    outcome = sweep_documents(current.documents, current.structure, sets, totals)
    change = outcome.objective - current.objective
    if not outcome.n_topics or not change < -RELATIVE_TOLERANCE * abs(current.objective):
        return None
    return Proposal(change, outcome, n_splits=n_splits, n_merges=n_merges)


def rename_topics(sets: TopicSets, names: NDArray[np.signedinteger]) -> TopicSets:
    """Return sets in which topic k is called ``names[k]``; of equal names one is kept."""
    topics, room = names[sets.topics].astype(np.int32), sets.topics.shape[1]
    kept = sets.is_own
    for position in range(1, room):
        same = topics[:, :position] == topics[:, position : position + 1]
        kept[:, position] &= ~(same & kept[:, :position]).any(axis=1)
    order = np.argsort(~kept, axis=1, kind="stable")
    return TopicSets(np.take_along_axis(topics, order, axis=1), kept.sum(axis=1, dtype=np.int32))
