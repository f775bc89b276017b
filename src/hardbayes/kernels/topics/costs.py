"""The cost of a document's words at its own topics."""

import numpy as np

from hardbayes.kernels.compiling import inlined


@inlined
def cheapest(word, costs, n_free, sets, d, size):
    """Return the cheapest topic of a word among those of document d and the free ones; -1: none.

    IN costs (v, k); the set of the document has ``size`` topics; the first ``n_free`` topics are
    open to every document. Of equals the free ones come first, then the order of the set.
    """
    found = -1
    least = np.inf
    for k in range(n_free):
        if costs[word, k] < least:
            found, least = k, costs[word, k]
    for position in range(size):
        k = sets.topics[d, position]
        if costs[word, k] < least:
            found, least = k, costs[word, k]
    return found
