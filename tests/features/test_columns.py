"""Drops and combinations of features: their change is exact, and the best there is."""

import numpy as np
import pytest

from hardbayes.features.moves import combine, combine_features, drop_costs, drop_feature
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation, Combination
from tests.features.conftest import make_case


def test_a_drop_costs_what_least_squares_loses(case):
    Z = case.optimum.allocation.membership
    now = case.objective(Z, 0.0)
    costs = drop_costs(case.optimum.inverse, case.optimum.allocation.components)
    for k, cost in enumerate(costs):
        assert case.objective(np.delete(Z, k, axis=1), 0.0) - now == pytest.approx(cost)


def test_the_cheapest_feature_is_dropped_if_the_penalty_is_higher(case):
    costs = drop_costs(case.optimum.inverse, case.optimum.allocation.components)
    penalty = 1.01 * costs.min()
    proposal = drop_feature(case.rows, FeatureAllocation(penalty, 9), case.optimum)
    case.assert_exact(proposal, penalty)
    expected = np.delete(case.start.membership, costs.argmin(), axis=1)
    np.testing.assert_array_equal(proposal.allocation.membership, expected)
    low = FeatureAllocation(0.99 * costs.min(), 9)
    assert drop_feature(case.rows, low, case.optimum) is None


def test_without_features_there_is_none_to_drop():
    case = make_case(np.eye(3), np.empty((3, 0)))
    assert drop_feature(case.rows, FeatureAllocation(9.0, 9), case.optimum) is None
    assert combine_features(case.rows, FeatureAllocation(9.0, 9), case.optimum) is None


def test_the_best_combination_is_proposed(case):
    proposal = combine_features(case.rows, FeatureAllocation(5.0, 9), case.optimum)
    case.assert_exact(proposal, 5.0)
    assert not proposal.allocation.components[-1].any()


def test_no_combination_where_features_are_right():
    Z = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1]], float)
    case = make_case(Z @ np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 1.0]]), Z)
    assert combine_features(case.rows, FeatureAllocation(1e-3, 9), case.optimum) is None


@pytest.mark.parametrize(
    ("factors", "function"),
    [
        ((1, 1, -1), np.logical_or),
        ((1, 1, -2), np.logical_xor),
        ((0, 0, 1), np.logical_and),
        ((1, 0, -1), lambda a, b: a & ~b),
        ((0, 1, -1), lambda a, b: b & ~a),
    ],
)
def test_combinations_are_boolean_functions(factors, function):
    Z = (np.random.default_rng(0).random((9, 3)) < 0.5).astype(np.uint8)
    A = np.arange(6.0).reshape(3, 2)
    found = combine(Allocation(A, Z), Combination(-1.0, [0], (0, 2), factors))
    column = function(Z[:, 0].astype(bool), Z[:, 2].astype(bool))
    np.testing.assert_array_equal(found.membership, np.column_stack([Z[:, 1:], column]))
    np.testing.assert_array_equal(found.components, [*A[1:], [0.0, 0.0]])
