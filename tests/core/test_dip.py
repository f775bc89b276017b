"""The dip test."""

import numpy as np
import pytest

from hardbayes.core.dip import LEVELS, QUANTILES, SIZES, dip, dip_p_value, p_value
from tests.reference.dip import literal_dip


@pytest.mark.parametrize("seed", range(12))
def test_the_dip_is_the_distance_from_the_nearest_unimodal_distribution(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=int(rng.integers(3, 18)))
    values += 3.0 * rng.integers(0, 1 + seed % 3, len(values))
    np.testing.assert_allclose(dip(values, np.ones(len(values))), literal_dip(values), atol=1e-9)


def test_weights_are_repetition():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=40), rng.integers(1, 4, 40)
    repeated = np.repeat(values, weights)
    expected = dip(repeated, np.ones(len(repeated)))
    np.testing.assert_allclose(dip(values, weights.astype(float)), expected, rtol=1e-12)


def test_order_units_and_direction_do_not_matter():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=60), rng.uniform(1, 2, 60)
    order = rng.permutation(60)
    expected = dip(values, weights)
    for other in (values[order], 3.0 - 7.0 * values[order]):
        np.testing.assert_allclose(dip(other, weights[order]), expected, rtol=1e-9)


def test_one_place_has_no_dip():
    assert dip(np.full(9, 2.0), np.ones(9)) == 0.0
    assert dip_p_value(np.full(9, 2.0), np.ones(9)) == 1.0


def test_two_modes_are_seen_and_one_is_not():
    rng = np.random.default_rng(2)
    ones = np.ones(300)
    two = rng.normal(size=300) + 5.0 * (np.arange(300) % 2)
    assert dip_p_value(two, ones) < 1e-4
    for one in (rng.normal(size=300), rng.exponential(size=300), rng.standard_t(2, 300)):
        assert dip_p_value(one, ones) > 0.5


def test_few_heavy_rows_are_no_large_sample():
    """Two rows of weight 1000 make a deep dip that means nothing."""
    values = np.linspace(0.0, 1.0, 20)
    weights = np.ones(20)
    weights[[0, -1]] = 1000.0
    assert dip_p_value(values, weights) > 0.05


@pytest.mark.parametrize("n", [16, 128])
def test_p_values_of_uniform_samples_are_uniform(n):
    rng = np.random.default_rng(n)
    found = np.sort([dip_p_value(rng.uniform(size=n), np.ones(n)) for _ in range(400)])
    inner = found < 0.95  # above, p-values are not told apart
    expected = (np.arange(400) + 0.5) / 400
    assert np.abs(found - expected)[inner].max() < 0.08


def test_p_values_follow_the_table_and_fall_beyond_it():
    for n, quantiles in zip(SIZES, QUANTILES, strict=True):
        found = [p_value(each / np.sqrt(n) + 1e-12, n) for each in quantiles]
        np.testing.assert_allclose(found[1:], LEVELS[1:], rtol=1e-6)
    values = [p_value(dip, 100.0) for dip in np.linspace(0.0, 0.25, 200)]
    assert (np.diff(values) <= 0).all() and values[0] == 1.0 and values[-1] < 1e-10
