"""Partitions into many numbers of clusters."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.gaussian.choice.evidence import likeliest_prior
from hardbayes.gaussian.choice.path import find_path, likeliest, merge_costs
from tests.gaussian.choice.samples import SQUARE, blobs, sampled

MATRIX, TRUE = blobs(SQUARE)


@pytest.mark.parametrize("diagonal", [False, True])
def test_partitions_are_what_they_say_and_the_true_one_is_likeliest(diagonal):
    with sampled(MATRIX, diagonal=diagonal) as sample:
        path = find_path(sample.rows)
        assert {1, 2, 3, 4, 5} <= path.keys()
        for k, step in path.items():
            assert k == step.k
            np.testing.assert_array_equal(np.unique(step.labels), np.arange(k))
            clusters = sample.rows.statistics(step.labels, k)
            np.testing.assert_allclose(step.evidence, likeliest_prior(sample.rows, clusters)[1])
        top = likeliest(path)
        assert top.k == 4 and adjusted_rand_score(TRUE[sample.ids], top.labels) > 0.99


def test_a_grid_that_no_single_cut_improves():
    """Four by four clusters are as likely in two halves as whole: splits are forced."""
    centres = [[6.0 * i, 6.0 * j] for i in range(4) for j in range(4)]
    matrix, true = blobs(centres, n=40)
    with sampled(matrix) as sample:
        top = likeliest(find_path(sample.rows))
        assert top.k == 16 and adjusted_rand_score(true[sample.ids], top.labels) > 0.95


def test_no_more_clusters_than_allowed_or_than_rows_can_tell():
    with sampled(MATRIX) as sample:
        assert max(find_path(sample.rows, 3)) <= 3
    for matrix in (np.ones((1, 3)), np.ones((9, 2)), np.eye(3), np.arange(6.0)[:, None]):
        with sampled(matrix) as sample:
            assert set(find_path(sample.rows)) == {1}


def test_costs_of_merges_are_differences_of_likelihoods():
    with sampled(MATRIX) as sample:
        rows, labels = sample.rows, TRUE[sample.ids]
        clusters = rows.statistics(labels, 4)
        prior, value = likeliest_prior(rows, clusters)
        for a, b, cost in zip(*merge_costs(rows, clusters, prior), strict=True):
            merged = np.unique(np.where(labels == b, a, labels), return_inverse=True)[1]
            after = prior.of_partition(rows.statistics(merged, 3))
            np.testing.assert_allclose(cost, value - after)
