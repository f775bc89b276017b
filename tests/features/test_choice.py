"""The automatic penalty for features: the widest plateau, and what to do where there is none."""

import numpy as np
import pytest

from hardbayes import BPMeans
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_dice, make_tabletop, make_three_gaussians
from hardbayes.features.choice import LOOK_AHEAD, feature_path
from hardbayes.features.problem import pose_features
from tests.conftest import quiet_fit


def path_of(X, *, most=20, n_starts=4):
    with Pool(1) as pool:
        problem = pose_features(X, None, pool)
        return feature_path(problem, most, 300, n_starts, np.random.RandomState(0))


def test_path_counts_up_fits_better_and_ends_after_the_winner():
    path = path_of(make_tabletop(60, noise=0.2, random_state=0)[0])
    assert [each.n_components for each in path.solutions] == list(range(len(path.solutions)))
    assert (np.diff([each.fit for each in path.solutions]) < 0).all()
    best = path.suggest()
    assert best.k == 5
    assert path.solutions[-1].n_components == best.k + LOOK_AHEAD
    assert path.at(best.middle).n_components == 5


def test_path_ends_where_nothing_is_left():
    path = path_of(make_dice(40, random_state=0)[0])
    assert path.solutions[-1].n_components == 4
    assert path.suggest().low == 0.0


def test_a_base_alone_is_taken_only_where_there_is_nothing_else():
    rng = np.random.default_rng(0)
    noise = 50.0 + rng.standard_normal((60, 40))
    assert path_of(noise).suggest().k == 1
    table, _ = make_tabletop(60, random_state=0)
    path = path_of(table + 10.0)
    assert path.plateaus[0].k == 1 and path.plateaus[0].width > path.suggest().width
    assert path.suggest().k == 5


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_a_cap_ends_the_path(cap):
    X, _ = make_tabletop(40, random_state=0)
    model = quiet_fit(BPMeans(max_components=cap, n_init=2, random_state=0), X)
    assert 1 <= model.n_components_ <= cap


def test_rows_of_zeros_have_no_features():
    model = BPMeans(random_state=0).fit(np.zeros((5, 3)))
    assert model.n_components_ == 0
    assert model.component_penalty_ > 0


def test_the_nearest_number_is_not_the_answer():
    X, _ = make_three_gaussians(random_state=0)
    model = quiet_fit(BPMeans(random_state=0), X[:60])
    assert model.n_components_ == 1
    assert "Nearest came 2 features" in model.status_
