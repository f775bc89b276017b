"""BP-means, its relatives and their parts against slow literal implementations."""

import numpy as np
import pytest

from hardbayes import BPMeans, KFeatures
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_dice, make_tabletop
from hardbayes.features.descent import FeatureSearch
from hardbayes.features.problem import FeatureAllocation, pose_features
from hardbayes.features.rows import Allocation
from tests.conftest import quiet_fit
from tests.reference.features import (
    assert_feature_certificate,
    brute_force_features,
    feature_objective,
    literal_bp_means,
    literal_collapsed,
    same_up_to_sign,
)


def sums_of_features(n, d, k, *, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    Z = rng.random((n, k)) < 0.5
    return Z @ rng.standard_normal((k, d)) + noise * rng.standard_normal((n, d)), Z


def search_from(X, start, penalty, max_components, *, literal=True, collapsed=False):
    """Run one search from a start; returns problem and solution."""
    components, membership = start
    with Pool(1) as pool:
        problem = pose_features(X, None, pool)
        structure = FeatureAllocation(penalty * problem.unit, max_components)
        search = FeatureSearch(structure, literal, collapsed, 300)
        scaled = Allocation(components * problem.frame.scale, membership.astype(np.uint8))
        solution = search.run(problem.rows, scaled, np.random.RandomState(0))
    return problem, solution


@pytest.mark.parametrize("seed", range(12))
def test_published_steps_of_k_features(seed):
    X, _ = sums_of_features(30, 5, 3, seed=seed, noise=0.4)
    rng = np.random.default_rng(seed)
    start = rng.standard_normal((3, 5)), rng.random((30, 3)) < 0.5
    Z, _, history = literal_bp_means(X, *start, 0.0, 3)
    problem, solution = search_from(X, start, 0.0, 3)
    np.testing.assert_array_equal(solution.allocation.membership, Z)
    np.testing.assert_allclose([fit / problem.unit for fit, _ in solution.trace], history)


@pytest.mark.parametrize("seed", range(12))
def test_published_steps_of_bp_means(seed):
    X, _ = sums_of_features(25, 4, 3, seed=seed, noise=0.3)
    start = X.mean(axis=0, keepdims=True), np.ones((25, 1), bool)
    penalty = [0.5, 2.0, 8.0][seed % 3]
    Z, _, history = literal_bp_means(X, *start, penalty, 10)
    problem, solution = search_from(X, start, penalty, 10)
    np.testing.assert_array_equal(solution.allocation.membership, Z)
    traced = [fit / problem.unit + penalty * k for fit, k in solution.trace]
    np.testing.assert_allclose(traced, history)


@pytest.mark.parametrize("seed", range(10))
def test_published_steps_of_collapsed_bp_means(seed):
    X, _ = sums_of_features(10, 3, 2, seed=seed, noise=0.3)
    start = X.mean(axis=0, keepdims=True), np.ones((10, 1), bool)
    penalty = [0.3, 1.0, 3.0][seed % 3]
    Z = literal_collapsed(X, start[1], penalty, 4)
    _, solution = search_from(X, start, penalty, 4, collapsed=True)
    ours = feature_objective(X, solution.allocation.membership, penalty)
    assert ours == pytest.approx(feature_objective(X, Z, penalty))


@pytest.mark.parametrize("method", ["joint", "collapsed", "stepwise"])
@pytest.mark.parametrize("seed", range(3))
def test_the_better_search_is_better(seed, method):
    X, _ = sums_of_features(60, 6, 4, seed=seed, noise=0.3)
    found = {
        search: BPMeans(3.0, method=method, search=search, random_state=0).fit(X).objective_
        for search in ("split-merge", "paper")
    }
    assert found["split-merge"] <= found["paper"] * (1 + 1e-9)


def tiny_cases():
    """Inputs of at most six rows: noise, sums of features, small integers, centred ones."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 5))
        yield rng.standard_normal((n, d))
        yield (rng.random((n, 3)) < 0.5) @ rng.standard_normal((3, d))
        yield rng.integers(0, 4, (n, d)).astype(float)


def test_k_features_reaches_the_true_optimum_of_tiny_inputs():
    reached = []
    for X in tiny_cases():
        for k in (1, 2, 3):
            best = brute_force_features(X, k)
            found = KFeatures(k, n_init=50, random_state=0).fit(X).objective_
            assert found >= best - 1e-9 * (X**2).sum() - 1e-12
            reached.append(found <= best + 1e-9 * (X**2).sum() + 1e-12)
    assert np.mean(reached) >= 0.95


@pytest.mark.parametrize("method", ["joint", "collapsed", "stepwise"])
def test_bp_means_reaches_the_true_optimum_of_tiny_inputs(method):
    reached = []
    for X in tiny_cases():
        penalty = 0.1 * (X**2).sum() + 1e-3
        best = brute_force_features(X, 3, penalty)
        model = BPMeans(penalty, max_components=3, method=method, n_init=50, random_state=0)
        found = quiet_fit(model, X).objective_
        assert found >= best * (1 - 1e-9)
        reached.append(found <= best * (1 + 1e-9))
    assert np.mean(reached) >= 0.95


@pytest.mark.parametrize("method", ["joint", "collapsed", "stepwise"])
@pytest.mark.parametrize("make", [make_dice, make_tabletop])
def test_features_of_pictures_are_found(make, method):
    X, truth = make(80, random_state=3)
    model = BPMeans(method=method, n_init=4, random_state=0).fit(X)
    assert model.n_components_ == truth.shape[1]
    assert same_up_to_sign(model.membership_, truth)
    assert_feature_certificate(model, X)


@pytest.mark.parametrize("search", ["split-merge", "paper"])
@pytest.mark.parametrize("method", ["joint", "collapsed", "stepwise"])
@pytest.mark.parametrize("seed", range(3))
def test_certificates(seed, method, search):
    X, _ = sums_of_features(60, 7, 4, seed=seed, noise=0.3)
    weights = np.random.default_rng(seed).integers(0, 4, 60)
    model = BPMeans(4.0, method=method, search=search, n_init=4, random_state=seed)
    assert_feature_certificate(model.fit(X, sample_weight=weights), X, weights)


def test_many_features_by_flips():
    X, _ = sums_of_features(400, 40, 15, seed=1, noise=0.05)
    model = KFeatures(15, n_init=4, random_state=0).fit(X)
    assert model.n_components_ == 15
    assert_feature_certificate(model, X)
    np.testing.assert_array_equal(model.transform(X[:50]).shape, (50, 15))
