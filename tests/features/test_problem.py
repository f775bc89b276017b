"""From a matrix to rows in working coordinates."""

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.features.problem import MAX_COMPONENTS, pose_features
from hardbayes.features.rows import Allocation


@pytest.fixture
def pool():
    with Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 5.0, 0.0, 2.0])])
def test_units_are_those_of_the_user(offset, weights, pool):
    X = np.random.default_rng(0).integers(-40, 40, (4, 3)) + offset
    problem = pose_features(X, weights, pool)
    n, d, working, *_ = problem.rows.describe()
    assert (n, d) == X.shape
    assert working.max() <= 1.0
    A = np.array([X[0]]) * problem.frame.scale
    sums = problem.rows.collect(Allocation(A, np.ones((4, 1), np.uint8)))
    costs = ((X - X[0]) ** 2).sum(axis=1)
    expected = np.broadcast_to(1.0 if weights is None else weights, 4) @ costs
    assert sums.fit / problem.unit == pytest.approx(expected)
    np.testing.assert_allclose(problem.components_to_user(A), X[:1])


def test_the_cap_is_at_most_the_number_of_rows(pool):
    few, many = (pose_features(np.eye(n), None, pool) for n in (3, 100))
    assert (few.cap(None), few.cap(2)) == (3, 2)
    assert (many.cap(None), many.cap(80)) == (MAX_COMPONENTS, 80)


def test_a_penalty_that_vanishes_is_refused(pool):
    problem = pose_features(np.eye(3) * 1e12, None, pool)
    problem.check_penalty(1.0)
    with pytest.raises(ValueError, match="component_penalty"):
        problem.check_penalty(1e-300)
