"""The largest gain over a table of subsets, and where it is."""

import numpy as np
import pytest

from hardbayes.core.compiling import kernel
from hardbayes.features.compiled.simd import best_lane, most_gained


@kernel
def call(subsets, products, high):
    return most_gained(subsets, products, high), best_lane(subsets, products, high)


LOW_BITS = (np.arange(16)[:, np.newaxis] >> np.arange(4)) & 1


@pytest.mark.parametrize("n_rows", [1, 2, 8])
def test_the_largest_gain_and_its_lane(n_rows):
    rng = np.random.default_rng(n_rows)
    for _ in range(20):
        subsets, high = rng.random((n_rows, 16)), rng.standard_normal(n_rows)
        products = rng.standard_normal(6)
        gains = high[:, np.newaxis] + LOW_BITS @ products[:4] - subsets
        most, lane = call(subsets, products, high)
        assert most == pytest.approx(gains.max())
        assert lane == gains.max(axis=0).argmax()


def test_subsets_that_do_not_exist_are_never_best():
    subsets = np.full((1, 16), np.inf)
    subsets[0, :2] = [3.0, 5.0]
    most, lane = call(subsets, np.array([1.0, 9.0, 9.0, 9.0]), np.zeros(1))
    assert (most, lane) == (-3.0, 0)


def test_the_first_of_equals_and_a_lane_even_for_nan():
    zeros = np.zeros((2, 16))
    assert call(zeros, np.zeros(4), np.zeros(2)) == (0.0, 0)
    assert 0 <= call(zeros, np.full(4, np.nan), np.zeros(2))[1] < 16
