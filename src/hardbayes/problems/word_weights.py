"""Weights of words in documents: raw counts, or counts that common words do not dominate."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hardbayes.matrices import Floats, Matrix, row_sums

SMALLEST = 1e-250  # sum of counts


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
