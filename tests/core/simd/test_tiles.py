"""Rows in lanes: reading and scoring of tiles, against NumPy."""

import numpy as np
import pytest
from numba import njit

from hardbayes.core.arrays import lanes_of
from hardbayes.core.compiling import OPTIONS
from hardbayes.core.simd import scores as tiles
from hardbayes.core.simd.vectors import QUAD
from tests.core.simd.test_dense import table

TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@njit(**OPTIONS)
def read_tile(values, first, n_rows, shift, scale, x, squares):
    tiles.read_tile(values, first, n_rows, shift, scale, x, squares)


@njit(**OPTIONS)
def score_tile(x, theta, n_slots, offset, least, second, place):
    tiles.score_tile(x, theta, n_slots, offset, least, second, place)


@TYPES
@pytest.mark.parametrize("raw", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 8, 16, 37])
@pytest.mark.parametrize("missing", [0, 5])
def test_columns_of_a_tile_are_the_rows(missing, d, raw, dtype):
    """The last row stands in the lanes that are left over."""
    lanes = lanes_of(np.dtype(dtype).itemsize)
    rng = np.random.default_rng(d)
    values = rng.normal(size=(lanes + 3, d)).astype(raw)
    shift, scale = rng.normal(size=d), rng.uniform(0.5, 2.0, lanes)
    x, squares = np.empty((d, lanes), dtype), np.empty(lanes, dtype)
    read_tile(values, 2, lanes - missing, shift, scale, x, squares)
    rows = 2 + np.minimum(np.arange(lanes), lanes - missing - 1)
    expected = ((values[rows].astype(float) - shift) * scale[:, np.newaxis]).astype(dtype)
    np.testing.assert_array_equal(x, expected.T)
    np.testing.assert_allclose(squares, np.square(expected).sum(axis=1), rtol=1e-5)


@TYPES
@pytest.mark.parametrize("n_slots", [1, 4, 18, 40])
@pytest.mark.parametrize("d", [1, 6])
def test_least_second_and_place_of_each_lane(d, n_slots, dtype):
    theta, flat, offset = table(5, d, dtype)
    slots = min(-(-n_slots // QUAD) * QUAD, len(offset))
    offset[n_slots:] = np.inf  # free slots
    offset = offset.astype(dtype)
    lanes = theta.shape[2]
    x = np.random.default_rng(1).normal(size=(d, lanes)).astype(dtype)
    least, second, place = np.empty(lanes, dtype), np.empty(lanes, dtype), np.empty(lanes, "i4")
    score_tile(x, theta, n_slots, offset, least, second, place)
    scores = offset[:slots].astype(float) - x.T.astype(float) @ flat[:slots].astype(float).T
    np.testing.assert_array_equal(place, scores.argmin(axis=1))
    ranked = np.sort(scores, axis=1)
    np.testing.assert_allclose(least, ranked[:, 0], atol=20 * d * np.finfo(dtype).eps)
    np.testing.assert_allclose(second, ranked[:, 1], atol=20 * d * np.finfo(dtype).eps)
