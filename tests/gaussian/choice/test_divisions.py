"""Splits of clusters in two."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.gaussian.choice.path import apply, find_splits
from tests.gaussian.choice.samples import blobs, sampled


@pytest.mark.parametrize("diagonal", [False, True])
def test_only_the_cluster_that_is_two_gains_by_a_division(diagonal):
    matrix, true = blobs([[0, 0, 0], [6, 0, 0], [0, 30, 0]], n=100)
    with sampled(matrix, diagonal=diagonal) as sample:
        rows, true = sample.rows, true[sample.ids]
        labels = np.maximum(true - 1, 0)  # the first two are one
        clusters = rows.statistics(labels, 2)
        found = find_splits(rows, labels, clusters)
        assert found.gains[1] < 0 < found.gains[0]
        np.testing.assert_allclose(found.halves.weights.sum(axis=1), clusters.weights)
        split, k = apply(rows, labels, 2, found, [0])
        assert k == 3 and adjusted_rand_score(true, split) > 0.98
        np.testing.assert_array_equal(split[labels == 1], 1)


@pytest.mark.parametrize("n_columns", [2, 16])
def test_a_small_cluster_far_out_is_found(n_columns):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(500, n_columns))
    matrix[:25, 0] += 12.0
    with sampled(matrix) as sample:
        rows = sample.rows
        labels = np.zeros(rows.n, np.int64)
        found = find_splits(rows, labels, rows.statistics(labels, 1))
        split, _ = apply(rows, labels, 1, found, [0])
        assert found.gains[0] > 0
        assert adjusted_rand_score(sample.ids < 25, split) > 0.95


def test_equal_rows_have_no_division():
    with sampled(np.ones((9, 2))) as sample:
        labels = np.zeros(sample.rows.n, np.int64)
        found = find_splits(sample.rows, labels, sample.rows.statistics(labels, 1))
        assert np.isneginf(found.gains).all()
