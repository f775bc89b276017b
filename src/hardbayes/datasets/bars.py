"""Bars: documents on a grid of words that mix a few horizontal and vertical topics."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from hardbayes.datasets._checks import check_counts


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
