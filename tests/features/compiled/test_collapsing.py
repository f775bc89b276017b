"""The collapsed decision against least squares with the row and without."""

from itertools import product

import numpy as np
import pytest

from hardbayes.features.compiled.collapsing import (
    DONE,
    OPENS,
    STANDS_ALONE,
    collapse,
    new_collapsed,
)
from tests.reference.features import least_squares


def make(k, seed, n=12, d=3):
    rng = np.random.default_rng(seed)
    Z = np.vstack([np.eye(k), np.eye(k), rng.random((n - 2 * k, k)) < 0.5]).astype(np.uint8)
    rows = Z @ rng.standard_normal((k, d)) + 0.7 * rng.standard_normal((n, d))
    rows.flags.writeable = False
    return rows, rng.integers(1, 3, n).astype(float), Z


def state_of(rows, weights, Z):
    gram = (Z.T * weights) @ Z
    A = least_squares(rows, Z, weights)[0]
    return new_collapsed(A, np.linalg.inv(gram), np.zeros(rows.shape[1]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 3])
def test_a_row_gets_the_subset_of_least_objective(k, seed):
    rows, weights, Z = make(k, seed)
    row = len(rows) - 1
    state = state_of(rows, weights, Z)
    found = Z.copy()
    why, _, cost, changed = collapse(rows, weights, state, np.inf, 0.0, row, row + 1, found)
    assert why == DONE
    fits = {}
    for bits in product([0, 1], repeat=k):
        trial = Z.copy()
        trial[row] = bits
        fits[bits] = least_squares(rows, trial, weights)[1]
    assert fits[tuple(found[row])] == pytest.approx(min(fits.values()))
    assert changed == (found[row] != Z[row]).any()
    without = least_squares(rows[:row], Z[:row], weights[:row])[1]
    assert cost == pytest.approx(min(fits.values()) - without)
    np.testing.assert_array_equal(found[:row], Z[:row])


@pytest.mark.parametrize("seed", range(3))
def test_components_and_inverse_follow_the_rows(seed):
    rows, weights, Z = make(3, seed)
    state = state_of(rows, weights, Z)
    why, stopped, *_ = collapse(rows, weights, state, np.inf, 0.0, 0, len(rows), Z)
    assert why == DONE and stopped == len(rows)
    expected = state_of(rows, weights, Z)
    np.testing.assert_allclose(state.components, expected.components, atol=1e-9)
    np.testing.assert_allclose(state.inverse, expected.inverse, atol=1e-9)


def test_a_row_above_the_opening_cost_is_removed():
    rows, weights, Z = make(2, 0)
    state, row = state_of(rows, weights, Z), len(rows) - 1
    why, at, cost, _ = collapse(rows, weights, state, 1e-6, 0.0, row, row + 1, Z)
    assert (why, at) == (OPENS, row)
    assert cost > 1e-6
    expected = least_squares(rows[:row], Z[:row], weights[:row])[0]
    np.testing.assert_allclose(state.components, expected, atol=1e-9)


def test_a_row_with_a_feature_of_its_own_ends_the_pass():
    rows, weights, Z = make(2, 0)
    Z = np.column_stack([Z, np.arange(len(rows)) == 7]).astype(np.uint8)
    state = state_of(rows, weights, Z)
    before = state.components.copy()
    why, at, _, _ = collapse(rows, weights, state, np.inf, 0.0, 7, len(rows), Z)
    assert (why, at) == (STANDS_ALONE, 7)
    np.testing.assert_array_equal(state.components, before)


def test_of_many_features_no_single_flip_lowers_the_objective():
    rows, weights, Z = make(9, 1, n=30, d=4)
    state, row = state_of(rows, weights, Z), 29
    collapse(rows, weights, state, np.inf, 0.0, row, row + 1, Z)
    now = least_squares(rows, Z, weights)[1]
    for a in range(9):
        trial = Z.copy()
        trial[row, a] ^= 1
        assert least_squares(rows, trial, weights)[1] >= now * (1 - 1e-9)
