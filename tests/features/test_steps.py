"""Steps: a sweep and a refit, in three ways."""

import numpy as np
import pytest

from hardbayes.features.descent import collapsed_step, local_search_step, published_step
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation
from tests.reference.feature_rows import NumpyFeatureRows
from tests.reference.features import feature_objective, least_squares, literal_bp_means

STEPS = [published_step, collapsed_step, local_search_step]


def make(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((15, 2)) < 0.5) @ rng.standard_normal((2, 3)) * 2
    X += 0.3 * rng.standard_normal(X.shape)
    start = Allocation(rng.standard_normal((2, 3)), (rng.random((15, 2)) < 0.5).astype(np.uint8))
    return NumpyFeatureRows(X), start


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("seed", range(4))
def test_steps_lower_the_objective_until_they_converge(step, seed):
    rows, allocation = make(seed)
    structure, is_refitted, history = FeatureAllocation(0.8, 4), False, []
    for _ in range(60):
        found = step(rows, structure, allocation, is_refitted, 1)
        history += [structure.total(*point) for point in found.points]
        allocation, is_refitted = found.allocation, True
        if found.converged:
            break
    assert found.converged
    assert (np.diff(history) <= 1e-9).all()
    assert history[-1] == pytest.approx(feature_objective(rows.X, allocation.membership, 0.8))
    expected = least_squares(rows.X, allocation.membership)[0]
    np.testing.assert_allclose(allocation.components, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_published_step_is_the_literal_one(seed):
    rows, start = make(seed)
    Z, A, _ = literal_bp_means(rows.X, *start, 0.8, 4, max_sweeps=1)
    found = published_step(rows, FeatureAllocation(0.8, 4), start.copy(), False, 1)
    np.testing.assert_array_equal(found.allocation.membership, Z)
    np.testing.assert_allclose(found.allocation.components, A, atol=1e-9)


def test_dependent_columns_are_dropped_after_a_step():
    X = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    A, Z = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]), np.zeros((6, 3), np.uint8)
    for step in (published_step, local_search_step):
        found = step(
            NumpyFeatureRows(X), FeatureAllocation(1.0, 3), Allocation(A, Z.copy()), False, 1
        )
        assert found.allocation.components.shape == (2, 2)
        assert found.points[-1].n_components == 2
        assert not found.converged


@pytest.mark.parametrize("step", [published_step, local_search_step])
def test_a_sweep_that_changes_nothing_converges_only_at_least_squares(step):
    X = np.array([[1.0, 0.1], [1.0, -0.1], [0.0, 0.0]])
    start = Allocation(np.array([[1.2, 0.0]]), np.array([[1], [1], [0]], np.uint8))
    rows, structure = NumpyFeatureRows(X), FeatureAllocation(1.0, 1)
    first = step(rows, structure, start, False, 1)
    assert first.sums.changed == 0 and not first.converged
    np.testing.assert_allclose(first.allocation.components, [[1.0, 0.0]], atol=1e-15)
    assert step(rows, structure, first.allocation, True, 1).converged


@pytest.mark.parametrize(("penalty", "closes"), [(4.9, False), (5.1, True)])
def test_the_only_row_of_a_feature_leaves_it_for_what_that_frees(penalty, closes):
    X = np.array([[0.0, 0.0], [3.0, 0.0]])
    start = Allocation(np.array([[1.0, 0.0]]), np.array([[0], [1]], np.uint8))  # saves 9 - 4
    found = published_step(NumpyFeatureRows(X), FeatureAllocation(penalty, 1), start, False, 1)
    assert len(found.allocation.components) == (not closes)
    assert found.points[-1].fit == (9.0 if closes else 4.0)
