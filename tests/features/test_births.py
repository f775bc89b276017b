"""New features: grown from residuals, or opened at single rows as published."""

import numpy as np
import pytest

from hardbayes.features.moves import open_at_rows, open_feature
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation
from tests.features.conftest import make_case
from tests.reference.feature_rows import NumpyFeatureRows


def test_a_grown_feature_has_an_exact_gain(case):
    def propose(penalty):
        structure, rng = FeatureAllocation(penalty, 9), np.random.RandomState(0)
        return open_feature(case.rows, structure, case.optimum, rng)

    proposal = propose(0.1)
    case.assert_exact(proposal, 0.1)
    assert len(proposal.allocation.components) == 4
    gain = 0.1 - proposal.change
    assert propose(0.99 * gain) is not None
    assert propose(1.01 * gain) is None


def test_a_cap_or_nothing_left_prevents_a_new_feature(case):
    rng = np.random.RandomState(0)
    assert open_feature(case.rows, FeatureAllocation(0.0, 3), case.optimum, rng) is None
    explained = make_case(np.eye(3), np.eye(3))
    assert open_feature(explained.rows, FeatureAllocation(0.0, 9), explained.optimum, rng) is None


def test_a_column_in_the_span_of_others_is_not_opened():
    # The residuals of rows 2 and 3 grow a feature that exactly those rows have already.
    class Rows(NumpyFeatureRows):
        def grow_feature(self, allocation, costs, rng):
            left = self.X - allocation.membership @ allocation.components
            rows = allocation.membership[:, 0].copy()
            return self._new_feature(left, left[2])._replace(rows=rows, weight=float(rows.sum()))

    case = make_case(np.random.default_rng(0).standard_normal((4, 2)), np.eye(2)[[1, 1, 0, 0]])
    structure = FeatureAllocation(0.0, 9)
    assert open_feature(Rows(case.rows.X), structure, case.optimum, None) is None


def opened(X, penalty, cap=9, start=None):
    rows = NumpyFeatureRows(X)
    start = (
        Allocation(np.empty((0, 2)), np.empty((len(X), 0), np.uint8)) if start is None else start
    )
    costs = rows.collect(start).costs
    return open_at_rows(rows, FeatureAllocation(penalty, cap), start, costs)


def test_rows_open_features_in_order_and_later_rows_have_them():
    X = np.array([[0.1, 0.0], [4.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.1]])
    found = opened(X, 1.0)
    np.testing.assert_array_equal(found.components, X[[1, 2]])
    np.testing.assert_array_equal(found.membership, [[0, 0], [1, 0], [0, 1], [1, 1], [1, 0]])


def test_rows_before_an_opening_do_not_have_it():
    X = np.array([[0.6, 0.0], [1.1, 0.0]])
    np.testing.assert_array_equal(opened(X, 1.0).membership, [[0], [1]])


@pytest.mark.parametrize(("cap", "count"), [(1, 1), (2, 2), (9, 3)])
def test_the_cap_bounds_openings(cap, count):
    X = np.array([[5.0, 0.0], [0.0, 5.0], [-5.0, -5.0]])
    assert len(opened(X, 1.0, cap).components) == count


def test_none_where_no_row_is_above_the_opening_cost():
    assert opened(np.full((4, 2), 0.5), 1.0) is None
    assert opened(np.full((4, 2), 1e-11), 0.0) is None
