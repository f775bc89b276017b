"""The refit against NumPy's least squares."""

import numpy as np
import pytest

from hardbayes.features.compiled.layout import refit
from tests.reference.features import least_squares


@pytest.mark.parametrize("k", [0, 1, 4])
def test_components_move_to_least_squares(k):
    rng = np.random.default_rng(k)
    X, Z = rng.standard_normal((30, 3)), (rng.random((30, k)) < 0.5).astype(float)
    weights, A = rng.random(30), rng.standard_normal((k, 3))
    gram, correction = (Z.T * weights) @ Z, (Z.T * weights) @ (X - Z @ A)
    factor = np.empty((k, k))
    assert refit(A, gram, correction, factor)
    np.testing.assert_allclose(A, least_squares(X, Z, weights)[0])
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, gram, atol=1e-12)


@pytest.mark.parametrize("column", [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
def test_nothing_moves_where_columns_are_dependent(column):
    Z = np.array([[1, 1, 0, 0], [0, 0, 1, 1], column], float).T
    A = np.arange(6.0).reshape(3, 2)
    assert not refit(A, Z.T @ Z, np.ones((3, 2)), np.empty((3, 3)))
    np.testing.assert_array_equal(A, np.arange(6.0).reshape(3, 2))
