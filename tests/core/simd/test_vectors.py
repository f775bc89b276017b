"""Direct costs, split sums and sums of squares against NumPy."""

from fractions import Fraction

import numpy as np
import pytest
from numba import njit

from hardbayes.core.arrays import lanes_of
from hardbayes.core.compiling import OPTIONS
from hardbayes.core.simd import vectors

WIDTHS = [1, 7, 8, 9, 16, 31, 128]
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@njit(**OPTIONS)
def squared_distance(values, row, shift, scale, points, k):
    return vectors.squared_distance(values, row, shift, scale, points, k)


@njit(**OPTIONS)
def inner_product(values, row, shift, scale, points, k):
    return vectors.inner_product(values, row, shift, scale, points, k)


@njit(**OPTIONS)
def add_split(
    values, row, shift, scale, weight, sign, coarse, fine, k, rounder, fine_rounder, first, last
):
    vectors.add_split(
        values, row, shift, scale, weight, sign, coarse, fine, k, rounder, fine_rounder, first, last
    )


@njit(**OPTIONS)
def sum_of_squares(x, first, last):
    return vectors.sum_of_squares(x, first, last)


@njit(**OPTIONS)
def sum_of_scaled_squares(x, first, last, scale):
    return vectors.sum_of_scaled_squares(x, first, last, scale)


def rows(d, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, d)).astype(dtype), rng.normal(size=d), rng.normal(size=(4, d))


def test_a_block_fills_a_cache_line():
    assert lanes_of(4) == 16 and lanes_of(8) == 8


@TYPES
@pytest.mark.parametrize("d", WIDTHS)
def test_direct_sums_have_the_bits_of_numpy(d, dtype):
    """In float64, without fused operations, for any width up to 128."""
    values, shift, points = rows(d, dtype)
    working = (values[2].astype(np.float64) - shift) * 0.25
    distance = squared_distance(values, 2, shift, 0.25, points, 3)
    assert distance == ((working - points[3]) ** 2).sum()
    product = inner_product(values, 2, shift, 0.25, points, 3)
    assert product == (working * points[3]).sum()


def test_direct_sums_of_wide_rows():
    values, shift, points = rows(1000, np.float64)
    working = (values[0] - shift) * 2.0
    distance = squared_distance(values, 0, shift, 2.0, points, 1)
    np.testing.assert_allclose(distance, ((working - points[1]) ** 2).sum(), rtol=1e-14)


@TYPES
@pytest.mark.parametrize(("first", "last"), [(0, 19), (3, 19), (0, 8), (5, 6), (4, 4)])
def test_split_sums_are_exact(first, last, dtype):
    """Coarse and fine parts are multiples of two units; what was added can be taken away."""
    values, shift, _ = rows(19, dtype)
    unit, fine_unit = 2.0**-20, 2.0**-60
    rounder, fine_rounder = (np.full(19, 1.5 * 2.0**52 * u) for u in (unit, fine_unit))
    coarse, fine = np.zeros((2, 19)), np.zeros((2, 19))

    def add(row, sign):
        add_split(
            values, row, shift, 0.5, 0.75, sign, coarse, fine, 1, rounder, fine_rounder, first, last
        )

    for row in range(3):
        add(row, 1.0)
    assert not coarse[0].any() and not fine[0].any()
    outside = np.delete(np.arange(19), np.arange(first, last))
    assert not coarse[1, outside].any() and not fine[1, outside].any()
    assert (coarse / unit == np.rint(coarse / unit)).all()
    assert (fine / fine_unit == np.rint(fine / fine_unit)).all()
    terms = (values.astype(np.float64) - shift) * 0.5 * 0.75
    for j in range(first, last):
        exact = sum(map(Fraction, terms[:, j]))
        found = Fraction(coarse[1, j]) + Fraction(fine[1, j])
        assert abs(found - exact) <= 3 * fine_unit / 2
    for row in (1, 0, 2):
        add(row, -1.0)
    assert not coarse.any() and not fine.any()


@TYPES
@pytest.mark.parametrize(("first", "last"), [(0, 40), (3, 40), (0, 15), (7, 8), (9, 9)])
def test_sums_of_squares(first, last, dtype):
    x = np.random.default_rng(0).normal(size=(2, 20)).astype(dtype)
    part = x.ravel()[first:last].astype(np.float64)
    found = sum_of_squares(x, first, last)
    np.testing.assert_allclose(found, (part**2).sum(), rtol=20 * np.finfo(dtype).eps)
    scaled = sum_of_scaled_squares(x, first, last, 1e30)
    np.testing.assert_allclose(scaled, ((1e30 * part) ** 2).sum(), rtol=1e-14)
