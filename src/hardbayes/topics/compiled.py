"""Compiled decisions on the words of documents, and sums over them.

The topics of a document at fixed topics: add, drop and swap as long as its cost falls. Divisions of
a topic: its parts of documents in two groups, by two means in KL divergence. Weights are multiples
of a power of two, so small that no sum of them rounds: totals do not depend on the order of
documents or on threads.

The published algorithm on words: steps 4 and 5 of Kulis & Jordan's Algorithm 2, in order. Its rows
are single words. Equal words of a document that are visited one after another decide alike:
whatever the first one opens costs the next ones less. So one decision is made for all of them, by
the cost of one.
"""

import numpy as np

from hardbayes.core.compiling import inlined, kernel

RELATIVE_TOLERANCE = 1e-12  # of the cost of a document, by which a change must lower it


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
            if not current - least > RELATIVE_TOLERANCE * abs(least):
                break
            if removed < 0 and sets.sizes[d] == sets.topics.shape[1]:
                return d
            replace(sets, d, removed, added)
    return last


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


@kernel
def gather(
    corpus, costs, n_free, sets, topic, documents, numbers, part_starts,
    part_words, part_weights, vocabulary,
):  # fmt: skip
    """Copy the words of some documents that belong to one topic.

    IN documents (m,); INOUT numbers (v,): -1 everywhere, and again afterwards; OUT part_starts
    (m + 1,); part_words: numbers from zero on in place of words; part_weights; vocabulary: the word
    of each number. Stops before the first document that does not fit part_words. Returns the number
    of documents and the number of words.
    """
    n_words = 0
    end = 0
    part_starts[0] = 0
    count = 0
    for i in range(documents.shape[0]):
        d = documents[i]
        if end + corpus.starts[d + 1] - corpus.starts[d] > part_words.shape[0]:
            break
        for e in range(corpus.starts[d], corpus.starts[d + 1]):
            word = corpus.words[e]
            if cheapest(word, costs, n_free, sets, d, sets.sizes[d]) == topic:
                if numbers[word] < 0:
                    numbers[word] = n_words
                    vocabulary[n_words] = word
                    n_words += 1
                part_words[end] = numbers[word]
                part_weights[end] = corpus.weights[e]
                end += 1
        count += 1
        part_starts[count] = end
    for number in range(n_words):
        numbers[vocabulary[number]] = -1
    return count, n_words


@inlined
def negative_entropy(totals, side, prior, prior_total):
    """Return ``sum (T + p) log (T + p) - (N + P) log (N + P)`` of one side."""
    value = 0.0
    size = prior_total
    for j in range(prior.shape[0]):
        amount = totals[side, j] + prior[j]
        size += totals[side, j]
        if amount > 0.0:
            value += amount * np.log(amount)
    return value - size * np.log(size)


@kernel
def two_means(
    starts, words, weights, prior, prior_total, seeds, max_rounds, sides, totals, ratios
):  # fmt: skip
    """Divide documents in two, from two of them, until none changes its side.

    IN prior (w,): pseudo-counts of the words that occur, prior_total: of all words; seeds (2,). OUT
    sides (m,) uint8, totals (2, w): of the two sides; ratios (w,): scratch. Returns by how much the
    negative entropies of the two sides, priors included, exceed zero: larger is better.
    """
    n_words = prior.shape[0]
    totals[:] = 0.0
    for side in range(2):
        for e in range(starts[seeds[side]], starts[seeds[side] + 1]):
            totals[side, words[e]] += weights[e]
    sides[:] = 2
    for _ in range(max_rounds):
        sizes_0 = prior_total
        sizes_1 = prior_total
        for j in range(n_words):
            sizes_0 += totals[0, j]
            sizes_1 += totals[1, j]
        offset = np.log(sizes_0) - np.log(sizes_1)
        for j in range(n_words):
            ratios[j] = np.log(totals[1, j] + prior[j]) - np.log(totals[0, j] + prior[j]) + offset
        totals[:] = 0.0
        changed = False
        for i in range(starts.shape[0] - 1):
            gain = 0.0
            for e in range(starts[i], starts[i + 1]):
                gain += weights[e] * ratios[words[e]]
            side = 1 if gain > 0.0 else 0
            changed |= sides[i] != side
            sides[i] = side
            for e in range(starts[i], starts[i + 1]):
                totals[side, words[e]] += weights[e]
        if not changed:
            break
    return negative_entropy(totals, 0, prior, prior_total) + negative_entropy(
        totals, 1, prior, prior_total
    )


@kernel
def divide(
    corpus, costs, n_free, sets, ratios, sides, totals, gains, first, last
):  # fmt: skip
    """Divide all topics at once: each document's part of a topic goes to one side or the other.

    IN ratios (v, k): what a word gains on the second side of its topic; OUT sides (n, room) uint8;
    INOUT totals (v, k): adds the words of the second sides; gains (k,): scratch.
    """
    for d in range(first, last):
        size = sets.sizes[d]
        for position in range(size):
            gains[sets.topics[d, position]] = 0.0
        for e in range(corpus.starts[d], corpus.starts[d + 1]):
            k = cheapest(corpus.words[e], costs, n_free, sets, d, size)
            gains[k] += corpus.weights[e] * ratios[corpus.words[e], k]
        any_second = False
        for position in range(size):
            sides[d, position] = gains[sets.topics[d, position]] > 0.0
            any_second |= sides[d, position] == 1
        if not any_second:
            continue
        for e in range(corpus.starts[d], corpus.starts[d + 1]):
            k = cheapest(corpus.words[e], costs, n_free, sets, d, size)
            if k >= n_free and gains[k] > 0.0:
                totals[corpus.words[e], k] += corpus.weights[e]


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
