"""Corners that once were wrong, each with the smallest input that showed it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlogy

from hardbayes import DPMeans, objective
from hardbayes.core.geometry import Geometry
from tests.conftest import paper, quiet_fit
from tests.own_geometries import ItakuraSaito


class Steep(Geometry):
    """Ten times the squared distance, as an affine cost: phi(x) is larger than x^2."""

    def generator(self, x):
        return 10.0 * x * x

    def gradient(self, c):
        return 20.0 * c


@pytest.mark.parametrize("seed", range(10))
def test_any_geometry_equals_its_squared_twin(seed):
    X = np.random.default_rng(seed).normal(size=(120, 3)) * 3 - 1
    steep = quiet_fit(paper(30.0, divergence=Steep()), X)
    twin = quiet_fit(paper(3.0), X)
    np.testing.assert_array_equal(steep.labels_, twin.labels_)
    np.testing.assert_allclose(steep.objective_, 10 * twin.objective_)


def test_a_geometry_undefined_at_zero(given):
    X = np.random.default_rng(0).gamma(2.0, size=(80, 2)) * np.repeat([1.0, 50.0], 40)[:, None]
    model = given(3.0, divergence=ItakuraSaito()).fit(X)
    costs = -model.score_samples(X)
    assert model.n_clusters_ >= 2
    assert costs.max() <= 3.0
    np.testing.assert_allclose(
        model.objective_, objective(X, model.labels_, 3.0, divergence=ItakuraSaito())
    )


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6])
def test_dense_and_sparse_rows_are_placed_alike(offset, given):
    rng = np.random.default_rng(0)
    X = offset + rng.integers(0, 2, (40, 1)) + rng.normal(0, 0.01, (40, 2))
    dense, thin = given(0.25).fit(X), given(0.25).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    for model in (dense, thin):
        for rows in (X, sparse.csr_array(X)):
            np.testing.assert_array_equal(model.predict(rows), model.labels_)
            np.testing.assert_allclose(-model.score(rows), model.inertia_, rtol=1e-4)


def test_rows_of_no_weight_outlive_their_cluster(given):
    x, c = 0.9563777886388609, 0.956377788638861
    X = np.array([[x], [x], [x], [c], [-0.9]])
    model = quiet_fit(given(0.0), X, sample_weight=[1, 1, 1, 0, 1])
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_columns_of_very_different_sizes_keep_their_precision(given):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 3000) * 1e20, rng.uniform(4e-5, 6e-5, 3000)])
    model = given(1e39).fit(X)
    for k in range(model.n_clusters_):
        mean = X[model.labels_ == k].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[k], mean, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-21, 1e-22, 3e-23])
def test_float32_rows_far_below_a_weightless_outlier(size):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(400, 2)) * size, [[1.0, 1.0]]]).astype(np.float32)
    weights = np.append(np.ones(400), 0.0)
    model = quiet_fit(paper(4 * size**2), X, weights)
    double = quiet_fit(paper(4 * size**2), X.astype(np.float64), weights)
    np.testing.assert_array_equal(model.labels_, double.labels_)


@pytest.mark.parametrize("seed", range(8))
def test_many_given_centres_that_nobody_uses(seed):
    """Blocks of dead slots: bounds must still be bounds."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    X = rng.normal(size=(600, d))
    far = rng.normal(size=(200, d)) + 50.0
    init = np.vstack([far, X[:60]])[rng.permutation(260)]
    bounded = quiet_fit(paper(0.3, init=init), X)
    centres = bounded._model.frame.from_working(bounded._model.centres)
    costs = ((X[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_allclose(costs[np.arange(600), bounded.labels_], costs.min(axis=1), atol=1e-9)


def test_a_start_that_collapses_into_one_newborn_goes_on():
    X = np.array([[0.0], [-0.9]] + [[0.9]] * 100)
    assert paper(1.0, init=[[1000.0]]).fit(X).n_clusters_ == 2


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("init", ["mean", "farthest-first", "k-means++"])
def test_kl_at_zero_penalty(container, init, given):
    X = np.repeat(np.random.default_rng(0).random((20, 3)), 7, axis=0)
    model = quiet_fit(
        given(0.0, divergence="kl", prior_weight=0.0, init=init, random_state=0), container(X)
    )
    assert model.n_clusters_ == 20


def test_heavy_priors_keep_the_price_exact(given):
    X = np.random.default_rng(0).normal(size=(60, 2))
    light = quiet_fit(given(1e-3, prior_weight=1e9), X)
    spread = objective(X, np.zeros(60), 1e-3, prior_weight=1e9)
    assert light.objective_ <= spread * (1 + 1e-12)


def test_float32_rows_at_a_model_fitted_far_away_in_float64(given):
    X = (2.0**26 + 3) + np.array([[-1.0], [-1.0], [1.0], [1.0]])
    model = given(0.5).fit(X)
    rows = np.array([[2.0**26], [2.0**26 + 8]], dtype=np.float32)
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows.astype(np.float64)))


def test_auto_penalty_of_histograms_with_zeros():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.05), 4)
    X = np.array([rng.multinomial(80, topics[i % 4]) for i in range(120)])
    model = DPMeans(divergence="kl", random_state=0).fit(X)
    assert model.prior_weight_ == 10.0
    assert 2 <= model.n_clusters_ <= 8
    unit = X / X.sum(axis=1, keepdims=True)
    assert np.isfinite(xlogy(unit, unit)).all()


