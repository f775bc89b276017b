"""A descent applies what moves propose, if the objective falls."""

import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.features.descent import FeatureDescent, local_search_step
from hardbayes.features.moves import Proposal
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation
from tests.reference.feature_rows import NumpyFeatureRows
from tests.reference.features import feature_objective

TRUTH = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 3, np.uint8)
X = TRUTH @ np.array([[3.0, 0.0, 1.0], [0.0, 2.0, -1.0]])
X += 0.1 * np.random.default_rng(0).standard_normal(X.shape)


def run(move, max_sweeps=50, start=None):
    rows, structure = NumpyFeatureRows(X), FeatureAllocation(1.0, 5)
    descent = FeatureDescent(rows, structure, local_search_step, [move], np.random.RandomState(0))
    start = Allocation(X[:1].copy(), TRUTH[:, :1]) if start is None else start
    return descent, descent.run(start, max_sweeps)


def once(proposal):
    """A move that proposes once."""
    left = [proposal]
    return lambda *_: left.pop() if left else None


def objective(solution):
    return feature_objective(X, solution.allocation.membership, 1.0)


def test_a_better_proposal_is_applied():
    better = Proposal(-1.0, Allocation(np.zeros((2, 3)), TRUTH.copy()))
    before, after = run(lambda *_: None)[1], run(once(better))[1]
    assert after.status is Status.CONVERGED
    np.testing.assert_array_equal(after.allocation.membership, TRUTH)
    assert objective(after) < objective(before)
    assert after.trace[-1].fit + 2.0 == pytest.approx(objective(after))
    assert after.gram == pytest.approx(TRUTH.T.astype(float) @ TRUTH)


def test_a_proposal_that_only_seems_better_changes_nothing():
    _, before = run(lambda *_: None)
    worse = Proposal(-1.0, Allocation(np.zeros((0, 3)), np.empty((12, 0), np.uint8)))
    descent, after = run(once(worse))
    assert after.trace == before.trace
    np.testing.assert_array_equal(after.allocation.membership, before.allocation.membership)
    np.testing.assert_array_equal(after.allocation.components, before.allocation.components)
    assert not descent.apply(worse)


def test_moves_get_the_present_optimum():
    seen = []

    def move(rows, structure, optimum, rng):
        seen.append(optimum)
        assert isinstance(rng, np.random.RandomState)

    _, solution = run(move)
    (optimum,) = seen
    assert optimum.sums.fit == solution.fit
    np.testing.assert_allclose(optimum.inverse @ solution.gram, np.eye(1), atol=1e-12)


def test_a_proposal_without_sweeps_left_means_not_converged():
    better = Proposal(-1.0, Allocation(np.zeros((2, 3)), TRUTH.copy()))
    sweeps = len(run(lambda *_: None)[1].trace)
    solution = run(once(better), max_sweeps=sweeps)[1]
    assert solution.status is Status.OUT_OF_STEPS
    assert solution.n_components == 1
    assert len(solution.trace) == sweeps


def test_features_that_no_row_has_are_dropped_where_sweeps_run_out():
    start = Allocation(np.array([[3.0, 0.0, 1.0], [1e3, 1e3, 1e3]]), np.ones((12, 2), np.uint8))
    solution = run(lambda *_: None, max_sweeps=1, start=start)[1]
    assert solution.status is Status.OUT_OF_STEPS
    assert solution.allocation.membership.any(axis=0).all()
    assert solution.gram.shape == (solution.n_components,) * 2


def test_the_start_is_left_alone():
    start = Allocation(X[:1].copy(), TRUTH[:, :1].copy())
    before = start.copy()
    run(lambda *_: None, start=start)
    np.testing.assert_array_equal(start.components, before.components)
    np.testing.assert_array_equal(start.membership, before.membership)
