"""Hulls of distribution functions."""

import numpy as np
import pytest
from numba import njit

from hardbayes.core import dip as kernels

hull = njit(lambda x, f, side, low, high, vertices: kernels.hull(x, f, side, low, high, vertices))


@pytest.mark.parametrize("side", [0, 1])
def test_a_hull_touches_the_jumps_from_its_side(side):
    rng = np.random.default_rng(0)
    x, f = np.sort(rng.normal(size=30)), np.r_[0.0, np.cumsum(rng.uniform(size=30))]
    f /= f[-1]
    vertices = np.empty((2, 30), np.int64)
    n = hull(x, f, side, 0, 29, vertices)
    found = vertices[side, :n]
    assert found[0] == 0 and found[-1] == 29 and (np.diff(found) > 0).all()
    heights = f[side : 30 + side]
    lines = np.interp(x, x[found], heights[found])
    sign = -1.0 if side else 1.0
    assert (sign * (heights - lines) >= -1e-12).all()
    slopes = np.diff(heights[found]) / np.diff(x[found])
    assert (sign * np.diff(slopes) > 0).all()


def test_two_equal_halves_far_apart_have_the_largest_dip():
    x = np.r_[np.linspace(0.0, 0.01, 50), np.linspace(9.0, 9.01, 50)]
    found = kernels.dip_of_distribution(x, np.arange(101) / 100, np.empty((2, 100), np.int64))
    np.testing.assert_allclose(found, 0.25, atol=0.01)
