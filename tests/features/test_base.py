"""A base that all rows share, on request, and features to start from."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from hardbayes import BPMeans, KFeatures, load, penalty_path, save
from tests.conftest import quiet_fit
from tests.reference.features import (
    brute_force_features,
    feature_objective,
    least_squares,
    literal_bp_means,
)


def planted(seed, n=40, k=3, d=6, base=4.0, noise=0.3):
    """Rows of a base and k features of which rows have about two fifths."""
    rng = np.random.RandomState(seed)
    Z = np.column_stack([np.ones(n), rng.rand(n, k) < 0.4])
    A = np.vstack([np.full(d, base), 3 * rng.randn(k, d)])
    return Z @ A + noise * rng.randn(n, d), Z.astype(bool)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_best_of_all_allocations_with_a_base(seed, k):
    X = np.random.RandomState(seed).randn(
        5, 2
    )  # without a mean, which a base has to fit all the same
    best = brute_force_features(X, k, base=True)
    model = KFeatures(k, base=True, n_init=30, random_state=0).fit(X)
    assert model.membership_[:, 0].all()
    assert model.objective_ == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert best >= brute_force_features(X, k) - 1e-12
    bp_means = BPMeans(0.4, base=True, max_components=3, n_init=30, random_state=0)
    found = quiet_fit(bp_means, X)
    assert found.objective_ == pytest.approx(brute_force_features(X, 3, 0.4, base=True), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_literal_algorithm_keeps_the_base(seed):
    X, _ = planted(seed, base=0.5, noise=1.0)
    init = np.vstack([X.mean(axis=0), X[:2] - X.mean(axis=0)])
    Z = np.zeros((len(X), 3))
    Z[:, 0] = 1.0
    expected, _, history = literal_bp_means(X, init, Z, 25.0, 64, n_fixed=1)
    model = BPMeans(25.0, base=True, init=init, search="paper", random_state=0).fit(X)
    np.testing.assert_allclose(model.objective_history_, history, rtol=1e-9)
    order = np.argsort(-expected.sum(axis=0), kind="stable")
    np.testing.assert_array_equal(model.membership_, expected[:, order])
    free, _, _ = literal_bp_means(X, init, Z, 25.0, 64)
    assert not free[:, 0].all()  # here rows would leave it


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"search": "paper"},
        {"method": "collapsed"},
        {"method": "collapsed", "search": "paper"},
        {"method": "stepwise"},
        {"component_penalty": 0.8},  # more than a dozen: flips of one and two
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_way_keeps_the_base(options, form):
    X, _ = planted(1, noise=1.0)
    X -= X.mean(axis=0)
    X[:3] *= 10.0
    weights = np.arange(40) % 3.0
    model = BPMeans(**{"component_penalty": 20.0, "base": True, "n_init": 3} | options)
    model.set_params(random_state=0).fit(form(X), sample_weight=weights)
    assert model.membership_[:, 0].all() and model.n_components_ > 1
    assert (np.diff(model.objective_history_) <= 0).all()
    value = feature_objective(X, model.membership_, model.component_penalty, weights)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    again = model.transform(form(X))
    assert again[:, 0].all()
    if model.n_components_ <= 12:
        subsets = np.array(list(product([0, 1], repeat=model.n_components_ - 1)))
        costs = ((X[:, None] - model.components_[0] - subsets @ model.components_[1:]) ** 2).sum(2)
        np.testing.assert_allclose(-model.score_samples(form(X)), costs.min(axis=1), atol=1e-9)


def test_a_saved_base_is_kept(tmp_path):
    X, _ = planted(0, base=0.0)
    model = KFeatures(3, base=True, random_state=0).fit(X)
    save(model, tmp_path / "m")
    new = -5 * X
    assert model.transform(new)[:, 0].all()
    np.testing.assert_array_equal(load(tmp_path / "m").transform(new), model.transform(new))


def test_an_automatic_penalty_with_a_base():
    X, _ = planted(2, n=80)
    model = BPMeans(base=True, random_state=0).fit(X)
    assert model.n_components_ == 4 and model.membership_[:, 0].all()
    centred = BPMeans(base=True, random_state=0).fit(X - X.mean(axis=0))
    assert centred.n_components_ == 4 and centred.membership_[:, 0].all()
    np.testing.assert_allclose(centred.objective_, model.objective_)
    noise = np.random.RandomState(0).randn(60, 4)
    with pytest.warns(UserWarning, match="so there is one, which tells"):
        nothing = BPMeans(base=True, random_state=0).fit(noise)
    assert nothing.n_components_ == 1 and nothing.membership_.all()
    np.testing.assert_allclose(nothing.components_[0], noise.mean(axis=0))
    path = penalty_path(X, estimator=BPMeans(base=True, random_state=0), n_penalties=4)
    assert (
        all(each.membership_[:, 0].all() for each in path.models)
        and path.models[0].n_components_ == 1
    )
    assert path.model(3).membership_[:, 0].all()


def test_without_a_base_none_is_made():
    """One feature and its complement are as good as a base and one."""
    rng = np.random.RandomState(0)
    first = np.arange(30) < 12
    X = np.where(first[:, None], [5.0, 0, 0], [0, 5.0, 0]) + 0.1 * rng.randn(30, 3)
    free = KFeatures(2, base=False, random_state=0).fit(X)
    base = KFeatures(2, random_state=0).fit(X)
    assert sorted(free.membership_.sum(axis=0)) == [12, 18] and base.membership_[:, 0].all()
    assert free.objective_ == pytest.approx(base.objective_)


def test_a_large_table_keeps_its_base():
    X, _ = planted(0, n=6000, d=60, base=0.0)
    model = KFeatures(3, base=True, n_init=2, max_iter=20, random_state=0).fit(X.astype(np.float32))
    assert model.membership_[:, 0].all()


def test_starts_from_components_and_memberships():
    X, Z = planted(3)
    A, fit = least_squares(X, Z.astype(float))
    for init in (Z, Z.astype(int), Z.tolist(), A):
        model = KFeatures(4, init=init, search="paper").fit(X)
        assert model.objective_ <= fit + 1e-9 and model.n_iter_ <= 3
    poor = np.random.RandomState(0).rand(40, 4) < 0.5
    given = KFeatures(4, init=poor, search="paper").fit(X)
    expected, _, _ = literal_bp_means(X, least_squares(X, poor.astype(float))[0], poor, 0.0, 4)
    np.testing.assert_array_equal(
        given.membership_, expected[:, np.argsort(-expected.sum(axis=0), kind="stable")]
    )
    better = KFeatures(4, init=poor, random_state=0).fit(X)
    assert better.objective_ <= given.objective_ + 1e-9
    found = BPMeans(10.0, init=A[:2], base=True, random_state=0).fit(X)
    assert found.n_components_ == 4


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (
            KFeatures(2, init=np.ones((3, 4))),
            r"'init' parameter of KFeatures must be components of ",
        ),
        (KFeatures(3, init=np.ones((2, 6))), r"n_components = 3 features\. Got 2"),
        (BPMeans(1.0, max_components=1, init=np.ones((2, 6))), r"max_components = 1 .* Got 2"),
        (BPMeans(1.0, method="stepwise", init=np.ones((2, 6))), r"takes no 'init'"),
        (KFeatures(1, base=True, init=np.arange(40)[:, None] > 3), r"begin with a column of ones"),
        (KFeatures(2, init=2 * np.ones((40, 2))), r"zeros and ones. Got an array of shape"),
        (KFeatures(1, base="yes"), r"'base' parameter of KFeatures"),
    ],
)
def test_what_is_refused(model, says):
    with pytest.raises(ValueError, match=says):
        model.fit(planted(0)[0])
