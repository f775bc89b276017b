"""Clusters whose covariances are known: Broderick, Kulis & Jordan 2013, supplement E."""

import numpy as np
import pytest

from hardbayes import DPMeans, GaussianDPMeans, certainty, load, objective, save
from hardbayes.core.geometry import Mahalanobis
from hardbayes.datasets import make_three_gaussians
from hardbayes.reports.solutions import reasons_for
from tests.reference.known import brute_force_known, known_objective


def drawn(seed, n=6, d=2, kind="full"):
    """Rows and two or three covariances."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(n, d)) + 3 * rng.integers(0, 2, (n, 1)) + 100.0
    roots = rng.normal(size=(int(rng.integers(2, 4)), d, d))
    found = roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(d)
    return X, np.array([np.diag(each) for each in found]) if kind == "diag" else found, rng


def crossed(n=100):
    """Two long clusters that cross, and one beside them."""
    shapes = np.array([[[9.0, 0.0], [0.0, 0.1]], [[0.1, 0.0], [0.0, 9.0]], [[0.2, 0], [0, 0.2]]])
    rng = np.random.default_rng(0)
    means = [[0.0, 0.0], [0.0, 0.0], [6.0, 6.0]]
    drawn = [rng.multivariate_normal(m, s, n) for m, s in zip(means, shapes, strict=True)]
    return np.concatenate(drawn), np.repeat(np.arange(3), n), shapes


def full(covariances):
    return np.array([np.diag(each) if each.ndim == 1 else each for each in covariances])


@pytest.mark.parametrize("kind", ["full", "diag"])
@pytest.mark.parametrize("seed", range(8))
def test_finds_the_optimum_of_all_partitions(seed, kind):
    X, shapes, rng = drawn(seed, kind=kind)
    penalty, rate = float(rng.uniform(0.2, 4)), float(rng.uniform(0.3, 2))
    model = GaussianDPMeans(
        penalty, covariances=shapes, covariance_type=kind, covariance_penalty=rate, random_state=0
    ).fit(X)
    value = known_objective(X, model.labels_, full(shapes), penalty, rate)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert value == pytest.approx(brute_force_known(X, full(shapes), penalty, rate), rel=1e-9)


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize("seed", range(6))
def test_never_rises_and_ends_where_nothing_changes(search, seed):
    X, shapes, rng = drawn(seed, n=60, d=3)
    weights = rng.integers(0, 3, len(X)).astype(float)
    model = GaussianDPMeans(
        1.0, covariances=shapes, search=search, init=X[: len(shapes)], random_state=seed
    ).fit(X, sample_weight=weights)
    assert (np.diff(model.objective_history_) <= 0).all()
    value = known_objective(X, model.labels_, shapes, 1.0, 1.0, weights)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert objective(X, model.labels_, estimator=model, sample_weight=weights) == pytest.approx(
        value, rel=1e-9
    )
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    for k, covariance in enumerate(model.covariances_):
        assert any(np.array_equal(covariance, each) for each in shapes)
        gaps = X - model.cluster_centers_[k]
        apart = np.einsum("ni,ij,nj->n", gaps, np.linalg.inv(covariance), gaps)
        np.testing.assert_allclose(model.transform(X)[:, k], np.sqrt(apart), rtol=1e-7)


def test_weights_are_repetition():
    X, shapes, rng = drawn(3, n=20)
    weights = rng.integers(0, 4, len(X))
    how = {"covariances": shapes, "init": X[: len(shapes)]}
    weighted = GaussianDPMeans(2.0, **how).fit(X, sample_weight=weights)
    repeated = GaussianDPMeans(2.0, **how).fit(np.repeat(X, weights, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


def test_units_and_rotations_change_nothing():
    X, shapes, rng = drawn(4, n=40, d=3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] * 1e3
    plain = GaussianDPMeans(2.0, covariances=shapes, random_state=0).fit(X)
    turned = GaussianDPMeans(2.0, covariances=turn.T @ shapes @ turn, random_state=0).fit(X @ turn)
    assert turned.objective_ == pytest.approx(plain.objective_, rel=1e-7)


def test_one_covariance_for_every_cluster_is_mahalanobis():
    X = make_three_gaussians(random_state=0)[0]
    shape = np.array([[2.0, 0.7], [0.7, 1.0]])
    known = GaussianDPMeans(600.0, covariances=[shape] * 5, random_state=0).fit(X)
    plain = DPMeans(600.0, divergence=Mahalanobis(np.linalg.inv(shape)), random_state=0).fit(X)
    assert known.n_clusters_ == plain.n_clusters_ == 3
    assert known.objective_ == pytest.approx(plain.objective_, rel=1e-9)


def test_finds_clusters_that_cross():
    X, y, shapes = crossed()
    model = GaussianDPMeans(covariances=shapes, random_state=0).fit(X)
    assert model.n_clusters_ == 3 and model.cluster_penalty_ == 0.0
    assert "another one of 3 known covariances" in reasons_for(model, "cluster", None)[0]
    assert model.objective_ <= objective(X, y, estimator=model)
    order = [next(k for k in range(3) if np.array_equal(model.covariances_[k], s)) for s in shapes]
    apart = np.abs(X).max(axis=1) > 2.0  # not where they cross
    assert (np.argsort(order)[model.labels_] == y)[apart].mean() > 0.95


def test_numbers_of_clusters(tmp_path):
    X, _, shapes = crossed(40)
    assert GaussianDPMeans(1e6, covariances=shapes).fit(X).n_clusters_ == 1
    model = GaussianDPMeans(n_clusters=2, covariances=shapes, random_state=0).fit(X)
    assert model.n_clusters_ == 2 and "asked for" in model.status_
    save(model, tmp_path / "known.npz")
    read = load(tmp_path / "known.npz")
    np.testing.assert_array_equal(read.predict(X), model.labels_)
    np.testing.assert_array_equal(read.covariances_, model.covariances_)
    one = GaussianDPMeans(covariances=shapes, n_jobs=1, random_state=0).fit(X)
    two = GaussianDPMeans(covariances=shapes, n_jobs=2, random_state=0).fit(X)
    np.testing.assert_array_equal(one.objective_history_, two.objective_history_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariances": np.eye(2)}, "shape"),
        ({"covariances": [np.eye(3)]}, r"\(m, 2, 2\)"),
        ({"covariances": [[[1.0, 2.0], [2.0, 1.0]]]}, "positive definite"),
        ({"covariances": [[[1.0, 0.5], [0.0, 1.0]]]}, "symmetric"),
        ({"covariances": [[[np.nan, 0.0], [0.0, 1.0]]]}, "finite"),
        ({"covariances": [[1.0, -1.0]], "covariance_type": "diag"}, "positive definite"),
        ({"covariances": [np.eye(2)], "n_clusters": 2}, "at least 2"),
        ({"covariances": [np.eye(2)], "init": np.zeros((3, 2))}, "at least 3"),
    ],
)
def test_errors_name_the_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        GaussianDPMeans(**options).fit(np.arange(8.0).reshape(4, 2))


def test_labels_of_more_clusters_than_covariances_and_the_sampler_are_refused():
    X, y, shapes = crossed(20)
    model = GaussianDPMeans(covariances=shapes[:2], random_state=0).fit(X)
    with pytest.raises(ValueError, match="at most 2"):
        objective(X, y, estimator=model)
    with pytest.raises(ValueError, match="covariances"):
        certainty(model, X)
