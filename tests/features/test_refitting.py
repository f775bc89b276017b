"""Least squares, with dependent columns dropped."""

import numpy as np
import pytest

from hardbayes.features.moves import drop_dependent, refit_components
from hardbayes.features.rows import Allocation
from tests.reference.feature_rows import NumpyFeatureRows
from tests.reference.features import least_squares


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return NumpyFeatureRows(rng.standard_normal((12, 3)), rng.random(12))


@pytest.mark.parametrize("given", [False, True])
def test_components_at_least_squares(rows, given):
    Z = (np.random.default_rng(1).random((12, 3)) < 0.5).astype(np.uint8)
    allocation = Allocation(np.zeros((3, 3)), Z)
    found = refit_components(rows, allocation, rows.collect(allocation) if given else None)
    np.testing.assert_allclose(found.components, least_squares(rows.X, Z, rows.weights)[0])
    np.testing.assert_array_equal(found.membership, Z)


def test_dependent_columns_are_dropped(rows):
    Z = (np.random.default_rng(1).random((12, 3)) < 0.5).astype(np.uint8)
    Z[:, 1] = Z[:, 0]
    allocation = Allocation(np.ones((3, 3)), Z)
    for found in (
        refit_components(rows, allocation),
        drop_dependent(allocation, rows.collect(allocation)),
    ):
        np.testing.assert_array_equal(found.membership, Z[:, [0, 2]])
        expected = least_squares(rows.X, Z[:, [0, 2]], rows.weights)[0]
        np.testing.assert_allclose(found.components, expected)
