"""One sweep by each rule against all subsets, and the sums it leaves."""

from itertools import product

import numpy as np
import pytest

from hardbayes.kernels.features.allocating import allocate
from hardbayes.kernels.features.choosing import EXACT, FLIP, FLIP_PAIRS, KEEP
from hardbayes.kernels.features.layout import lay_out, new_features, new_workspace

RULES = {"keep": KEEP, "flip": FLIP, "pairs": FLIP_PAIRS, "exact": EXACT}


def sweep(data, rule, n_rows=10**6):
    features = new_features(data.A, data.origin[0], n_rows)
    workspace = new_workspace(features)
    lay_out(features, workspace)
    Z, costs = data.Z.copy(), np.empty(data.n)
    gram, correction = np.zeros((data.k, data.k)), np.zeros((data.k, data.d))
    values = 2.0 * data.rows + 1.0
    values.flags.writeable = False
    fit, changed = allocate(
        values, np.ones(data.d), 0.5, data.weights, features, rule, Z, costs, gram, correction,
        workspace,
    )  # fmt: skip
    return Z, costs, gram, correction, fit, changed


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
