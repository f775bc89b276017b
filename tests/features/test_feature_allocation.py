"""The objective of a feature allocation, and which of its columns are independent."""

import numpy as np

from hardbayes.features.problem import (
    FeatureAllocation,
    independent_columns,
    independent_least_squares,
)
from tests.reference.features import least_squares


def test_every_feature_costs_the_penalty():
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


def test_least_squares_of_the_independent_columns():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((9, 2)), rng.random(9)
    Z = (rng.random((9, 4)) < 0.5).astype(float)
    Z[:, 2] = Z[:, 0]
    A = rng.standard_normal((4, 2))
    kept, components = independent_least_squares(
        A, (Z.T * weights) @ Z, (Z.T * weights) @ (X - Z @ A)
    )
    np.testing.assert_array_equal(kept, [True, True, False, True])
    np.testing.assert_allclose(components, least_squares(X, Z[:, kept], weights)[0])
