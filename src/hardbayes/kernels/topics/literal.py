"""The published algorithm on words: steps 4 and 5 of Kulis & Jordan's Algorithm 2, in order.

Its rows are single words. Equal words of a document that are visited one after another decide
alike: whatever the first one opens costs the next ones less. So one decision is made for all of
them, by the cost of one.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel


@inlined
def cheapest_column(costs, word, n_topics, local_penalty, in_use):
    """Return the least cost of a word and its topic; those not in use cost the penalty more."""
    least = np.inf
    found = -1
    for k in range(n_topics):
        cost = costs[word, k]
        if not in_use[k]:
            cost += local_penalty
        if cost < least:
            least, found = cost, k
    return least, found


@kernel
def assign_words(
    corpus, costs, n_topics, global_penalty, never, labels, associations, n_local, first, last, own,
    in_use, counts, renumbered,
):  # fmt: skip
    """Step 4 for documents ``first`` to ``last``: every word to its cheapest topic or a new one.

    INOUT costs (v, room), of which the first ``n_topics`` columns count; labels (entries,): the
    local cluster of each word; associations (entries,): the topic of local cluster c of document d
    at ``starts[d] + c``; n_local (n,). Local clusters that lose all their words are dropped when
    their document is done. own, counts, renumbered (2 * longest,) and in_use (room,), False
    everywhere, are scratch. Returns the number of topics and the first document that was not
    visited, for want of room.
    """
    for d in range(first, last):
        start, stop = corpus.starts[d], corpus.starts[d + 1]
        if n_topics + stop - start > costs.shape[1]:
            return n_topics, d
        size = n_local[d]
        for c in range(size):
            own[c] = associations[start + c]
            in_use[own[c]] = True
            counts[c] = 0
        for e in range(start, stop):
            word = corpus.words[e]
            penalty = corpus.penalties[d]
            least, found = cheapest_column(costs, word, n_topics, penalty, in_use)
            if least > penalty + global_penalty:
                found = n_topics
                n_topics += 1
                for j in range(costs.shape[0]):
                    costs[j, found] = never
                costs[word, found] = 0.0
            c = 0
            while c < size and own[c] != found:
                c += 1
            if c == size:
                own[c] = found
                in_use[found] = True
                counts[c] = 0
                size += 1
            labels[e] = c
            counts[c] += 1
        kept = 0
        for c in range(size):
            in_use[own[c]] = False
            renumbered[c] = kept
            if counts[c] > 0:
                associations[start + kept] = own[c]
                kept += 1
        n_local[d] = kept
        for e in range(start, stop):
            labels[e] = renumbered[labels[e]]
    return n_topics, last


@kernel
def associate(
    corpus, costs, n_topics, global_penalty, never, labels, associations, n_local, first, last,
    renumbered,
):  # fmt: skip
    """Step 5: every local cluster to the topic at which all its words cost least, or to a new one.

    As in `assign_words`; local clusters of a document with the same topic are then united.
    """
    for d in range(first, last):
        start, stop = corpus.starts[d], corpus.starts[d + 1]
        if n_topics + n_local[d] > costs.shape[1]:
            return n_topics, d
        for c in range(n_local[d]):
            weight = 0.0
            for e in range(start, stop):
                if labels[e] == c:
                    weight += corpus.weights[e]
            alone = 0.0
            for e in range(start, stop):
                if labels[e] == c:
                    alone -= corpus.weights[e] * np.log(corpus.weights[e] / weight)
            least = np.inf
            found = -1
            for k in range(n_topics):
                cost = 0.0
                for e in range(start, stop):
                    if labels[e] == c:
                        cost += corpus.weights[e] * costs[corpus.words[e], k]
                if cost < least:
                    least, found = cost, k
            if least > global_penalty + alone:
                found = n_topics
                n_topics += 1
                for j in range(costs.shape[0]):
                    costs[j, found] = never
                for e in range(start, stop):
                    if labels[e] == c:
                        costs[corpus.words[e], found] = -np.log(corpus.weights[e] / weight)
            associations[start + c] = found
        kept = 0
        for c in range(n_local[d]):
            topic = associations[start + c]
            same = 0
            while same < kept and associations[start + same] != topic:
                same += 1
            renumbered[c] = same
            if same == kept:
                associations[start + kept] = topic
                kept += 1
        n_local[d] = kept
        for e in range(start, stop):
            labels[e] = renumbered[labels[e]]
    return n_topics, last
