import numpy as np
from scipy.special import xlogy

from hardbayes.topics.compiled import divide, gather, two_means
from tests.topics.estimator_cases import corpus_of, random_counts, random_topics, sets_of
from tests.topics.test_compiled_totals import owners

COUNTS = random_counts(0)
LISTS = [[0, 1] if d % 2 else [d % 3] for d in range(len(COUNTS))]


def test_the_words_of_one_topic_are_copied():
    topics, sets = random_topics(1, 8, 3), sets_of(LISTS)
    documents = np.flatnonzero([1 in own for own in LISTS])
    starts, words = np.empty(len(documents) + 1, np.int64), np.empty(COUNTS.size, np.int32)
    weights, vocabulary = np.empty(COUNTS.size), np.empty(8, np.int32)
    numbers = np.full(8, -1, np.int32)
    count, n_words = gather(
        corpus_of(COUNTS, 1.0),
        *topics,
        sets,
        1,
        documents,
        numbers,
        starts,
        words,
        weights,
        vocabulary,
    )

    assert count == len(documents) and (numbers == -1).all()
    where = owners(topics, LISTS)
    for i, d in enumerate(documents):
        found = np.zeros(8)
        part = slice(starts[i], starts[i + 1])
        found[vocabulary[words[part]]] = weights[part]
        np.testing.assert_array_equal(found, COUNTS[d] * (where[d] == 1))
    assert len(set(vocabulary[:n_words].tolist())) == n_words


def test_a_sample_ends_before_the_document_that_does_not_fit():
    topics, sets = random_topics(1, 8, 1), sets_of([[0]] * len(COUNTS))
    lengths = (COUNTS > 0).sum(axis=1)
    size = int(lengths[:3].sum())
    starts, numbers = np.empty(len(COUNTS) + 1, np.int64), np.full(8, -1, np.int32)
    count, _ = gather(
        corpus_of(COUNTS, 1.0), *topics, sets, 0, np.arange(len(COUNTS)), numbers, starts,
        np.empty(size, np.int32), np.empty(size), np.empty(8, np.int32),
    )  # fmt: skip

    assert count == 3


def blocks():
    """Six documents, of which the even ones use words 0 to 2 and the odd ones words 3 to 5."""
    counts = np.zeros((6, 6))
    counts[::2, :3] = [[4, 2, 1], [3, 3, 2], [5, 1, 1]]
    counts[1::2, 3:] = [[2, 2, 4], [1, 5, 2], [3, 2, 2]]
    return counts


def test_two_means_separate_two_kinds_of_documents():
    corpus = corpus_of(blocks(), 1.0)
    prior = np.full(6, 0.5)
    sides, totals = np.empty(6, np.uint8), np.empty((2, 6))
    value = two_means(
        corpus.starts, corpus.words, corpus.weights, prior, 3.0, np.array([0, 1]), 10, sides,
        totals, np.empty(6),
    )  # fmt: skip

    np.testing.assert_array_equal(sides, [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(totals, [blocks()[::2].sum(axis=0), blocks()[1::2].sum(axis=0)])
    amounts = totals + prior
    sizes = amounts.sum(axis=1)
    expected = xlogy(amounts, amounts).sum() - xlogy(sizes, sizes).sum()
    np.testing.assert_allclose(value, expected)


def test_all_topics_are_divided_in_one_pass():
    topics, sets = random_topics(1, 8, 3), sets_of(LISTS)
    ratios = np.random.default_rng(2).standard_normal((8, 3))
    sides, totals = np.zeros(sets.topics.shape, np.uint8), np.zeros((8, 3))
    divide(
        corpus_of(COUNTS, 1.0), *topics, sets, ratios, sides, totals, np.empty(3), 0, len(COUNTS)
    )

    where, expected = owners(topics, LISTS), np.zeros((8, 3))
    for d, own in enumerate(LISTS):
        for position, k in enumerate(own):
            part = COUNTS[d] * (where[d] == k)
            assert sides[d, position] == (part @ ratios[:, k] > 0)
            expected[:, k] += sides[d, position] * part
    np.testing.assert_array_equal(totals, expected)
    assert sides.any() and not sides.all()
