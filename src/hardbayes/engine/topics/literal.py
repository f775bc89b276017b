"""The published algorithm for words: Kulis & Jordan's Algorithm 2 with the KL divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.loop import alternate
from hardbayes.engine.status import Status
from hardbayes.engine.topics.descent import TopicSolution
from hardbayes.executors.topics.protocol import Topics
from hardbayes.moves.topics.state import TopicState
from hardbayes.structure.topics import NEVER

if TYPE_CHECKING:
    from hardbayes.engine.topics.descent import Report
    from hardbayes.executors.topics.protocol import TopicDocuments
    from hardbayes.matrices import Floats
    from hardbayes.structure.topics import SharedTopics


class LiteralDescent:
    """Passes until the words are together as before (Jiang, Kulis & Jordan 2012, section 4).

    Local clusters without words are dropped, and those of a document with the same topic united, at
    the end of each pass; so are topics without words.
    """

    def __init__(self, documents: TopicDocuments, structure: SharedTopics, report: Report) -> None:
        self.documents = documents
        self.structure = structure
        self.report = report
        self.labels = documents.one_cluster_each()
        self.history: list[float] = []
        self._collect(1)

    def run(self, max_steps: int) -> TopicSolution:
        """Minimise."""
        converged = alternate([self.sweep], lambda: len(self.history) < max_steps)
        status = Status.CONVERGED if converged else Status.OUT_OF_STEPS
        sets = self.documents.topic_sets(self.topics)
        state = TopicState(
            self.documents, self.structure, Topics(self.structure.costs(self.totals), 0), sets,
            self.totals, np.zeros(self.totals.shape[1]), self.history[-1],
        )  # fmt: skip
        return TopicSolution(state, self.history, status, 0, 0)

    def sweep(self) -> bool:
        """Make one pass; return whether it changed which words are together."""
        before = self.topics
        self.labels, n_topics = self.documents.published_pass(
            self.structure.costs(self.totals), NEVER, self.structure.global_penalty, self.labels
        )
        return self._collect(n_topics, before)

    def _collect(self, n_topics: int, before: np.ndarray | None = None) -> bool:
        """Drop empty topics, add up words and record the objective, unless nothing changed."""
        topics = self.documents.word_topics(self.labels)
        kept = np.bincount(topics, minlength=n_topics) > 0
        names = (np.cumsum(kept) - 1).astype(np.int32)
        self.labels = self.labels._replace(associations=names[self.labels.associations])
        self.topics = names[topics]
        if before is not None and same_partition(before, self.topics):
            return False
        self.totals: Floats = self.documents.word_totals(self.topics, int(kept.sum()))
        sizes = self.documents.topic_sets(self.topics).sizes
        self.history.append(self.structure.objective(self.totals, self.documents.penalties, sizes))
        self.report(len(self.history), self.totals.shape[1], self.history[-1])
        return True


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two labellings group the same words, whatever the names of the groups."""
    pairs = np.unique(np.stack([one, other]), axis=1).shape[1]
    return bool(pairs == len(np.unique(one)) == len(np.unique(other)))
