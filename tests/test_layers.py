"""Layers: every number of clusters with evidence, from coarse to fine, and their tree."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from hardbayes import BPMeans, DPMeans, load, penalty_path, save
from hardbayes.core.layers import layers_of
from hardbayes.dp_means.choice.rule import layer_numbers
from hardbayes.plot import LayersDisplay


def clusters_within_clusters(n=60, seed=0):
    """Three far groups of three near clusters each: rows, groups, clusters."""
    rng = np.random.RandomState(seed)
    groups = np.repeat(np.arange(3), 3)
    centres = np.array([[0.0, 0.0], [300.0, 0.0], [150.0, 260.0]])[groups]
    centres = centres + np.tile([[0.0, 0.0], [20.0, 0.0], [10.0, 17.0]], (3, 1))
    member = np.repeat(np.arange(9), n)
    return centres[member] + rng.normal(size=(9 * n, 2)), groups[member], member


@pytest.fixture(scope="module")
def layers():
    X = clusters_within_clusters()[0]
    return penalty_path(X, estimator=DPMeans(random_state=0)).layers()


def test_both_scales_are_found(layers):
    _, groups, member = clusters_within_clusters()
    assert layers.n_clusters == [3, 9] and len(layers) == 2
    assert all(strength >= 1.0 for strength in layers.strengths)
    assert adjusted_rand_score(layers[0].labels_, groups) == 1.0
    assert adjusted_rand_score(layers[1].labels_, member) == 1.0
    assert [model.n_clusters_ for model in layers] == [3, 9]


def test_each_cluster_lies_in_its_parent(layers):
    coarse, fine = layers.models
    np.testing.assert_array_equal(layers.parents[0], 0)
    np.testing.assert_array_equal(layers.parents[1][fine.labels_], coarse.labels_)
    np.testing.assert_array_equal(layers.shares[1], 1.0)
    assert "9 clusters" in repr(layers)


def test_an_automatic_fit_keeps_the_labels_of_each_layer(layers):
    X, groups, member = clusters_within_clusters()
    model = DPMeans(random_state=0).fit(X)
    assert model.layers_.dtype == np.int32 and (model.layers_.max(axis=1) + 1).tolist() == [3, 9]
    for labels, known in zip(model.layers_, (groups, member), strict=True):
        assert adjusted_rand_score(labels, known) == 1.0
    at = [3, 9].index(model.n_clusters_)
    np.testing.assert_array_equal(model.layers_[at], model.labels_)
    assert layers.n_clusters == [3, 9]


def test_a_cap_leaves_finer_layers_out():
    X, groups, _ = clusters_within_clusters()
    with pytest.warns(ConvergenceWarning, match="cap of 3"):
        model = DPMeans(max_clusters=3, random_state=0).fit(X)
    assert len(model.layers_) == 1 and adjusted_rand_score(model.layers_[0], groups) == 1.0


@pytest.mark.parametrize(("n", "kind"), [(1900, np.asarray), (40, csr_array)])
def test_layers_beyond_a_sample_and_of_sparse_rows(n, kind):
    X, groups, member = clusters_within_clusters(n)
    model = DPMeans(random_state=0).fit(kind(X + 400.0))
    assert model.layers_.shape == (2, len(X))
    assert adjusted_rand_score(model.layers_[0], groups) == 1.0
    assert adjusted_rand_score(model.layers_[1], member) > 0.999


def test_a_given_penalty_has_no_layers(tmp_path):
    X = clusters_within_clusters()[0]
    assert not hasattr(DPMeans(1000.0, random_state=0).fit(X), "layers_")
    model = DPMeans(random_state=0).fit(X)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").layers_, model.layers_)


def test_near_numbers_are_one_layer_and_the_widest_stands():
    table = {
        "n_clusters": np.array([2, 5, 6, 7, 12, 30]),
        "width": np.array([3.0, 1.2, 3.0, 1.5, 1.0, 0.3]),
        "reference": np.array([4.0, 0.2, 0.2, 0.2, 0.2, 0.2]),
        "strength": np.array([0.9, 1.2, 3.0, 1.5, 1.0, 2.0]),
        "chosen": np.zeros(6, bool),
    }
    assert layer_numbers(table) == [(6, 3.0), (12, 1.0)]
    table["chosen"][1] = True  # it stands, whatever is near
    assert layer_numbers(table) == [(5, 1.2), (12, 1.0)]


def test_where_nothing_has_evidence_there_are_no_layers():
    empty = layers_of([], [])
    assert len(empty) == 0 and "no number" in repr(empty)
    X = np.random.RandomState(0).normal(size=(300, 2))
    with pytest.warns(UserWarning, match="one cluster"):
        model = DPMeans(random_state=0).fit(X)
    assert model.layers_.shape == (0, 300)
    assert len(penalty_path(X, estimator=DPMeans(random_state=0)).layers()) == 0


def test_a_path_without_evidence_says_so():
    X = np.random.RandomState(0).normal(size=(40, 3))
    path = penalty_path(X, estimator=BPMeans(random_state=0), n_penalties=3)
    with pytest.raises(ValueError, match="Layers need evidence"):
        path.layers()


def test_bars_stand_below_their_parents(layers):
    display = layers.plot()
    display.figure_.canvas.draw()
    coarse, fine = display.bars_
    above = {
        cluster: (bar.get_x(), bar.get_x() + bar.get_width())
        for cluster, bar in zip(display.orders_[0], coarse, strict=True)
    }
    for cluster, bar in zip(display.orders_[1], fine, strict=True):
        left, right = above[layers.parents[1][cluster]]
        assert left - 1e-9 <= bar.get_x() and bar.get_x() + bar.get_width() <= right + 1e-9
    with pytest.raises(TypeError, match="layers"):
        LayersDisplay.from_layers([1, 2])
