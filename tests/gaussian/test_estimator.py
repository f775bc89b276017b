"""Clusters with covariances of their own."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardbayes import DPMeans, GaussianDPMeans, load, save
from tests.conftest import quiet_fit

KINDS = ["full", "diag"]


def elongated(seed, n=80):
    """Four clusters in five columns, each long in two directions of its own."""
    rng = np.random.RandomState(seed)
    rows = []
    for _ in range(4):
        axes, _ = np.linalg.qr(rng.normal(size=(5, 5)))
        shape = rng.normal(size=(n, 5)) * [5.0, 1.0, 1.0, 0.3, 0.3]
        rows.append(shape @ axes + 4.0 * rng.normal(size=5))
    return np.vstack(rows), np.repeat(np.arange(4), n)


def literal_objective(X, labels, weights, prior, rate, penalty, kind):
    """The definition: rate log|I + Phi0^-1 S_k| + penalty for each cluster."""
    total = 0.0
    for label in np.unique(labels):
        rows, w = X[labels == label], weights[labels == label]
        if w.sum() == 0:
            continue
        gaps = rows - (w[:, None] * rows).sum(axis=0) / w.sum()
        scatter = (w[:, None, None] * gaps[:, :, None] * gaps[:, None, :]).sum(axis=0)
        if kind == "diag":
            scatter = np.diag(np.diag(scatter))
        inside = np.eye(X.shape[1]) + np.linalg.solve(prior, scatter)
        total += rate * np.linalg.slogdet(inside)[1] + penalty
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("search", ["paper", "split-merge"])
def test_objective_history_and_fixed_point(search, seed, kind):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 80)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) + 6 * rng.integers(0, 3, (n, 1)) + 1e3
    w = rng.integers(0, 3, n).astype(float)
    w[0] = 1.0
    root = rng.normal(size=(d, d))
    prior = root @ root.T + 0.5 * np.eye(d)
    if kind == "diag":
        prior = np.diag(np.diag(prior))
    rate, penalty = float(rng.uniform(0.5, 20)), float(rng.uniform(0.5, 20))
    model = GaussianDPMeans(
        penalty,
        covariance_type=kind,
        covariance_penalty=rate,
        covariance_prior=prior,
        search=search,
        random_state=seed,
    )
    quiet_fit(model, X, w)
    expected = literal_objective(X, model.labels_, w, prior, rate, penalty, kind)
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-7)
    assert (np.diff(model.objective_history_) <= 0).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))
    np.testing.assert_allclose(model.score(X, sample_weight=w), -model.inertia_)

    # Every covariance is (S + Phi0) / rate, and rows are at their Mahalanobis nearest.
    for k in range(model.n_clusters_):
        rows, v = X[model.labels_ == k], w[model.labels_ == k]
        gaps = rows - model.cluster_centers_[k]
        scatter = (v[:, None] * gaps).T @ gaps + prior
        if kind == "diag":
            scatter = np.diag(scatter)
        np.testing.assert_allclose(model.covariances_[k], scatter / rate, rtol=1e-5, atol=1e-5)
    full = [np.diag(c) if kind == "diag" else c for c in model.covariances_]
    costs = np.array(
        [
            np.einsum("id,id->i", X - c, np.linalg.solve(s, (X - c).T).T)
            for c, s in zip(model.cluster_centers_, full, strict=True)
        ]
    ).T
    np.testing.assert_allclose(model.transform(X) ** 2, costs, rtol=1e-5, atol=1e-6)
    assert (w * costs.min(axis=1) <= penalty * (1 + 1e-6)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_partitions_is_found(seed, kind):
    rng = np.random.default_rng(100 + seed)
    X = rng.normal(size=(7, 2)) + 5 * rng.integers(0, 2, (7, 1))
    prior, weights = 2.0 * np.eye(2), np.ones(7)
    best = min(
        literal_objective(X, np.array(labels), weights, prior, 4.0, 3.0, kind)
        for labels in itertools.product(range(3), repeat=7)
        if labels[0] == 0
    )
    model = GaussianDPMeans(
        3.0,
        covariance_type=kind,
        covariance_penalty=4.0,
        covariance_prior=2.0,
        max_clusters=3,
        n_init=10,
        random_state=0,
    )
    np.testing.assert_allclose(quiet_fit(model, X).objective_, best, rtol=1e-9)


def test_a_large_prior_gives_squared_euclidean():
    """rate log|I + S / Phi| tends to rate tr(S) / Phi."""
    X = np.random.default_rng(0).normal(size=(150, 3)) * [1, 2, 3]
    round_ones = quiet_fit(DPMeans(0.0, max_clusters=4, n_init=5, random_state=0), X)
    shaped = GaussianDPMeans(
        0.0,
        covariance_penalty=1e9,
        covariance_prior=1e9,
        max_clusters=4,
        n_init=5,
        random_state=0,
    )
    quiet_fit(shaped, X)
    np.testing.assert_allclose(shaped.objective_, round_ones.objective_, rtol=1e-2)


# --- better than round clusters where clusters are not round -----------------------------------


@pytest.mark.parametrize(("loader", "least"), [(load_iris, 0.9), (load_wine, 0.9)])
def test_beats_round_clusters_on_iris_and_wine(loader, least):
    X, y = loader(return_X_y=True)
    round_ones = quiet_fit(DPMeans(0.0, max_clusters=3, n_init=10, random_state=0), X)
    shaped = quiet_fit(GaussianDPMeans(0.0, max_clusters=3, random_state=0), X)
    ours, theirs = (adjusted_rand_score(y, m.labels_) for m in (shaped, round_ones))
    assert ours > max(theirs, least)


# --- singular and odd data ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", [0.0, 0.5, "auto"])
def test_singular_clusters_neither_crash_nor_run_away(kind, penalty):
    rng = np.random.default_rng(1)
    line = np.outer(rng.normal(size=40), [1.0, 2.0, 0.0])
    line[:, 2] = 7.0  # rank one, and a column of one value
    X = np.vstack([line, np.repeat(line[:2] + 30.0, 10, axis=0)])
    model = GaussianDPMeans(penalty, covariance_type=kind, max_clusters=6, random_state=0)
    quiet_fit(model, X)
    assert 1 <= model.n_clusters_ <= 6
    assert np.isfinite(model.objective_) and model.objective_ >= 0
    assert np.isfinite(model.covariances_).all()
    assert (np.diff(model.objective_history_) <= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_more_columns_than_rows(kind):
    X = np.random.default_rng(2).normal(size=(12, 30))
    model = quiet_fit(GaussianDPMeans(covariance_type=kind, random_state=0), X)
    assert np.isfinite(model.objective_)


def test_one_row_and_equal_rows():
    assert quiet_fit(GaussianDPMeans(1.0, random_state=0), np.ones((1, 2))).n_clusters_ == 1
    assert quiet_fit(GaussianDPMeans(1.0, random_state=0), np.ones((9, 2))).n_clusters_ == 1


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_scale_does_not_matter_to_the_automatic_prior(factor):
    X, _ = elongated(1, n=30)
    plain, scaled = (
        quiet_fit(GaussianDPMeans(0.5, random_state=0), rows) for rows in (X, X * factor)
    )
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)
    np.testing.assert_allclose(plain.objective_, scaled.objective_, rtol=1e-6)


def test_outliers_and_given_centres():
    X = np.vstack([np.random.default_rng(3).normal(size=(50, 2)) + c for c in ([0, 0], [20, 0])])
    model = GaussianDPMeans(
        0.5, covariance_prior=100.0, init=[[0.0, 0.0], [20.0, 0.0]], order="given"
    ).fit(X)
    assert model.n_clusters_ == 2
    far = [[0.0, 0.0], [1e3, 1e3]]
    np.testing.assert_array_equal(model.predict(far, novelty=True) == -1, [False, True])


def test_cap_and_steps_are_reported():
    X = np.random.default_rng(4).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match="cap of 2 clusters"):
        GaussianDPMeans(0.0, covariance_prior=1.0, max_clusters=2, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="Stopped after 1"):
        model = GaussianDPMeans(0.1, covariance_prior=1.0, max_iter=1, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kind", KINDS)
def test_files(kind, tmp_path):
    X, _ = elongated(2, n=20)
    model = quiet_fit(GaussianDPMeans(0.5, covariance_type=kind, random_state=0), X)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(again.covariances_, model.covariances_)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(covariance_prior=[[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (dict(covariance_prior=[[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (dict(covariance_prior=[1.0, 2.0, 3.0]), r"diagonal \(2,\) or a matrix \(2, 2\)"),
        (dict(covariance_prior=[1.0, -2.0]), "positive definite"),
        (
            dict(covariance_prior=[[2.0, 1.0], [1.0, 2.0]], covariance_type="diag"),
            "must be diagonal",
        ),
        (dict(covariance_penalty=0.0), "covariance_penalty"),
        (dict(covariance_type="round"), "covariance_type"),
    ],
)
@pytest.mark.parametrize("penalty", [1.0, "auto"])
def test_parameters_that_cannot_be(penalty, options, words):
    X = np.random.default_rng(5).normal(size=(20, 2))
    with pytest.raises(ValueError, match=words):
        GaussianDPMeans(penalty, **options).fit(X)


def test_sparse_rows_are_refused_with_a_remedy():
    with pytest.raises(TypeError, match=r"takes dense rows only.*toarray"):
        GaussianDPMeans(1.0).fit(sparse.csr_array(np.eye(3)))


def test_nan_is_named():
    X = np.ones((10, 2))
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 7, column 1"):
        GaussianDPMeans(1.0).fit(X)


@pytest.mark.filterwarnings("ignore:.*so there is one cluster")  # the checks draw rows without any
@parametrize_with_checks(
    # Not with a penalty: some checks set n_clusters, which is refused beside one.
    [GaussianDPMeans(max_iter=30), GaussianDPMeans(covariance_prior=1.0)],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_an_unfitted_estimator_survives_a_file(tmp_path):
    with pytest.warns(UserWarning, match="is not fitted"):
        save(GaussianDPMeans(cluster_penalty=2.0), tmp_path / "unfitted.hb")
    back = load(tmp_path / "unfitted.hb")
    assert back.cluster_penalty == 2.0
    assert not hasattr(back, "labels_")
