"""The two cheapest centres of rows."""

import numpy as np
import pytest

from hardbayes.dp_means.compiled.sums import two_cheapest


@pytest.mark.parametrize("k", [2, 3, 9])
def test_two_cheapest(k):
    rng = np.random.default_rng(k)
    costs, weights = rng.standard_normal((40, k)), rng.uniform(0.5, 2.0, 40)
    cheapest, second = np.empty(40, np.int64), np.empty(40, np.int64)
    margins, excess = np.empty(40), np.ones((k, k))
    two_cheapest(costs, weights, cheapest, second, margins, excess)
    order = np.argsort(costs, axis=1)
    np.testing.assert_array_equal(cheapest, order[:, 0])
    np.testing.assert_array_equal(second, order[:, 1])
    ranked = np.sort(costs, axis=1)
    np.testing.assert_array_equal(margins, ranked[:, 1] - ranked[:, 0])
    expected = np.ones((k, k))
    for row in range(40):
        expected[cheapest[row]] += weights[row] * (costs[row] - costs[row].min())
    np.testing.assert_allclose(excess, expected)


def test_of_equal_costs_the_first_is_cheapest():
    cheapest, second = np.empty(1, np.int64), np.empty(1, np.int64)
    margins, excess = np.empty(1), np.zeros((3, 3))
    two_cheapest(np.full((1, 3), 2.0), np.ones(1), cheapest, second, margins, excess)
    assert (cheapest[0], second[0], margins[0]) == (0, 1, 0.0)
