"""Widths of plateaus without structure."""

import numpy as np
import pytest

from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means.choice.path import FAR, MAX_WIDTH, Tracer, reference_widths, width_at
from hardbayes.dp_means.choice.sample import draw, view
from tests.dp_means.choice.mixtures import gaussians_apart


def test_widths_of_about_as_many_clusters_are_compared():
    references = [{2: 1.0, 5: 0.4, 6: 0.8, 7: 0.3}, {2: 1.0, 5: 0.6, 7: 0.1}]
    assert width_at(2, references) == pytest.approx(1.0)
    assert width_at(6, references) == pytest.approx(np.quantile([0.8, 0.6], 0.9))
    assert width_at(3, references) == 0.0


def test_far_widths_do_not_fall_too_fast():
    references = [{FAR: 0.6, 40: 0.1}]
    assert width_at(40, references) == pytest.approx(0.3)
    assert width_at(40, [{FAR: 0.6, 40: 0.5}]) == pytest.approx(0.5)


def widths_for(X, widths, name="squared_euclidean"):
    rng = np.random.RandomState(0)
    with Pool(1) as pool:
        sample = draw(X, None, geometry_for(name), 0.0, rng).sample
        return reference_widths(widths, sample, view(sample, rng), False, Tracer(rng, pool))


def test_every_plateau_has_a_reference():
    X, _ = gaussians_apart(3, n=90)
    found = widths_for(X, {2: 0.5, 3: 4.0, 11: 0.2})
    assert found.keys() == {2, 3, 11}
    assert 0.5 < found[2] < 3.0 and found[2] > found[11] > 0.1


def test_perfect_clusters_are_compared_with_perfect_ones():
    """Coin flips: eight patterns fit without remainder, in draws as well.

    Savings of exp(-16) times the first count as none: plateaus are not wider than that.
    """
    X = (np.random.default_rng(0).random((60, 3)) < 0.5).astype(float)
    assert widths_for(X, {8: MAX_WIDTH})[8] > 10.0  # others are below one


def test_wide_plateaus_far_away_have_longer_references():
    X, _ = gaussians_apart(20, n=400)
    found = widths_for(X, {20: 3.0})
    assert 0.1 < found[20] < 1.0


@pytest.mark.parametrize("name", ["squared_euclidean", "cosine", "kl"])
def test_wide_rows(name):
    X = np.random.default_rng(0).gamma(2.0, size=(40, 300))
    assert widths_for(X, {2: 0.5}, name)[2] >= 0.0
