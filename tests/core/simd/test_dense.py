"""Scores of four dense rows at a time, and the reading of rows, against NumPy."""

import numpy as np
import pytest
from numba import njit

from hardbayes.core.arrays import lanes_of
from hardbayes.core.compiling import OPTIONS
from hardbayes.core.simd import scores as dense

TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@njit(**OPTIONS)
def score_quad(x, members, first, theta, block, n_blocks, offset, smallest, second, place, cell):
    dense.score_quad(
        x, members, first, theta, block, n_blocks, offset, smallest, second, place, cell
    )


@njit(**OPTIONS)
def read_lanes(values, row, shift, scale, x, place):
    return dense.read_lanes(values, row, shift, scale, x, place)


def table(blocks, d, dtype, seed=0):
    """Theta (blocks, d, lanes), the same as (slots, d), and offsets (slots,)."""
    rng = np.random.default_rng(seed)
    lanes = lanes_of(np.dtype(dtype).itemsize)
    theta = rng.normal(size=(blocks, d, lanes)).astype(dtype)
    return theta, theta.transpose(0, 2, 1).reshape(-1, d), rng.normal(size=blocks * lanes)


def outputs(n, cells, dtype):
    return (
        np.full((n, cells), 7, dtype),
        np.full((n, cells), 7, dtype),
        np.full((n, cells), -1, "i4"),
    )


@TYPES
@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("d", [1, 2, 17])
def test_smallest_second_and_place_of_four_rows(d, n_blocks, dtype):
    theta, flat, offset = table(5, d, dtype)
    offset = offset.astype(dtype)
    x = np.random.default_rng(1).normal(size=(6, d)).astype(dtype)
    members = np.array([9, 5, 0, 2, 4])
    smallest, second, place = outputs(6, 2, dtype)
    score_quad(x, members, 1, theta, 2, n_blocks, offset, smallest, second, place, 1)
    lanes = theta.shape[2]
    slots = slice(2 * lanes, (2 + n_blocks) * lanes)
    scores = offset[slots].astype(float) - x.astype(float) @ flat[slots].astype(float).T
    for row in members[1:]:
        order = np.argsort(scores[row])
        assert place[row, 1] == order[0]
        tolerance = 20 * d * np.finfo(dtype).eps
        np.testing.assert_allclose(smallest[row, 1], scores[row, order[0]], atol=tolerance)
        np.testing.assert_allclose(second[row, 1], scores[row, order[1]], atol=tolerance)
    assert (place[[1, 3]] == -1).all() and (place[:, 0] == -1).all()


@TYPES
def test_equal_scores_are_both_kept_and_the_first_is_named(dtype):
    """In one block, and in the same lane of two blocks."""
    lanes = lanes_of(np.dtype(dtype).itemsize)
    theta, x = np.zeros((2, 1, lanes), dtype), np.ones((4, 1), dtype)
    for equal in ((1, 3), (2, 2 + lanes), (3, 2 + lanes)):
        offset = np.full(2 * lanes, 5, dtype)
        offset[list(equal)] = 1
        smallest, second, place = outputs(4, 1, dtype)
        score_quad(x, np.arange(4), 0, theta, 0, 2, offset, smallest, second, place, 0)
        np.testing.assert_array_equal(smallest, 1)
        np.testing.assert_array_equal(second, 1)
        assert set(place.ravel()) <= set(equal)
        if equal[1] - equal[0] in (2, lanes):  # in one block or one lane, the first of them
            np.testing.assert_array_equal(place, equal[0])


@TYPES
def test_empty_slots_have_infinite_scores(dtype):
    lanes = lanes_of(np.dtype(dtype).itemsize)
    offset = np.full(lanes, np.inf, dtype)
    offset[5] = -2
    smallest, second, place = outputs(4, 1, dtype)
    score_quad(
        np.ones((4, 3), dtype), np.arange(4), 0, np.zeros((1, 3, lanes), dtype), 0, 1, offset,
        smallest, second, place, 0,
    )  # fmt: skip
    assert (smallest == -2).all() and (second == np.inf).all() and (place == 5).all()


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("target", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 8, 16, 19, 40])
def test_rows_are_read_into_working_coordinates(d, target, source):
    rng = np.random.default_rng(d)
    values, shift = rng.normal(size=(3, d)).astype(source), rng.normal(size=d)
    x = np.zeros((2, d), target)
    squares = read_lanes(values, 2, shift, 0.125, x, 1)
    expected = ((values[2].astype(np.float64) - shift) * 0.125).astype(target)
    np.testing.assert_array_equal(x[1], expected)
    assert not x[0].any()
    exact = (expected.astype(np.float64) ** 2).sum()
    np.testing.assert_allclose(squares, exact, rtol=20 * np.finfo(target).eps)
