"""Seeds against the same draws in NumPy."""

import numpy as np
import pytest

from hardbayes.features.compiled.layout import draw_seeds


def seeds(rows, n_given=0, penalty=0.0, negligible=0.0, most=3):
    n, d = rows.shape
    rows = rows.copy()
    rows.flags.writeable = False
    components, membership = np.zeros((most + 1, d)), np.zeros((n, most), np.uint8)
    components[:n_given] = rows.mean(axis=0)
    membership[:, :n_given] = 1
    costs = np.empty(n)
    draws = np.random.default_rng(0).random(most)
    k = draw_seeds(
        rows, np.ones(1), np.zeros((1, d)), n_given, penalty, negligible, draws, components,
        membership, costs, np.empty(most + 1, np.int64),
    )  # fmt: skip
    return k, components[:k], membership[:, :k], costs, draws


@pytest.mark.parametrize("n_given", [0, 1])
def test_residuals_are_drawn_by_their_squares(n_given):
    rows = np.random.default_rng(1).standard_normal((12, 3)) + 1.0
    k, components, membership, costs, draws = seeds(rows, n_given)
    assert k == 3
    for at in range(n_given, k):
        left = rows - membership[:, :at] @ components[:at]
        cumulative = np.cumsum((left**2).sum(axis=1))
        drawn = np.searchsorted(cumulative, draws[at] * cumulative[-1], side="right")
        np.testing.assert_allclose(components[at], left[drawn])
        helped = 2.0 * left @ components[at] > components[at] @ components[at]
        np.testing.assert_array_equal(membership[:, at], helped)
    np.testing.assert_allclose(costs, ((rows - membership @ components) ** 2).sum(axis=1))


def test_a_feature_that_gains_less_than_the_penalty_is_not_added():
    rows = np.eye(4)
    assert seeds(rows, penalty=0.9, most=4)[0] == 4
    assert seeds(rows, penalty=1.1, most=4)[0] == 0


def test_rows_that_are_explained_draw_no_more():
    k, components, *_ = seeds(np.array([[2.0, 1.0]] * 5))
    assert k == 1
    np.testing.assert_array_equal(components, [[2.0, 1.0]])
    assert seeds(np.full((5, 2), 1e-3), negligible=1e-5)[0] == 0
