"""Rows held out: counts on the borders of clusters that were found without them."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means.choice.held_out import (
    WITHIN_CLUSTERS,
    column_steps,
    held_out_folds,
    smooth,
)
from hardbayes.dp_means.choice.path import Tracer
from hardbayes.dp_means.choice.rule import filling
from hardbayes.dp_means.choice.sample import draw
from tests.dp_means.choice.mixtures import gaussians_apart, long_pair, square
from tests.own_geometries import ItakuraSaito


def folds(X, numbers, name="squared_euclidean", weights=None, prior=0.0, n_halvings=2, n_jobs=1):
    geometry = geometry_for(name)
    rng = np.random.RandomState(0)
    with Pool(n_jobs) as pool:
        drawn = draw(X, weights, geometry, prior, rng)
        return held_out_folds(drawn.sample, drawn.unseen, numbers, n_halvings, Tracer(rng, pool))


def filled(some, metric=0):
    return filling([fold.borders[metric] for fold in some.values()])[0]


def test_borders_between_clusters_are_empty():
    found = folds(gaussians_apart(3, n=150)[0], [2, 3, 4])
    assert found.keys() == {2, 3, 4} and found[3].keys() == {0, 1, 2, 3}
    assert filled(found[3]) < 0.3
    assert {len(fold.labels) for fold in found[3].values()} == {75}
    assert all(len(np.unique(fold.labels)) == 3 for fold in found[3].values())


def test_borders_within_one_cloud_are_full():
    found = folds(square(np.random.default_rng(0), 400), [2, 5])
    assert filled(found[2]) > 0.8 and filled(found[5]) > 0.8


@pytest.mark.parametrize("seed", [1, 2, 6])
def test_borders_between_long_clusters_are_empty_in_the_metric_within_them(seed):
    found = folds(long_pair(np.random.default_rng(seed))[0], [2])[2]
    assert filled(found, 0) > 0.7 and filled(found, 1) < 0.7
    assert filled(found, 1) < filled(found, 0) - 0.3


def test_one_cloud_is_full_in_both_metrics():
    found = folds(square(np.random.default_rng(0), 400) * [1.0, 30.0], [2, 5])
    assert all(filled(found[k], metric) > 0.8 for k in (2, 5) for metric in (0, 1))


def test_rows_have_one_metric_where_clusters_have_no_axes():
    X, _ = gaussians_apart(3, 2, 120)
    assert {len(fold.borders) for fold in folds(X[:, :1], [2])[2].values()} == {1}
    assert {len(fold.borders) for fold in folds(np.abs(X), [2], "kl")[2].values()} == {1}
    assert {len(fold.borders) for fold in folds(sparse.csr_array(X), [2])[2].values()} == {1}
    many = folds(X, [2, WITHIN_CLUSTERS, WITHIN_CLUSTERS + 1])
    assert [len(many[k][0].borders) for k in many] == [2, 2, 1]


def test_every_row_is_tested_once_in_a_halving():
    X = square(np.random.default_rng(0), 6000)
    found = folds(X, [2], n_halvings=1)[2]
    total = sum(fold.borders[0].weights.sum() for fold in found.values())
    assert 0.7 * 6000 < total <= 1.5 * 6000  # in units of the weights of the sample


def test_weights_are_counted():
    X, _ = gaussians_apart(2, n=100)
    plain, heavy = (folds(X, [2], weights=w)[2] for w in (None, np.full(100, 3.0)))
    for number, fold in plain.items():
        assert len(fold.borders) == len(heavy[number].borders) == 2
        for one, three in zip(fold.borders, heavy[number].borders, strict=True):
            np.testing.assert_allclose(three.weights, 3 * one.weights)


@pytest.mark.parametrize(
    ("name", "prior"),
    [("kl", 0.0), ("kl", 2.0), ("poisson", 0.0), ("itakura_saito", 0.0), (ItakuraSaito(), 0.0),
     ("cosine", 0.0)],
)  # fmt: skip
def test_any_divergence(name, prior):
    rng = np.random.default_rng(0)
    member = rng.integers(0, 2, 80)
    X = rng.gamma(np.array([[90.0, 10.0, 20.0], [10.0, 90.0, 20.0]])[member])
    found = folds(X, [2], name, prior=prior, n_halvings=1)
    assert filled(found[2]) < 0.5


def test_wide_sparse_rows():
    rng = np.random.default_rng(0)
    member = rng.integers(0, 2, 80)
    rates = rng.gamma(0.3, size=(2, 400))
    X = sparse.csr_array(rng.poisson(rates[member]).astype(float))
    for name in ("cosine", "kl", "squared_euclidean"):
        prior = 10.0 if name == "kl" else 0.0
        assert filled(folds(X, [2], name, prior=prior, n_halvings=1)[2]) < 0.5


def test_the_same_bits_with_any_threads():
    X, _ = gaussians_apart(4, 6, 200)
    one, two = (folds(X, [2, 4], n_jobs=n) for n in (1, 2))
    for k in (2, 4):
        for number, fold in one[k].items():
            np.testing.assert_array_equal(fold.labels, two[k][number].labels)
            for mine, other in zip(fold.borders, two[k][number].borders, strict=True):
                for left, right in zip(mine, other, strict=True):
                    np.testing.assert_array_equal(left, right)


def test_steps_of_columns():
    X = np.column_stack([np.arange(40) % 4, np.linspace(0, 1, 40), np.full(40, 7.0)])
    np.testing.assert_allclose(column_steps(X), [1.0, 1 / 39, 0.0])
    np.testing.assert_allclose(column_steps(sparse.csr_array(X)), [1.0, 1 / 39, 0.0])
    assert column_steps(np.zeros((5, 300))) is None


def test_noise_fills_the_steps():
    X = np.repeat(np.arange(4.0), 500)[:, np.newaxis]
    noisy = smooth(X, np.ones(1), np.random.RandomState(0))
    assert np.abs(noisy - X).max() <= 0.5
    counts = np.histogram(noisy, 16, (-0.5, 3.5))[0]
    assert counts.min() > 80
    assert smooth(X, None, np.random.RandomState(0)) is X
