"""Starts of a fit of topics, and penalties from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr
from sklearn.utils.extmath import randomized_svd

from hardbayes.core.alone import Nearest, alone_sentences
from hardbayes.core.arrays import row_lengths
from hardbayes.core.geometry import geometry_for
from hardbayes.core.plateaus import Columns, Table, table_of
from hardbayes.core.pool import one_blas_thread
from hardbayes.dp_means.problem import pose
from hardbayes.dp_means.starts import Starts, minimise
from hardbayes.topics.null import NEEDED
from hardbayes.topics.problem import SharedTopics

if TYPE_CHECKING:
    from numpy.random import RandomState

    from hardbayes.core.arrays import Floats
    from hardbayes.core.pool import Pool


SAMPLE = 1 << 22  # entries of documents of which groups are made
GROUPS = 20  # of documents: what they save gives the penalties, and half as many are a start
FEW_WORDS = 64  # of the vocabulary, up to which a fit also begins with a topic for each word
MAX_STEPS = 30  # of the partition of documents
DECIMALS = 8  # of coordinates of documents, whose length is at most one
# Both automatic penalties are measured on bars, and on four corpora of newspapers, mail and papers:
# higher ones give fewer topics to a document, or in all (benchmarks.topics).
LOCAL_SHARE = 1.35
# Above log 2 nats a word, a document with equal parts of two topics would pay less for one topic
# that mixes them.
MAX_LOCAL = 0.6
# As LOCAL_SHARE (benchmarks.topics).
RANDOM_SHARE = 0.4
LOCAL_MULTIPLE = 5.0


@dataclass(frozen=True)
class DocumentGroups:
    """Documents, or a sample of them, and their leading singular directions."""

    weighted: sparse.csr_array  # (m, v)
    coordinates: Floats  # (m, r)

    def starts(self, rng: RandomState, pool: Pool) -> list[Floats]:
        """Return totals (v, k) of topics to begin with: all words, half of GROUPS groups.

        With few words also a topic for each: divisions are by documents, and do not find topics of
        few words that are worth a small penalty.
        """
        found = [self.totals(k, rng, pool) for k in (1, GROUPS // 2)]
        if self.weighted.shape[1] <= FEW_WORDS:
            found.append(np.diag(np.asarray(self.weighted.sum(axis=0), np.float64).ravel()))
        return found

    def totals(self, k: int, rng: RandomState, pool: Pool) -> Floats:
        """Return (v, k) the words of at most k groups of documents that have similar words.

        By k-means on the first k coordinates, of unit length.
        """
        if k == 1 or self.coordinates.shape[1] < 2:
            return np.asarray(self.weighted.sum(axis=0), np.float64).reshape(-1, 1)
        rows = self.coordinates[:, :k]
        lengths = np.maximum(row_lengths(rows), np.finfo(float).tiny)
        problem = pose(
            np.ascontiguousarray(rows / lengths[:, np.newaxis]),
            geometry_for("squared_euclidean"),
            None,
            pool,
        )
        partition = problem.partition(0.0, 0.0, k)
        starts = Starts("k-means++", "random", 1, "split-merge", MAX_STEPS)
        solution = minimise(
            problem.state(partition), partition, problem.opening_costs(partition),
            lambda: problem.mean, starts, rng, lambda *_: None,
        )  # fmt: skip
        return self._sum(solution.labels)

    def random_totals(self, k: int, rng: RandomState) -> Floats:
        """Return (v, k) the words of k random groups of documents, of equal numbers."""
        return self._sum(rng.permutation(self.weighted.shape[0]) % k)

    def _sum(self, labels: np.ndarray) -> Floats:
        m, k = len(labels), int(labels.max()) + 1
        groups = sparse.csr_array((np.ones(m), labels, np.arange(m + 1)), shape=(m, k))
        return np.asarray((self.weighted.T @ groups).toarray())


def group_documents(
    weighted: sparse.csr_array, n_directions: int, rng: RandomState
) -> DocumentGroups:
    """Return groups of documents by at most so many singular directions of the unit rows.

    Documents without words are left out.
    """
    ids = np.flatnonzero(np.diff(weighted.indptr))
    if weighted.nnz > SAMPLE:
        share = max(1, int(len(ids) * SAMPLE / weighted.nnz))
        ids = np.sort(rng.permutation(ids)[:share])
    sample = weighted[ids]
    rows = sparse.diags_array(1.0 / row_lengths(sample)) @ sample
    rank = min(n_directions, *sample.shape)
    with one_blas_thread():  # more threads would change the last bits
        left, values, _ = randomized_svd(rows, rank, random_state=rng)
    # Equal documents get equal coordinates: those of the decomposition differ by rounding, in a way
    # that depends on the processor, and groups without a penalty would divide them.
    return DocumentGroups(sample, np.round(left * values, DECIMALS))


def local_rate(
    groups: DocumentGroups, totals: Floats, structure: SharedTopics, rng: RandomState
) -> float:
    """Return the automatic local penalty for each word of a document, in nats.

    ``LOCAL_SHARE sqrt(s)``, at most MAX_LOCAL, where s is the share of the cost of all words, as
    one topic, that groups of similar documents save beyond random groups of as many documents.
    """
    random = groups.random_totals(min(totals.shape[1], groups.weighted.shape[0]), rng)
    costs = [
        float(structure.topic_costs(each).sum())
        for each in (totals.sum(axis=1, keepdims=True), totals, random)
    ]
    saved = max(0.0, costs[2] - costs[1])
    share = saved / costs[0] if costs[0] > 0 else 0.0
    return min(MAX_LOCAL, LOCAL_SHARE * float(np.sqrt(share)))


def global_penalty(
    groups: DocumentGroups, structure: SharedTopics, mean_penalty: float, rng: RandomState
) -> float:
    """Return the automatic global penalty, from the mean of the local ones.

    ``RANDOM_SHARE g + LOCAL_MULTIPLE mean``, where g is what one of GROUPS random groups of
    documents saves.
    """
    k = min(GROUPS, groups.weighted.shape[0])
    random = groups.random_totals(k, rng)
    one = float(structure.topic_costs(random.sum(axis=1, keepdims=True)).sum())
    saved = (one - float(structure.topic_costs(random).sum())) / max(1, k - 1)
    return RANDOM_SHARE * max(0.0, saved) + LOCAL_MULTIPLE * mean_penalty


COLUMNS: Columns = {
    "n_topics": np.int64,
    "penalty": np.float64,
    "deviations": np.float64,
    "p_value": np.float64,
    "strength": np.float64,
    "chosen": np.bool_,
}


class TopicChoice(NamedTuple):
    """The topics that the automatic penalties give, and whether documents have any."""

    n_topics: int
    penalty: float  # the global one
    deviations: float  # z of `null.topics_z`; infinite where a single topic needs no evidence

    @property
    def is_structured(self) -> bool:
        """Whether words go together more than documents of one distribution would have them."""
        return self.deviations > NEEDED

    @property
    def p_value(self) -> float:
        """The probability of as large a z without topics."""
        return float(ndtr(-self.deviations))

    def table(self) -> Table:
        """Return the number of topics as the only candidate; none where it is one."""
        row = (
            self.n_topics, self.penalty, self.deviations, self.p_value,
            max(0.0, self.deviations / NEEDED), self.is_structured,
        )  # fmt: skip
        return table_of([row] if self.n_topics > 1 else [], COLUMNS)

    def sentence(self, call: str) -> str:
        """Return why there is one topic, and how to get more."""
        found, any_number = "there is one topic", "HDPTopics(n_topics=k)"
        if self.n_topics == 1:
            why = "No second topic lowers what documents cost"
            return alone_sentences(why, found, None, any_number, "topics")
        evidence = (
            "in different parts of the vocabulary documents are alike by "
            f"{self.deviations:.2g} standard deviations only ({NEEDED:g} are needed)"
        )
        why = "Documents drawn from one distribution of words explain the corpus"
        near = Nearest(self.n_topics, evidence, call)
        return alone_sentences(why, found, near, any_number, "topics")
