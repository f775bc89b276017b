"""The topics of a document at fixed topics: add, drop and swap as long as its cost falls."""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel

# A change must lower the cost of a document by more than this share of it.
WORTHWHILE = 1e-12


@inlined
def rank_own(corpus, d, costs, n_free, sets, best, second, owner):
    """OUT for each entry: cost at the cheapest topic that is open to it, at the next; the first."""
    start = corpus.starts[d]
    for e in range(start, corpus.starts[d + 1]):
        word = corpus.words[e]
        least = np.inf
        next_least = np.inf
        found = -1
        for position in range(-n_free, sets.sizes[d]):
            k = sets.topics[d, position] if position >= 0 else position + n_free
            cost = costs[word, k]
            if cost < least:
                next_least, least, found = least, cost, k
            elif cost < next_least:
                next_least = cost
        best[e - start] = least
        second[e - start] = next_least
        owner[e - start] = found


@inlined
def costs_with(corpus, d, costs, best, second, owner, without, sums):
    """OUT sums (k,): the fit of a document with each topic added, and one topic removed.

    Returns the fit with none added; infinite if no topic is left.
    """
    n_topics = costs.shape[1]
    alone = 0.0
    for k in range(n_topics):
        sums[k] = 0.0
    start = corpus.starts[d]
    for e in range(start, corpus.starts[d + 1]):
        weight = corpus.weights[e]
        at = e - start
        least = second[at] if owner[at] == without else best[at]
        alone += weight * least
        word = corpus.words[e]
        for k in range(n_topics):
            cost = costs[word, k]
            sums[k] += weight * (cost if cost < least else least)
    return alone


@inlined
def best_change(sums, alone, penalty, n_free, sets, d, without):
    """Return the least cost once a topic is removed (-1: none), and the topic added (-1: none)."""
    left = sets.sizes[d] if without < 0 else sets.sizes[d] - 1
    added = -1
    least = np.inf
    if without >= 0 and (left > 0 or n_free > 0):
        least = alone + penalty * left
    for k in range(n_free, sums.shape[0]):
        cost = sums[k] + penalty * (left + 1)
        if cost < least:
            is_own = False
            for position in range(sets.sizes[d]):
                is_own |= sets.topics[d, position] == k
            if not is_own:
                least, added = cost, k
    return least, added


@inlined
def replace(sets, d, removed, added):
    """INOUT sets: remove and add a topic (-1: none) of document d, which has room for it."""
    size = sets.sizes[d]
    if removed >= 0:
        position = 0
        while sets.topics[d, position] != removed:
            position += 1
        size -= 1
        sets.topics[d, position] = sets.topics[d, size]
    if added >= 0:
        sets.topics[d, size] = added
        size += 1
    sets.sizes[d] = size


@kernel
def choose(corpus, costs, n_free, sets, regrets, first, last, best, second, owner, sums):
    """Choose topics for the documents ``first`` to ``last`` by the cost of each whole document.

    A document pays its penalty for each topic in its set, and each of its words goes to the
    cheapest. IN costs (v, k); the first ``n_free`` topics are open to all and in no set. INOUT
    sets; OUT regrets (n, room): by how much a document's cost would rise without that topic. best,
    second, owner (longest document,) and sums (k,) are scratch. Returns the first document that
    needs more room, or ``last``.
    """
    for d in range(first, last):
        penalty = corpus.penalties[d]
        if corpus.starts[d] == corpus.starts[d + 1]:
            sets.sizes[d] = 0
            continue
        while True:
            rank_own(corpus, d, costs, n_free, sets, best, second, owner)
            current = np.inf
            least = np.inf
            removed = added = -1
            for position in range(-1, sets.sizes[d]):
                without = -1 if position < 0 else sets.topics[d, position]
                alone = costs_with(corpus, d, costs, best, second, owner, without, sums)
                if position < 0:
                    current = alone + penalty * sets.sizes[d]
                cost, candidate = best_change(sums, alone, penalty, n_free, sets, d, without)
                if position >= 0:
                    regrets[d, position] = cost - current
                if cost < least:
                    least, removed, added = cost, without, candidate
            if not current - least > WORTHWHILE * abs(least):
                break
            if removed < 0 and sets.sizes[d] == sets.topics.shape[1]:
                return d
            replace(sets, d, removed, added)
    return last
