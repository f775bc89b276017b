"""From counts of words to documents whose topics can be searched, and what topics cost.

Counts are weighed first: as they are, or so that common words do not dominate. Then words, the
topics of documents, and topics are paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from hardbayes.core.arrays import Corpus, Floats, Matrix, TopicSets, row_sums
from hardbayes.core.geometry.poisson import Poisson
from hardbayes.core.pool import import_whole

if TYPE_CHECKING:
    from hardbayes.core.pool import Pool
    from hardbayes.topics.memory import Documents


ROOM = 4  # for topics of a document, at first
SMALLEST = 1e-100  # sum of counts, whose products with each other do not underflow
# Stands for minus the logarithm of zero: above any penalty, yet finite when multiplied and added.
NEVER = 1e30
# Pseudo-words of each topic, for each word of the vocabulary.
PRIOR = 0.5


@dataclass(frozen=True)
class LocalPenalty:
    """What a document pays for each of its topics: the same for all, or so much for each word."""

    amount: float
    per_word: bool

    def of(self, lengths: Floats) -> Floats:
        """Return the penalties (n,) of documents of these weights."""
        return self.amount * lengths if self.per_word else np.full(len(lengths), self.amount)


def make_documents(
    weighted: sparse.csr_array,
    penalty: LocalPenalty,
    pool: Pool,
    sample_weight: Floats | None = None,
) -> Documents:
    """Return the documents of a matrix of weights (n, v).

    A document counts ``sample_weight`` (n,) times: so do its penalties, as its words already do.
    """
    # With kernels comes numba: not before the first fit.
    import_whole("hardbayes.topics.memory")
    from hardbayes.topics.memory import Documents

    penalties = penalty.of(row_sums(weighted))
    if sample_weight is not None and not penalty.per_word:
        penalties = penalties * sample_weight
    corpus = Corpus(weighted.indptr, weighted.indices, weighted.data, penalties)
    return Documents(corpus, weighted.shape[1], pool)


def documents_with_words(weighted: sparse.csr_array, sample_weight: Floats | None) -> float:
    """Return the number of documents that have words, each counted ``sample_weight`` (n,) times."""
    has_words = np.diff(weighted.indptr) > 0
    return float(np.sum(has_words if sample_weight is None else has_words * sample_weight))


def no_topics(n_documents: int) -> TopicSets:
    """Return sets without topics."""
    return TopicSets(np.zeros((n_documents, ROOM), np.int32), np.zeros(n_documents, np.int32))


@dataclass(frozen=True)
class WordWeights:
    """What a count of a word in a document weighs.

    Under "counts" a word weighs its count. Under "sublinear" it weighs ``log2(1 + log2(1 + count))
    log((D + 1) / (df + 1/2))`` in a corpus of D documents with words, of which df have this one;
    each document is then multiplied by ``sqrt(mean / its sum)``, and all by one number, so that the
    corpus weighs as much as it has words. The half keeps a word that all documents have from
    vanishing.

    Weights are rounded to multiples of ``quantum``, a power of two so small that no sum of the
    weights of the corpus rounds.
    """

    factors: Floats  # (v,): of each word; zero for words that the corpus does not have
    mean_sum: float  # of a document before it is multiplied; zero: documents are left as they are
    scale: float
    quantum: float

    def weigh(self, matrix: Matrix, sample_weight: Floats | None = None) -> sparse.csr_array:
        """Return the weights of counts (n, v), without zeros."""
        matrix = sparse.csr_array(matrix)
        weighted = _sublinear(matrix, self.factors) if self.mean_sum else matrix.astype(float)
        if self.mean_sum:
            sums = row_sums(weighted)
            with np.errstate(divide="ignore"):
                rows = np.where(sums > 0, np.sqrt(self.mean_sum / sums), 0.0) * self.scale
        else:
            weighted.data = weighted.data * (self.factors[weighted.indices] > 0)
            rows = np.ones(matrix.shape[0])
        if sample_weight is not None:
            rows = rows * sample_weight
        numbers = weighted.data * np.repeat(rows, np.diff(weighted.indptr))
        weighted.data = np.rint(numbers / self.quantum) * self.quantum
        if not weighted.data.all():
            weighted.eliminate_zeros()
        return weighted


def word_weights(matrix: Matrix, weighting: str, sample_weight: Floats | None) -> WordWeights:
    """Return the weights of the words of a corpus: "counts" or "sublinear".

    ``sample_weight`` (n,) counts a document as so many.
    """
    matrix = sparse.csr_array(matrix)
    n_words = matrix.shape[1]
    with np.errstate(over="ignore"):
        per_row = (row_sums(matrix) > 0) * (1.0 if sample_weight is None else sample_weight)
    per_entry = np.repeat(per_row, np.diff(matrix.indptr)) * (matrix.data > 0)
    with np.errstate(over="ignore"):
        total = float((matrix.data.astype(float) * per_entry).sum())
    if total > 0 and not SMALLEST < total < 1 / SMALLEST:
        raise ValueError(f"The counts of X sum to {total:g}. Scale them to sums near one or above.")
    if not total > 0:
        raise ValueError(
            "X holds no words: all counts, or all weights of documents with words, are zero. "
            "Check the vocabulary, or pass documents that are not empty."
        )
    documents = np.bincount(matrix.indices, per_entry, n_words)
    quantum = 2.0 ** (np.frexp(total)[1] - 52)
    if weighting == "counts":
        return WordWeights((documents > 0).astype(float), 0.0, 1.0, quantum)
    weight = float(per_row.sum())
    factors = np.where(documents > 0, np.log((weight + 1) / (documents + 0.5)), 0.0)
    sums = row_sums(_sublinear(matrix, factors))
    mean_sum = float((sums * per_row).sum() / weight)
    scale = total / float((np.sqrt(mean_sum * sums) * per_row).sum())
    return WordWeights(factors, mean_sum, scale, quantum)


def _sublinear(matrix: sparse.csr_array, factors: Floats) -> sparse.csr_array:
    once = np.log1p(matrix.data.astype(float)) / np.log(2)  # exact for tiny fractions, too
    numbers = np.log1p(once) / np.log(2) * factors[matrix.indices]
    return sparse.csr_array((numbers, matrix.indices, matrix.indptr), shape=matrix.shape)


@dataclass(frozen=True)
class SharedTopics:
    """``sum_dw n_dw (-log mu_z[w]) + sum_d lambda_d |topics of d| + lambda_g K + priors``.

    Jiang, Kulis & Jordan 2012, eq. 4, for words: the divergence of a word from a topic is minus the
    logarithm of the word's share of the topic, in nats. Each topic carries pseudo-counts ``prior``
    = eta m at the word shares m of the corpus, and pays ``eta KL(m || mu)``; eta = 0 is the paper.
    A background, where there is one, is topic 0: it is open to every document, which pays
    ``background_share`` of its local penalty for it, and no global penalty.
    """

    prior: Floats  # (v,)
    global_penalty: float
    has_background: bool
    background_share: float = 0.0

    def costs(self, totals: Floats) -> Floats:
        """Return (v, k) the cost of each word at the topics that have these totals (v, k)."""
        shares = np.add(totals, self.prior[:, np.newaxis], order="C")
        shares /= np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
        with np.errstate(divide="ignore"):
            np.log(shares, out=shares)
        np.negative(shares, out=shares)
        return np.minimum(shares, NEVER, out=shares)

    def topic_costs(self, totals: Floats) -> Floats:
        """Return (k,) what the words of each topic cost it at its best, its prior included."""
        sizes = totals.sum(axis=0) + self.prior.sum()
        amounts = totals + self.prior[:, np.newaxis]
        return xlogy(sizes, sizes) - xlogy(amounts, amounts).sum(axis=0) - self._empty

    @property
    def _empty(self) -> float:
        """The same sum for the prior alone."""
        eta = self.prior.sum()
        return float(xlogy(eta, eta) - xlogy(self.prior, self.prior).sum())

    def objective(self, totals: Floats, penalties: Floats, sizes: np.ndarray) -> float:
        """Return what is minimised; ``penalties`` and ``sizes`` (n,) of the sets of documents."""
        fit = float(self.topic_costs(totals).sum())
        return fit + self.local_cost(penalties, sizes) + self.global_cost(totals.shape[1])

    def local_cost(self, penalties: Floats, sizes: np.ndarray) -> float:
        """Return what documents pay for their topics."""
        share = self.background_share if self.has_background else 0.0
        return float((penalties * (sizes + share)).sum())

    def global_cost(self, n_topics: int) -> float:
        """Return what topics cost, the background among their number if there is one."""
        return self.global_penalty * (n_topics - self.has_background)


class WordCounts(Poisson):
    """Counts, zeros included; fractions are weights."""

    domain = "counts >= 0"
    remedy = "Pass counts of words, as CountVectorizer returns them: not scaled, and not centred."


def refuse_documents(X: Any) -> None:
    """Raise where X holds texts, or lists of words, in place of counts of words."""
    if isinstance(X, str):
        first: Any = X
    elif isinstance(X, list | tuple) or (hasattr(X, "ndim") and X.ndim == 1):
        first = next(iter(X), None)
        first = next(iter(first), None) if isinstance(first, list | tuple) else first
    else:
        return
    if isinstance(first, str):
        raise ValueError(
            "HDPTopics takes counts of words, one row for each document, and X holds text. Count "
            "its words first: CountVectorizer().fit_transform(texts), of "
            "sklearn.feature_extraction.text."
        )


def pseudo_counts(weighted: sparse.csr_array, prior_weight: float | str) -> Floats:
    """Return the pseudo-counts (v,) of each topic: so many in all, at the shares of all words."""
    words = np.bincount(weighted.indices, weighted.data, weighted.shape[1])
    weight = PRIOR * weighted.shape[1] if prior_weight == "auto" else float(prior_weight)
    return weight / words.sum() * words
