"""Small corpora, and documents in memory made of them."""

import numpy as np
from scipy import sparse

from hardbayes.core.arrays import Corpus, Topics, TopicSets
from hardbayes.core.pool import Pool
from hardbayes.topics.memory import Documents
from hardbayes.topics.problem import SharedTopics


def random_counts(seed, n=12, v=8, rate=1.0):
    """Counts of n documents over v words; no document and no word is empty."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rate, (n, v)).astype(float)
    counts[np.arange(n), np.arange(n) % v] += 1
    counts[np.arange(v) % n, np.arange(v)] += 1
    return counts


def corpus_of(counts, penalties):
    matrix = sparse.csr_array(counts)
    penalties = np.broadcast_to(np.asarray(penalties, float), len(counts)).copy()
    return Corpus(matrix.indptr, matrix.indices, matrix.data.astype(float), penalties)


def documents_of(counts, penalties=1.0, n_threads=1):
    return Documents(corpus_of(counts, penalties), counts.shape[1], Pool(n_threads))


def random_topics(seed, v, k, n_free=0):
    """Costs (v, k) of random word shares."""
    shares = np.random.default_rng(seed).dirichlet(np.ones(v), k)
    return Topics(np.ascontiguousarray(-np.log(shares.T)), n_free)


def sets_of(lists, room=4):
    """Sets of topics from lists."""
    topics = np.zeros((len(lists), room), np.int32)
    for d, own in enumerate(lists):
        topics[d, : len(own)] = own
    return TopicSets(topics, np.array([len(own) for own in lists], np.int32))


def lists_of(sets):
    return [sorted(row[:size].tolist()) for row, size in zip(*sets, strict=True)]


def structure_of(counts, prior_weight=2.0, global_penalty=3.0, has_background=False):
    words = counts.sum(axis=0)
    return SharedTopics(prior_weight * words / words.sum(), global_penalty, has_background)


def document_cost(row, costs, own, n_free, penalty):
    """The cost of a document (v,) with a set of topics: each word at the cheapest."""
    open_to = [*range(n_free), *own]
    if not open_to:
        return np.inf
    return float(row @ costs[:, open_to].min(axis=1)) + penalty * len(own)


def totals_of(documents, topics, sets):
    """The weight (v, k) of each word in each topic: every word at the cheapest of its document."""
    totals = np.zeros(topics.costs.shape)
    starts, words, weights, _ = documents.corpus
    for d, own in enumerate(lists_of(sets)):
        open_to = np.array([*range(topics.n_free), *own])
        for e in range(starts[d], starts[d + 1]):
            cheapest = open_to[topics.costs[words[e], open_to].argmin()]
            totals[words[e], cheapest] += weights[e]
    return totals
