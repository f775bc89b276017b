"""Sums over documents of the words that each topic has.

Weights are multiples of a power of two, so small that no sum of them rounds: totals do not depend
on the order of documents or on threads.
"""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.topics.costs import cheapest


@kernel
def add_up(corpus, costs, n_free, sets, totals, used, first, last):
    """Give every word to the cheapest topic of its document; drop topics that got none.

    IN costs (v, k); INOUT sets, totals (v, k): documents ``first`` to ``last`` are added; used
    (k,): scratch.
    """
    for d in range(first, last):
        size = sets.sizes[d]
        for position in range(size):
            used[sets.topics[d, position]] = False
        for e in range(corpus.starts[d], corpus.starts[d + 1]):
            k = cheapest(corpus.words[e], costs, n_free, sets, d, size)
            totals[corpus.words[e], k] += corpus.weights[e]
            used[k] = True
        kept = 0
        for position in range(size):
            k = sets.topics[d, position]
            if used[k]:
                sets.topics[d, kept] = k
                kept += 1
        sets.sizes[d] = kept


@kernel
def add_shares(corpus, costs, n_free, sets, shares, fits, first, last):
    """INOUT shares (n, k): adds the weight of each document in each topic; OUT fits (n,): costs."""
    for d in range(first, last):
        fits[d] = 0.0
        for e in range(corpus.starts[d], corpus.starts[d + 1]):
            k = cheapest(corpus.words[e], costs, n_free, sets, d, sets.sizes[d])
            shares[d, k] += corpus.weights[e]
            fits[d] += corpus.weights[e] * costs[corpus.words[e], k]


@kernel
def pair_penalties(corpus, sets, together):
    """INOUT together (k, k): add the penalties of the documents that have both topics a < b."""
    for d in range(sets.sizes.shape[0]):
        for i in range(sets.sizes[d]):
            for j in range(sets.sizes[d]):
                if sets.topics[d, i] < sets.topics[d, j]:
                    together[sets.topics[d, i], sets.topics[d, j]] += corpus.penalties[d]


@kernel
def cheapest_whole(corpus, costs, n_free, found, sums, first, last):
    """OUT found (n,): the topic, not a free one, at which a whole document costs least."""
    for d in range(first, last):
        for k in range(sums.shape[0]):
            sums[k] = 0.0
        for e in range(corpus.starts[d], corpus.starts[d + 1]):
            for k in range(sums.shape[0]):
                sums[k] += corpus.weights[e] * costs[corpus.words[e], k]
        found[d] = n_free
        for k in range(n_free, sums.shape[0]):
            if sums[k] < sums[found[d]]:
                found[d] = k
