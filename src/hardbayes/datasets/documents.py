"""Documents: bars on a grid of words, and sparse histograms of words.

A document of bars mixes a few topics, each a horizontal or vertical bar of the grid.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_array
from sklearn.utils import check_random_state

from hardbayes.datasets._checks import (
    check_above,
    check_counts,
    check_rows_for_clusters,
    draw_labels,
)


def make_bars(
    n_samples: int = 500,
    *,
    side: int = 5,
    topics_per_document: int = 2,
    shortest: int = 50,
    longest: int = 100,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[csr_array, NDArray[np.float64], NDArray[np.float64]]:
    """Draw word counts of documents that mix topics: the rows and columns of a grid of words.

    Griffiths and Steyvers' test of topic models. Each topic has the words of one row, or of one
    column, of the grid, all equally often. A document mixes a few topics, with shares drawn from a
    uniform Dirichlet distribution.

    Parameters
    ----------
    n_samples : int, default=500
        Number of documents.
    side : int, default=5
        Rows and columns of the grid: there are side^2 words and 2 * side topics.
    topics_per_document : int, default=2
        Number of topics of each document, at most 2 * side.
    shortest, longest : int, default=50 and 100
        Range of the number of words of a document.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : csr_array of shape (n_samples, side^2)
        Counts.
    components : ndarray of shape (2 * side, side^2)
        The word shares of the topics.
    counts : ndarray of shape (n_samples, 2 * side)
        The number of words of each document that were drawn from each topic.

    Examples
    --------
    >>> from hardbayes.datasets import make_bars
    >>> X, components, counts = make_bars(20, random_state=0)
    >>> X.shape, components.shape, counts.shape
    ((20, 25), (10, 25), (20, 10))
    """
    function = "make_bars"
    own = topics_per_document
    check_counts(
        function, n_samples=n_samples, side=side, topics_per_document=own, shortest=shortest
    )
    check_counts(function, shortest, longest=longest)
    if own > 2 * side:
        raise ValueError(
            f"The 'topics_per_document' parameter of {function} must be at most the {2 * side} "
            f"topics that there are. Got {own} instead."
        )
    rng = check_random_state(random_state)
    row, column = np.divmod(np.arange(side * side), side)
    lines = [line == at for line in (row, column) for at in range(side)]
    components = np.array(lines, np.float64) / side
    X, counts = np.zeros((n_samples, side * side)), np.zeros((n_samples, 2 * side))
    for document in range(n_samples):
        chosen = rng.choice(2 * side, own, replace=False)
        shares = rng.dirichlet(np.ones(own))
        counts[document, chosen] = rng.multinomial(rng.randint(shortest, longest + 1), shares)
        for topic in chosen:
            X[document] += rng.multinomial(int(counts[document, topic]), components[topic])
    return csr_array(X), components, counts


def make_word_histograms(
    n_samples: int = 300,
    n_words: int = 200,
    n_clusters: int = 5,
    *,
    n_tokens: int = 100,
    concentration: float = 0.1,
    sparse: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Any, NDArray[np.int32]]:
    """Draw word counts of documents, each on one of a few subjects.

    Every cluster has its own word frequencies, drawn from a symmetric Dirichlet distribution. The
    length of a document is drawn from a Poisson distribution, its words from the frequencies of
    its cluster. Most counts are zero, which tests the treatment of zeros by a divergence.

    Parameters
    ----------
    n_samples : int, default=300
        Number of documents, at least `n_clusters`.
    n_words : int, default=200
        Number of words in the vocabulary.
    n_clusters : int, default=5
        Number of clusters. Their sizes differ by one document at most.
    n_tokens : int, default=100
        Mean number of words in a document; none is empty.
    concentration : float, default=0.1
        Parameter of the Dirichlet distribution. Small values give clusters with few words each,
        which are easy to separate; large values give clusters that are all alike.
    sparse : bool, default=False
        Whether to return a CSR matrix, with the same counts as the dense array.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    X : ndarray or CSR matrix of shape (n_samples, n_words), dtype float64
        The counts, in random order of documents.
    y : ndarray of shape (n_samples,), dtype int32
        The cluster of each document, from 0 to ``n_clusters - 1``; none is empty.

    Examples
    --------
    >>> from hardbayes.datasets import make_word_histograms
    >>> X, y = make_word_histograms(40, n_words=30, random_state=0)
    >>> X.shape, bool((X == 0).any())
    ((40, 30), True)
    """
    function = "make_word_histograms"
    check_counts(function, n_samples=n_samples, n_words=n_words)
    check_counts(function, n_clusters=n_clusters, n_tokens=n_tokens)
    check_above(function, 0.0, concentration=concentration)
    check_rows_for_clusters(n_samples, n_clusters, function=function)
    rng = check_random_state(random_state)
    frequencies = rng.dirichlet(np.full(n_words, concentration), size=n_clusters)
    y = draw_labels(rng, n_samples, n_clusters)
    lengths = 1 + rng.poisson(n_tokens - 1, size=n_samples)

    document = np.repeat(np.arange(n_samples), lengths)
    word = np.empty(document.shape[0], dtype=np.intp)
    for cluster in range(n_clusters):
        own = np.flatnonzero(y[document] == cluster)
        word[own] = rng.choice(n_words, size=own.shape[0], p=frequencies[cluster])
    # The conversion adds up equal (document, word) pairs, which counts them.
    counts = coo_matrix((np.ones(word.shape[0]), (document, word)), (n_samples, n_words)).tocsr()
    return (counts if sparse else counts.toarray()), y
