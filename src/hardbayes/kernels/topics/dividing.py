"""Divisions of a topic: its parts of documents in two groups, by two means in KL divergence."""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.topics.costs import cheapest


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
