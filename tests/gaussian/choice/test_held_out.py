"""What rows held out say of the clusters of others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hardbayes.gaussian.choice import sample as sampling
from hardbayes.gaussian.choice.borders import LEVEL, HeldOut, held_out, simes
from hardbayes.gaussian.choice.path import Step, find_path
from tests.gaussian.choice.samples import SQUARE, blobs, sampled


def heard(matrix, k, diagonal=False):
    with sampled(matrix, diagonal=diagonal) as sample:
        path = find_path(sample.rows)
        return held_out(sample.rows, path, k, sample.dip_rows, sample.unseen)


def test_simes():
    assert simes([]) == 1.0
    assert_allclose(simes([0.5, 0.01, 0.9]), 0.03)
    assert_allclose(simes([0.04, 0.03]), 0.04)


def test_numbers_whose_own_clusters_have_valleys():
    path = {k: Step(k, float(k), np.zeros(4, np.int64)) for k in (1, 2, 3, 5)}
    assert [*HeldOut({2: 0.2, 3: LEVEL, 5: 0.0}).among(path)] == [1, 3, 5]
    assert [*HeldOut({}).among(path)] == [1]


def test_what_is_heard():
    assert not HeldOut({}).is_several and HeldOut({}).p_value == 1.0
    assert HeldOut({2: 0.5, 3: 0.009}).is_several and not HeldOut({2: 0.5, 3: 0.011}).is_several
    cloud = np.random.default_rng(0).uniform(size=(300, 2))
    assert heard(cloud, 2).p_value > 0.05


@pytest.mark.parametrize("diagonal", [False, True])
def test_clusters_are_confirmed(diagonal):
    found = heard(blobs(SQUARE)[0], 4, diagonal)
    assert found.is_several and found.p_values[2] < 0.01


def test_the_rows_beside_a_sample_are_held_out(monkeypatch):
    monkeypatch.setattr(sampling, "MAX_ROWS", 120)
    assert heard(blobs(SQUARE)[0], 4).is_several


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=(400, 2)),
        lambda rng: rng.uniform(size=(400, 3)),
        lambda rng: rng.exponential(size=(400, 2)),
        lambda rng: rng.standard_t(2, (400, 2)),
        lambda rng: np.round(rng.normal(size=(400, 2)), 1),
    ],
)
def test_one_cloud_is_not_several(draw):
    """Four draws of each, judged as if two clusters had been found."""
    assert not any(heard(draw(np.random.default_rng(seed)), 2).is_several for seed in range(4))
