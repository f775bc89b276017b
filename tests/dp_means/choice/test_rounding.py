"""Round numbers are spread, clusters and other columns stay."""

import numpy as np
import pytest

from hardbayes import DPMeans
from hardbayes.dp_means.choice.sample import without_round_numbers
from tests.conftest import quiet_fit

RNG = np.random.default_rng(0)
HEIGHTS = np.round(RNG.normal(68, 4, 1000), 2)
REPORTED = np.where(RNG.random(1000) < 0.6, np.round(HEIGHTS), HEIGHTS)


def spread(*columns):
    return without_round_numbers(np.column_stack(columns), np.random.RandomState(0))


def test_round_numbers_are_spread_over_their_step():
    found = spread(REPORTED, HEIGHTS)
    moved = np.abs(found[:, 0] - REPORTED)
    assert 0.4 < moved[REPORTED == 68].max() <= 0.5
    assert np.quantile(moved[REPORTED % 1 != 0], 0.9) < 0.05  # exact numbers keep their places
    np.testing.assert_array_equal(found[:, 1], HEIGHTS)


@pytest.mark.parametrize(
    "column",
    [
        RNG.standard_normal(500),
        np.round(RNG.normal(0, 5, 500)),
        RNG.integers(18, 90, 500).astype(np.float64),
        RNG.poisson(1.0, 500).astype(np.float64),
        np.concatenate([np.repeat([0.0, 50.0, 100.0], 100), RNG.uniform(0, 100, 200)]),
        np.concatenate([np.zeros(300), RNG.uniform(0, 100, 200)]),
        np.ones(20),
    ],
    ids=["continuous", "integers", "ages", "counts", "three values", "zeros", "constant"],
)
def test_other_columns_are_unchanged(column):
    rows = column[:, np.newaxis]
    assert without_round_numbers(rows, np.random.RandomState(0)) is rows


def test_float32_stays():
    assert spread(REPORTED.astype(np.float32)).dtype == np.float32


def test_round_numbers_are_no_clusters():
    assert quiet_fit(DPMeans(random_state=0), REPORTED[:, np.newaxis]).n_clusters_ == 1


def test_clusters_of_reported_numbers_are_found():
    shifted = REPORTED + np.where(RNG.random(1000) < 0.5, 30.0, 0.0)
    assert DPMeans(random_state=0).fit(shifted[:, np.newaxis]).n_clusters_ == 2