@pytest.mark.parametrize(
    ("weights", "part"),
    [
        ([1.0, 1e-40, 1.0], "spans too wide a range"),
        ([1e-310, 1e-310, 1e-310], "spans too wide a range"),
        ([1.0, 1.0], "one weight for each of the 3 rows"),
        ([1j, 1j, 1j], "real numbers"),
    ],
)
def test_weights_that_cannot_be_summed(weights, part):
    with pytest.raises(ValueError, match=part):
        DPMeans(1.0).fit([[0.0], [1.0], [0.5]], sample_weight=weights)


@pytest.mark.parametrize(
    ("X", "part"),
    [
        (np.array([["1", "2"], ["3", "4"]]), "strings"),
        (np.array([[1, "2"], [3, 4]], dtype=object), "row 0, column 1"),
        ([[1, "a"], [3, 4]], "row 0, column 1"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "dates"),
    ],
)
def test_text_is_never_taken_for_numbers(X, part):
    with pytest.raises(ValueError, match=part):
        DPMeans(1.0).fit(X)


def test_threads_must_be_some():
    with pytest.raises(ValueError, match="'n_jobs' parameter"):
        DPMeans(1.0, n_jobs=0).fit([[0.0], [1.0]])


@pytest.mark.parametrize("seed", [29, 137, 150, 1067])
def test_an_exchange_that_leaves_only_weightless_rows_in_its_new_cluster(seed):
    """Such a cluster is never opened, and those rows stay where they were."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(8, 2))
    X = np.rint(3 * means[rng.integers(8, size=30)] + rng.normal(size=(30, 2)))
    weights = (rng.random(30) < 0.8).astype(float)
    model = DPMeans(2.0, random_state=0).fit(X, sample_weight=weights)
    assert (model.cluster_weights_ > 0).all()
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl", "poisson", "logistic"])
def test_equal_rows_stay_together_where_clusters_cost_nothing_but_the_prior(
    divergence, search, container
):
    """What rounding makes of a cost of zero opens nothing."""
    for seed in range(12):
        rng = np.random.RandomState(seed)
        X = np.repeat(rng.uniform(0.05, 0.95, (1 + seed % 2, 1 + seed % 3)), 4, axis=0)
        weights = None if seed % 2 else rng.uniform(0.5, 2.0, len(X))
        model = DPMeans(
            0.0, divergence=divergence, prior_weight=1.0, search=search, random_state=0
        ).fit(container(X), sample_weight=weights)
        assert model.converged_
        np.testing.assert_array_equal(model.labels_, model.predict(container(X)))
        assert (np.diff(model.objective_history_) <= 0).all()
