"""Rows that cost more than a cluster, or than the rows that it was fitted to."""

from types import SimpleNamespace

import numpy as np
import pytest

from hardbayes.core.fitted import Assigned, CostAssignment, costs_at_share, measure_cost_quantiles

LABELS = np.repeat(np.arange(2, dtype=np.int32), 500)
COSTS = np.tile(np.arange(500.0), 2) * (1 + LABELS)
SPREAD = measure_cost_quantiles(COSTS, LABELS, 2, np.ones(1))


class Assignment(CostAssignment):
    assigned = None

    def __init__(self, penalty, rounding):
        self.model = SimpleNamespace(penalty=penalty, cost_quantiles=SPREAD)
        self.assigned = Assigned(LABELS, COSTS, rounding)


@pytest.mark.parametrize("rounding", [0.0, 300.0, np.where(LABELS, 900.0, 0.0)])
def test_rows_above_the_penalty_and_above_rounding(rounding):
    expected = (COSTS > 200.0) & (rounding < COSTS)
    np.testing.assert_array_equal(Assignment(200.0, rounding).novel(), expected)


@pytest.mark.parametrize("share", [0.01, 0.2])
def test_outliers_are_the_share_of_each_cluster(share):
    found = Assignment(200.0, 0.0).outliers(share)
    np.testing.assert_array_equal(found, costs_at_share(SPREAD, share)[LABELS] < COSTS)
    np.testing.assert_allclose(np.bincount(LABELS, found) / 500, share, atol=0.003)
    assert not Assignment(200.0, 1e6).outliers(share).any()
