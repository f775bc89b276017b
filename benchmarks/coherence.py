"""How well the heaviest words of topics go together, and how many of them are different."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

WORDS = 10


def top_words(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the words (k, WORDS) of each topic with the highest scores (k, v)."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :WORDS]


def npmi(tops: NDArray[np.int64], reference: sparse.csr_array) -> float:
    """Return the mean normalised pointwise mutual information of pairs of top words.

    ``log(p_ij / (p_i p_j)) / -log(p_ij)`` with the shares of documents of the reference, one that
    the topics have not seen, in which words occur; -1 for a pair that never meets.
    """
    occurs = sparse.csc_array(reference > 0).astype(np.float64)
    topics = []
    for words in tops:
        own = occurs[:, words]
        both = (own.T @ own).toarray() / reference.shape[0]
        left, right = np.tril_indices(len(words), -1)
        pairs, alone = both[left, right], np.diagonal(both)
        values = np.full(len(pairs), -1.0)
        met = (pairs > 0) & (pairs < 1)
        ratio = pairs[met] / (alone[left] * alone[right])[met]
        values[met] = np.log(ratio) / -np.log(pairs[met])
        values[pairs == 1] = 1.0
        topics.append(values.mean())
    return float(np.mean(topics))


def diversity(tops: NDArray[np.int64]) -> float:
    """Return the share of distinct words among all top words."""
    return len(np.unique(tops)) / tops.size
