"""What a feature allocation pays, and which of its columns buy something."""

import numpy as np

from hardbayes.structure.feature_allocation import FeatureAllocation, independent_columns


def test_every_feature_pays():
    assert FeatureAllocation(3.0, 10).total(2.0, 4) == 14.0


def test_dependent_columns_are_found_without_being_equal():
    Z = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]], float)  # 1100, 0011, 1111
    np.testing.assert_array_equal(independent_columns(Z.T @ Z), [True, True, False])


def test_empty_columns_are_dependent():
    Z = np.array([[0, 1], [0, 1], [0, 0]], float)
    np.testing.assert_array_equal(independent_columns(Z.T @ Z), [False, True])


def test_random_columns_match_the_rank():
    rng = np.random.default_rng(0)
    for _ in range(50):
        Z = (rng.random((6, 5)) < 0.5).astype(float)
        kept = independent_columns(Z.T @ Z)
        assert kept.sum() == np.linalg.matrix_rank(Z) == np.linalg.matrix_rank(Z[:, kept])
