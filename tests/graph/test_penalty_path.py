"""Paths of penalties of graphs."""

import numpy as np
import pytest

from hardbayes import GraphDPMeans, objective, penalty_path
from hardbayes.datasets import load_karate_club, make_planted_partition


@pytest.fixture(scope="module")
def path():
    return penalty_path(
        load_karate_club()[0], estimator=GraphDPMeans(random_state=0), n_penalties=15
    )


def test_penalties_fall_and_clusters_do_not(path):
    assert len(path.penalties) == 15 and (np.diff(path.penalties) < 0).all()
    assert (path.penalties < 0).all()
    assert (np.diff(path.n_clusters) >= 0).all() and path.n_clusters[0] == 1
    assert path.n_clusters[-1] > 5 and path.sample_indices is None


def test_models_are_fits_at_their_penalties(path):
    links, _ = load_karate_club()
    for penalty, k, value, model in zip(
        path.penalties, path.n_clusters, path.objectives, path.models, strict=True
    ):
        assert model.n_clusters_ == k and model.cluster_penalty_ == penalty
        assert objective(links, model.labels_, penalty, cut="normalized") == pytest.approx(value)
        fit = GraphDPMeans(float(penalty), random_state=1).fit(links)
        assert value <= fit.objective_ + 0.01 * abs(fit.objective_)


def test_plateaus_are_where_a_number_is_best(path):
    links, _ = load_karate_club()
    widths = [plateau.width for plateau in path.plateaus]
    assert all(width > 0 for width in widths)
    for plateau in path.plateaus:
        assert -1 < plateau.low < plateau.middle < plateau.high < 0
        assert path.for_n_clusters(plateau.k) == plateau.middle
    assert GraphDPMeans(path.for_n_clusters(4), random_state=0).fit(links).n_clusters_ == 4


def test_the_suggestion_describes_the_graph_best():
    links, _ = make_planted_partition(4, 30, random_state=0)
    path = penalty_path(links, estimator=GraphDPMeans(random_state=0), n_penalties=12)
    assert GraphDPMeans(path.suggest(), random_state=0).fit(links).n_clusters_ == 4
    frame = path.to_frame()
    assert list(frame.columns) == ["penalty", "n_clusters", "objective", "cut"]


def test_given_penalties_must_be_below_zero():
    links, _ = load_karate_club()
    found = penalty_path(links, estimator=GraphDPMeans(random_state=0), penalties=[-0.7, -0.3])
    np.testing.assert_array_equal(found.penalties, [-0.3, -0.7])
    with pytest.raises(ValueError, match="< 0"):
        penalty_path(links, estimator=GraphDPMeans(), penalties=[0.5])
    with pytest.raises(ValueError, match="sample_weight"):
        penalty_path(links, estimator=GraphDPMeans(), sample_weight=np.ones(34))
