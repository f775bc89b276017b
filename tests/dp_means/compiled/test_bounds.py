"""How bounds round: never to the wrong side."""

import numpy as np
import pytest

from hardbayes.dp_means.bounds import DistanceBounds, no_bounds
from hardbayes.dp_means.compiled.centres import above, carries, cost_slack, from_above, from_below
from tests.core.alone import alone
from tests.dp_means.table_cases import new_table, random_centres

COSTS = [0.0, 1e-300, 1e-30, 3e-7, 0.1, 1.0, 1.0 + 2.0**-40, 12345.678, 1e30]


@pytest.mark.parametrize("value", COSTS)
def test_rounding_up(value):
    found = alone(above)(value)
    assert np.float32(found) == found  # no more digits than float32 has
    assert value <= found <= value * (1 + 3e-6) + 2e-37


@pytest.mark.parametrize("cost", COSTS)
def test_an_upper_bound_is_above_and_a_lower_one_below(cost):
    root = np.sqrt(cost)
    assert root <= alone(from_above)(cost, 0.0, True) <= root * (1 + 3e-6) + 2e-37
    assert root * (1 - 3e-6) - 2e-37 <= alone(from_below)(cost, True) <= root
    assert cost + 0.5 <= alone(from_above)(cost, 0.5, False) <= (cost + 0.5) * (1 + 3e-6)
    assert cost * (1 - 3e-6) - 2e-37 <= alone(from_below)(cost, False) <= cost
    assert -cost * (1 + 3e-6) - 2e-37 <= alone(from_below)(-cost, False) <= -cost


def test_costs_below_zero_are_rounding():
    assert alone(from_above)(-1.0, 0.0, True) <= 1e-36 and alone(from_below)(-1.0, True) <= 0.0
    assert alone(from_above)(-1.0, 0.25, False) <= 1e-36


def test_nothing_is_known_below_minus_infinity():
    assert alone(from_below)(-np.inf, False) == -np.inf


def test_no_other_centre_is_infinitely_far_by_distance():
    assert alone(from_below)(np.inf, True) == np.inf


def test_no_other_centre_is_infinitely_far_by_cost():
    assert alone(from_below)(np.inf, False) == np.inf


def test_rounding_of_affine_costs():
    table = new_table(random_centres(20, 3), "poisson", anchor=np.ones(3))
    view = table.view()
    bounds = no_bounds(table.layout, view)._replace(precision=1e-10, farthest=2.0)
    size = (3.0 + 2.0) * view.theta_bound + view.offset_bound
    assert alone(cost_slack)(-7.0, 3.0, view, bounds) == pytest.approx(1e-10 * (7.0 + size))
    squares = new_table(random_centres(20, 3)).view()
    assert alone(cost_slack)(-7.0, 3.0, squares, bounds) == 0.0


def test_whether_there_are_bounds():
    table = new_table(random_centres(20, 3), dtype=np.float32)
    view = table.view()
    assert not alone(carries)(no_bounds(table.layout, view))
    assert alone(carries)(DistanceBounds(5, table.layout, view, lambda: None).view(view.n_blocks))
