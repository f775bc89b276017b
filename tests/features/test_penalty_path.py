"""penalty_path for overlapping features."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hardbayes import BPMeans, penalty_path
from hardbayes.datasets import make_dice
from hardbayes.features import starts as stepwise
from hardbayes.features.choice import LOOK_AHEAD
from hardbayes.features.starts import minimise_features


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


def test_a_cap_ends_the_path_and_says_so(dice):
    template = BPMeans(random_state=0, n_init=2, max_components=2)
    asked = [1e3 * (dice**2).sum(), 1e-9]
    with pytest.warns(ConvergenceWarning, match="ends at 2 features: at 1 of 2"):
        path = penalty_path(dice, estimator=template, penalties=asked)
    np.testing.assert_array_equal(path.n_clusters, [0, 2])
    assert "cap" in path.models[1].status_
    assert "cap" not in path.models[0].status_


def test_tiny_penalties_are_followed_with_little_effort(monkeypatch):
    """Where only noise is left to explain, K grows by one start at a time."""
    rng = np.random.default_rng(0)
    X = (rng.random((40, 2)) < 0.5) @ np.array([[8.0, 0, 0, 0], [0, 8.0, 8.0, 0]])
    X += 0.1 * rng.standard_normal(X.shape)
    starts = {}

    def counted(problem, search, n_starts, rng, given=()):
        starts[search.structure.max_components] = n_starts
        return minimise_features(problem, search, n_starts, rng, given)

    monkeypatch.setattr(stepwise, "minimise_features", counted)
    template = BPMeans(random_state=0, n_init=5, max_components=12)
    with pytest.warns(ConvergenceWarning):
        path = penalty_path(X, estimator=template, penalties=[2.0, 1e-6])
    np.testing.assert_array_equal(path.n_clusters, [2, 12])
    widest = 2 + LOOK_AHEAD
    assert starts == {k: 5 if k <= widest else 1 for k in range(1, 13)}
