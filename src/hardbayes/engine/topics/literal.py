"""The published algorithm for words: Kulis & Jordan's Algorithm 2 with the KL divergence."""

import numpy as np

from hardbayes.engine.loop import alternate
from hardbayes.engine.status import Status
from hardbayes.engine.topics.descent import Report, TopicSolution
from hardbayes.executors.topics.protocol import Collected, TopicDocuments, Topics
from hardbayes.moves.topics.state import TopicState
from hardbayes.structure.topics import NEVER, SharedTopics


class LiteralDescent:
    """Passes until the words are together as before (Jiang, Kulis & Jordan 2012, section 4).

    Local clusters without words are dropped, and those of a document with the same topic united, at
    the end of each pass; so are topics without words.
    """

    def __init__(self, documents: TopicDocuments, structure: SharedTopics, report: Report) -> None:
        self.documents = documents
        self.structure = structure
        self.report = report
        self.history: list[float] = []
        self._keep(documents.collect(documents.one_cluster_each(), 1))

    def run(self, max_steps: int) -> TopicSolution:
        """Minimise."""
        converged = alternate([self.sweep], lambda: len(self.history) < max_steps)
        status = Status.CONVERGED if converged else Status.OUT_OF_STEPS
        _, _, totals, sets = self.found
        state = TopicState(
            self.documents, self.structure, Topics(self.structure.costs(totals), 0), sets, totals,
            np.zeros(totals.shape[1]), self.history[-1],
        )  # fmt: skip
        return TopicSolution(state, self.history, status, 0, 0)

    def sweep(self) -> bool:
        """Make one pass; return whether it changed which words are together."""
        labels, n_topics = self.documents.published_pass(
            self.structure.costs(self.found.totals), NEVER, self.structure.global_penalty,
            self.found.labels,
        )  # fmt: skip
        found = self.documents.collect(labels, n_topics)
        if same_partition(self.found.topics, found.topics):
            return False
        self._keep(found)
        return True

    def _keep(self, found: Collected) -> None:
        """Record where a pass ended, and the objective there."""
        self.found = found
        totals, penalties = found.totals, self.documents.penalties
        self.history.append(self.structure.objective(totals, penalties, found.sets.sizes))
        self.report(len(self.history), totals.shape[1], self.history[-1])


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two labellings group the same words, whatever the names of the groups."""
    pairs = np.unique(np.stack([one, other]), axis=1).shape[1]
    return bool(pairs == len(np.unique(one)) == len(np.unique(other)))
