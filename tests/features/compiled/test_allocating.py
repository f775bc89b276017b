"""One sweep by each rule against all subsets; sweeps and refits against one after the other."""

from itertools import product

import numpy as np
import pytest

from hardbayes.features.compiled.allocating import EXACT, FLIP, FLIP_PAIRS, KEEP, allocate
from hardbayes.features.compiled.layout import new_features, new_workspace
from hardbayes.features.rows import Allocation
from tests.reference.feature_rows import NumpyFeatureRows

RULES = {"keep": KEEP, "flip": FLIP, "pairs": FLIP_PAIRS, "exact": EXACT}


def sweep(data, rule, n_rows=10**6):
    features = new_features(data.A, data.origin[0], n_rows)
    workspace = new_workspace(features)
    Z, costs, fits = data.Z.copy(), np.empty(data.n), np.empty(1)
    gram, correction = np.zeros((data.k, data.k)), np.zeros((data.k, data.d))
    values = 2.0 * data.rows + 1.0
    values.flags.writeable = False
    # A search without rows lays out the features, then comes a sweep of all.
    for part, is_search in ((slice(0, 0), True), (slice(None), False)):
        n_sweeps, changed, is_independent = allocate(
            values[part], np.ones(data.d), 0.5, data.weights[part], features, rule, is_search, True,
            Z[part], costs[part], gram, correction, fits, workspace,
        )  # fmt: skip
        assert n_sweeps == 1 and is_independent
        assert not is_search or (changed == 0 and not gram.any() and fits[0] == 0.0)
    return Z, costs, gram, correction, fits[0], changed


@pytest.mark.parametrize("n_rows", [1, 10**6], ids=["no table of sums", "table of sums"])
@pytest.mark.parametrize("rule", RULES)
def test_sums_follow_from_the_memberships(data, rule, n_rows):
    Z, costs, gram, correction, fit, changed = sweep(data, RULES[rule], n_rows)
    left = data.rows - (Z @ data.A - data.origin)
    np.testing.assert_allclose(costs, (left**2).sum(axis=1))
    np.testing.assert_allclose(gram, (Z.T * data.weights) @ Z)
    np.testing.assert_allclose(correction, (Z.T * data.weights) @ left, atol=1e-9)
    assert fit == pytest.approx(data.weights @ costs)
    assert changed == (Z != data.Z).any(axis=1).sum()


def test_no_row_changes_by_the_rule_keep(data):
    np.testing.assert_array_equal(sweep(data, KEEP)[0], data.Z)


@pytest.mark.parametrize("n_rows", [1, 10**6], ids=["no table of sums", "table of sums"])
def test_the_best_of_all_subsets(data, n_rows):
    subsets = np.array(list(product([0, 1], repeat=data.k)))
    explained = subsets @ data.A - data.origin
    costs = ((data.rows[:, np.newaxis] - explained) ** 2).sum(axis=2)
    Z, found, *_ = sweep(data, EXACT, n_rows)
    np.testing.assert_allclose(found, costs.min(axis=1))
    np.testing.assert_array_equal(Z, subsets[costs.argmin(axis=1)])


def test_single_flips_in_order(data):
    left, Z = data.residuals.copy(), data.Z.copy()
    for a, component in enumerate(data.A):
        sign = 1.0 - 2.0 * Z[:, a]
        flips = 2.0 * sign * (left @ component) > component @ component
        left -= np.outer(flips * sign, component)
        Z[flips, a] ^= 1
    np.testing.assert_array_equal(sweep(data, FLIP)[0], Z)


def search(rows, A, Z, max_sweeps, *, is_refitted=False):
    (n, d), k = rows.shape, len(A)
    features = new_features(A, np.zeros(d), n)
    costs, gram, correction = np.empty(n), np.empty((k, k)), np.empty((k, d))
    fits = np.full(max_sweeps, np.nan)
    rows = rows.copy()
    rows.flags.writeable = False
    result = allocate(
        rows, np.zeros(d), 1.0, np.ones(1), features, EXACT, True, is_refitted, Z, costs, gram,
        correction, fits, new_workspace(features),
    )  # fmt: skip
    return *result, fits, gram, costs


@pytest.mark.parametrize("max_sweeps", [1, 2, 50])
def test_a_search_alternates_until_no_row_changes(data, max_sweeps):
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


def test_a_search_ends_where_columns_are_dependent():
    rows = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    A, Z = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]), np.zeros((6, 3), np.uint8)
    n_sweeps, changed, is_independent, *_ = search(rows, A.copy(), Z, 10)
    assert (n_sweeps, changed, is_independent) == (1, 6, False)
    np.testing.assert_array_equal(Z, np.repeat(np.eye(3)[:2], 3, axis=0))
