import numpy as np

from hardbayes.topics.compiled import add_shares, add_up, cheapest_whole, pair_penalties
from tests.topics.estimator_cases import corpus_of, lists_of, random_counts, random_topics, sets_of

COUNTS = random_counts(0)
LISTS = [[d % 3 + 1, 4] if d % 2 else [d % 3 + 1] for d in range(len(COUNTS))]


def owners(topics, lists):
    """The topic (n, v) of each word, by the definition."""
    open_to = [[*range(topics.n_free), *own] for own in lists]
    return np.array([[own[int(np.argmin(row[own]))] for row in topics.costs] for own in open_to])


def test_words_go_to_the_cheapest_topic_and_unused_topics_are_dropped():
    topics, sets = random_topics(1, 8, 5, 1), sets_of(LISTS)
    totals, used = np.zeros((8, 5)), np.empty(5, np.bool_)
    add_up(corpus_of(COUNTS, 1.0), *topics, sets, totals, used, 0, len(COUNTS))

    where = owners(topics, LISTS)
    expected = [(COUNTS * (where == k)).sum(axis=0) for k in range(5)]
    np.testing.assert_array_equal(totals.T, expected)
    for d, own in enumerate(lists_of(sets)):
        assert own == sorted({int(k) for k in where[d][COUNTS[d] > 0]} - {0})


def test_shares_and_costs_of_documents():
    topics, sets = random_topics(1, 8, 5, 1), sets_of(LISTS)
    shares, fits = np.zeros((len(COUNTS), 5)), np.empty(len(COUNTS))
    add_shares(corpus_of(COUNTS, 1.0), *topics, sets, shares, fits, 0, len(COUNTS))

    where = owners(topics, LISTS)
    for k in range(5):
        np.testing.assert_array_equal(shares[:, k], (COUNTS * (where == k)).sum(axis=1))
    costs = topics.costs[np.arange(8), where]
    np.testing.assert_allclose(fits, (COUNTS * costs).sum(axis=1))


def test_penalties_of_documents_that_have_two_topics():
    penalties = np.arange(1.0, len(COUNTS) + 1)
    together = np.zeros((5, 5))
    pair_penalties(corpus_of(COUNTS, penalties), sets_of(LISTS), together)

    for a in range(5):
        for b in range(5):
            both = [
                p for p, own in zip(penalties, LISTS, strict=True) if a < b and {a, b} <= {*own}
            ]
            assert together[a, b] == sum(both)


def test_the_cheapest_topic_of_whole_documents():
    topics = random_topics(2, 8, 4, 1)
    found, sums = np.empty(len(COUNTS), np.int64), np.empty(4)
    cheapest_whole(corpus_of(COUNTS, 1.0), *topics, found, sums, 0, len(COUNTS))

    np.testing.assert_array_equal(found, 1 + np.argmin(COUNTS @ topics.costs[:, 1:], axis=1))
