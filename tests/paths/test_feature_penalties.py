"""penalty_path for overlapping features."""

import numpy as np
import pytest

from hardbayes import BPMeans, penalty_path
from hardbayes.datasets import make_dice


@pytest.fixture(scope="module")
def dice():
    return make_dice(60, random_state=0)[0].astype(np.float64)


@pytest.fixture(scope="module")
def path(dice):
    return penalty_path(dice, estimator=BPMeans(random_state=0, n_init=4), n_penalties=20)


def test_features_come_as_the_penalty_falls(path):
    assert (np.diff(path.penalties) < 0).all()
    assert (np.diff(path.n_clusters) >= 0).all()


def test_objectives_follow_from_memberships_and_components(dice, path):
    for model, penalty, value in zip(path.models, path.penalties, path.objectives, strict=True):
        rest = dice - model.membership_ @ model.components_
        expected = (rest**2).sum() + penalty * model.n_components_
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(model.transform(dice), model.membership_)


def test_it_suggests_what_the_estimator_takes(dice, path):
    model = BPMeans(random_state=0, n_init=4).fit(dice)
    np.testing.assert_allclose(path.suggest(), model.component_penalty_)
    assert BPMeans(path.suggest(), random_state=0, n_init=4).fit(dice).n_components_ == 4


def test_given_penalties_are_solved_at(dice, path):
    asked = [path.suggest() * 2, path.suggest()]
    given = penalty_path(dice, estimator=BPMeans(random_state=0, n_init=4), penalties=asked)
    np.testing.assert_array_equal(given.penalties, asked)
    assert given.n_clusters[-1] == 4


def test_the_template_is_not_changed(dice):
    template = BPMeans(random_state=0, n_init=2)
    before = dict(vars(template))
    penalty_path(dice[:20], estimator=template, n_penalties=5)
    assert vars(template) == before
