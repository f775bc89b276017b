import numpy as np
import pytest
from scipy import sparse

from hardbayes.topics.problem import word_weights
from tests.topics.estimator_cases import random_counts

COUNTS = random_counts(0)


def test_counts_weigh_themselves():
    weighted = word_weights(COUNTS, "counts", None).weigh(COUNTS)
    np.testing.assert_array_equal(weighted.toarray(), COUNTS)


def test_sublinear_weights_by_the_formula():
    weighted = word_weights(COUNTS, "sublinear", None).weigh(COUNTS).toarray()
    documents = (COUNTS > 0).sum(axis=0)
    expected = np.log2(1 + np.log2(1 + COUNTS)) * np.log(13 / (documents + 0.5))
    sums = expected.sum(axis=1, keepdims=True)
    expected *= np.sqrt(sums.mean() / sums)
    expected *= COUNTS.sum() / expected.sum()
    np.testing.assert_allclose(weighted, expected)


def test_sums_are_exact_in_any_order():
    rng = np.random.default_rng(0)
    data = word_weights(COUNTS, "sublinear", None).weigh(COUNTS).data
    sums = {rng.permutation(data).cumsum()[-1] for _ in range(20)}
    assert len(sums) == 1


@pytest.mark.parametrize("weighting", ["counts", "sublinear"])
def test_weights_of_documents_are_repetitions(weighting):
    repeats = np.arange(12) % 3
    once = word_weights(COUNTS, weighting, repeats.astype(float))
    copies = np.repeat(COUNTS, repeats, axis=0)
    many = word_weights(copies, weighting, None)
    np.testing.assert_allclose(once.factors, many.factors)
    heavy = once.weigh(COUNTS, repeats.astype(float)).sum(axis=0)
    np.testing.assert_allclose(heavy, many.weigh(copies).sum(axis=0))


def test_words_that_the_corpus_does_not_have_weigh_nothing():
    counts = COUNTS.copy()
    counts[:, 3] = 0
    for weighting in ("counts", "sublinear"):
        weighted = word_weights(counts, weighting, None).weigh(COUNTS)
        assert 3 not in weighted.indices and weighted.nnz == (counts > 0).sum()


def test_a_word_that_all_documents_have_does_not_vanish():
    assert word_weights(np.ones((4, 3)), "sublinear", None).weigh(np.ones((4, 3))).nnz == 12


def test_explicit_zeros_count_as_missing():
    matrix = sparse.csr_array(COUNTS)
    stored = sparse.csr_array((COUNTS.ravel(), np.tile(np.arange(8), 12), np.arange(0, 97, 8)))
    expected = word_weights(matrix, "sublinear", None).weigh(matrix)
    found = word_weights(stored, "sublinear", None).weigh(stored)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    assert found.nnz == expected.nnz


def test_no_words_are_an_error():
    with pytest.raises(ValueError, match="X holds no words"):
        word_weights(np.zeros((3, 2)), "counts", None)
