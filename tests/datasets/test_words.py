"""Word histograms: counts, zeros, sparsity and arguments."""

import numpy as np
import pytest
from scipy.sparse import issparse

from hardbayes.datasets import make_word_histograms


def test_counts_with_zeros_and_no_empty_document():
    X, y = make_word_histograms(random_state=0)
    assert X.shape == (300, 200)
    assert X.dtype == np.float64
    assert y.dtype == np.int32
    np.testing.assert_array_equal(X, np.round(X))
    assert X.min() == 0
    assert (X == 0).mean() > 0.5
    assert X.sum(axis=1).min() >= 1
    assert X.sum(axis=1).mean() == pytest.approx(100, rel=0.05)
    np.testing.assert_array_equal(np.bincount(y), [60] * 5)


def test_shortest_documents_have_one_word():
    X, _ = make_word_histograms(50, n_tokens=1, random_state=0)
    np.testing.assert_array_equal(X.sum(axis=1), 1)


def test_sparse_holds_the_same_counts():
    dense, y_dense = make_word_histograms(80, random_state=5)
    sparse, y_sparse = make_word_histograms(80, sparse=True, random_state=5)
    assert issparse(sparse)
    assert sparse.format == "csr"
    assert sparse.has_canonical_format
    np.testing.assert_array_equal(sparse.toarray(), dense)
    np.testing.assert_array_equal(y_sparse, y_dense)


def test_clusters_differ_in_their_words():
    X, y = make_word_histograms(random_state=0)
    shares = X / X.sum(axis=1, keepdims=True)
    means = np.array([shares[y == k].mean(axis=0) for k in range(5)])
    overlap = np.minimum(means[:, None], means).sum(axis=2)[np.triu_indices(5, 1)]
    assert overlap.max() < 0.5


def test_seed_decides():
    first, _ = make_word_histograms(30, random_state=1)
    again, _ = make_word_histograms(30, random_state=1)
    other, _ = make_word_histograms(30, random_state=2)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_words": 0}, ValueError, "'n_words' parameter of make_word_histograms .* Got 0"),
        ({"n_tokens": 0}, ValueError, "'n_tokens' parameter .* Got 0"),
        ({"concentration": 0.0}, ValueError, "'concentration' parameter .* above 0"),
        ({"n_samples": 2}, ValueError, "at most n_samples=2"),
    ],
)
def test_refuses_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        make_word_histograms(**arguments)
