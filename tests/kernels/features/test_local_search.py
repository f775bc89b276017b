"""Sweeps and refits in one call against one after the other."""

import numpy as np
import pytest

from hardbayes.executors.features.protocol import Allocation
from hardbayes.kernels.features.choosing import EXACT
from hardbayes.kernels.features.layout import new_features, new_workspace
from hardbayes.kernels.features.local_search import local_search
from tests.reference.feature_rows import NumpyFeatureRows


def search(rows, A, Z, max_sweeps, *, is_refitted=False):
    (n, d), k = rows.shape, len(A)
    features = new_features(A, np.zeros(d), n)
    costs, gram, correction = np.empty(n), np.empty((k, k)), np.empty((k, d))
    fits = np.full(max_sweeps, np.nan)
    rows = rows.copy()
    rows.flags.writeable = False
    result = local_search(
        rows, np.zeros(d), 1.0, np.ones(1), features, EXACT, is_refitted, Z, costs, gram,
        correction, fits, new_workspace(features),
    )  # fmt: skip
    return *result, fits, gram, costs


@pytest.mark.parametrize("max_sweeps", [1, 2, 50])
def test_it_alternates_until_no_row_changes(data, max_sweeps):
    rows = data.rows + data.origin
    A, Z = data.A.copy(), data.Z.copy()
    n_sweeps, changed, is_independent, fits, gram, costs = search(rows, A, Z, max_sweeps)
    assert is_independent
    slow = NumpyFeatureRows(rows)
    expected = Allocation(data.A.copy(), data.Z.copy())
    for sweep in range(n_sweeps):
        step = slow.local_search(expected, is_refitted=sweep > 0, max_sweeps=1)
        assert fits[sweep] == pytest.approx(step.sums.fit)
        assert not step.converged or sweep == n_sweeps - 1
    assert step.converged == (changed == 0 and n_sweeps > 1)
    assert step.converged or n_sweeps == max_sweeps
    np.testing.assert_array_equal(Z, expected.membership)
    np.testing.assert_allclose(A, expected.components, atol=1e-9)
    np.testing.assert_allclose(gram, step.sums.gram)
    np.testing.assert_allclose(costs, step.sums.costs)


def test_it_ends_where_columns_are_dependent():
    rows = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    A, Z = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]), np.zeros((6, 3), np.uint8)
    n_sweeps, changed, is_independent, *_ = search(rows, A.copy(), Z, 10)
    assert (n_sweeps, changed, is_independent) == (1, 6, False)
    np.testing.assert_array_equal(Z, np.repeat(np.eye(3)[:2], 3, axis=0))
