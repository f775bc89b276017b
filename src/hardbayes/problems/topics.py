"""From counts of words to documents whose topics can be searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.late_import import import_whole
from hardbayes.matrices import row_sums
from hardbayes.tuples import Corpus, TopicSets

if TYPE_CHECKING:
    from scipy import sparse

    from hardbayes.executors.topics.memory import MemoryDocuments
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool

ROOM = 4  # for topics of a document, at first


@dataclass(frozen=True)
class LocalPenalty:
    """What a document pays for each of its topics: the same for all, or so much for each word."""

    amount: float
    per_word: bool

    def of(self, lengths: Floats) -> Floats:
        """Return the penalties (n,) of documents of these weights."""
        return self.amount * lengths if self.per_word else np.full(len(lengths), self.amount)


def pose_topics(
    weighted: sparse.csr_array,
    penalty: LocalPenalty,
    pool: Pool,
    sample_weight: Floats | None = None,
) -> MemoryDocuments:
    """Return the documents of a matrix of weights (n, v).

    A document counts ``sample_weight`` (n,) times: so do its penalties, as its words already do.
    """
    # With kernels comes numba: not before the first fit.
    import_whole("hardbayes.executors.topics.memory")
    from hardbayes.executors.topics.memory import MemoryDocuments

    penalties = penalty.of(row_sums(weighted))
    if sample_weight is not None and not penalty.per_word:
        penalties = penalties * sample_weight
    corpus = Corpus(weighted.indptr, weighted.indices, weighted.data, penalties)
    return MemoryDocuments(corpus, weighted.shape[1], pool)


def documents_with_words(weighted: sparse.csr_array, sample_weight: Floats | None) -> float:
    """Return the number of documents that have words, each counted ``sample_weight`` (n,) times."""
    has_words = np.diff(weighted.indptr) > 0
    return float(np.sum(has_words if sample_weight is None else has_words * sample_weight))


def no_topics(n_documents: int) -> TopicSets:
    """Return sets without topics."""
    return TopicSets(np.zeros((n_documents, ROOM), np.int32), np.zeros(n_documents, np.int32))
