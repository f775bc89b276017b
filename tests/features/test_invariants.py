"""What must hold of feature models: scales, offsets, weights, containers, threads."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import BPMeans, KFeatures
from hardbayes.datasets import make_dice, make_tabletop
from hardbayes.features import tiles
from tests.conftest import assert_same_numbers, quiet_fit
from tests.reference.features import assert_feature_certificate, feature_objective, same_up_to_sign

NUMBERS = ("components_", "inertia_", "objective_", "objective_history_", "component_penalty_")


def assert_same_bits(a, b):
    np.testing.assert_array_equal(a.membership_, b.membership_)
    assert_same_numbers(a, b, NUMBERS)


@pytest.fixture(scope="module")
def table():
    return make_tabletop(60, random_state=0)


@pytest.fixture
def small_tiles(monkeypatch):
    """Cut even small data into several tiles."""
    monkeypatch.setattr(tiles, "KEPT", 1 << 15)
    monkeypatch.setattr(tiles, "TILE", 1 << 12)


ESTIMATORS = [
    KFeatures(4, n_init=4, random_state=0),
    BPMeans(20.0, n_init=4, random_state=0),
    BPMeans(20.0, method="collapsed", n_init=6, random_state=0),
    BPMeans("auto", method="stepwise", n_init=2, random_state=0),
    BPMeans(20.0, search="paper", n_init=4, random_state=0),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_any_number_of_threads_gives_the_same_bits(model, table):
    one = quiet_fit(model.set_params(n_jobs=1), table[0])
    kept = {name: np.copy(getattr(one, name)) for name in (*NUMBERS, "membership_")}
    three = quiet_fit(model.set_params(n_jobs=3), table[0])
    for name, value in kept.items():
        assert value.tobytes() == np.asarray(getattr(three, name)).tobytes(), name


@pytest.mark.parametrize("model", ESTIMATORS[:3], ids=str)
def test_many_tiles_and_threads(model, table, small_tiles):
    X, truth = table
    a = quiet_fit(model.set_params(n_jobs=1), X)
    found = a.membership_, a.components_
    b = quiet_fit(model.set_params(n_jobs=3), X)
    np.testing.assert_array_equal(found[0], b.membership_)
    assert found[1].tobytes() == b.components_.tobytes()
    assert_feature_certificate(b, X)
    np.testing.assert_array_equal(b.transform(X), b.membership_)
    if isinstance(model, BPMeans):
        assert same_up_to_sign(b.membership_, truth[:, 1:])


@pytest.mark.parametrize("power", [-300, -40, 3, 200])
def test_powers_of_two_change_nothing(power, table):
    X, _ = table
    model = BPMeans(20.0, n_init=2, random_state=0).fit(X)
    scaled = BPMeans(20.0 * 4.0**power, n_init=2, random_state=0).fit(X * 2.0**power)
    np.testing.assert_array_equal(scaled.membership_, model.membership_)
    np.testing.assert_array_equal(scaled.components_, model.components_ * 2.0**power)
    assert scaled.objective_ == model.objective_ * 4.0**power


@pytest.mark.parametrize(
    ("offset", "dtype"), [(1e3, np.float32), (1e6, np.float64), (-1e12, float)]
)
def test_offsets_go_into_the_base(offset, dtype, table):
    X, truth = table
    X = (X * 64).round() / 64  # so that the offset does not round it away
    if dtype is np.float32:
        X = X * 64
    model = BPMeans(random_state=0, n_init=4).fit((X + offset).astype(dtype))
    assert model.n_components_ == 5
    assert same_up_to_sign(model.membership_, truth)
    assert model.membership_[:, 0].all()


def test_weights_are_repetitions(table):
    X, _ = table
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    repeated = np.repeat(X, weights, axis=0)
    a = BPMeans(20.0, random_state=0).fit(X, sample_weight=weights)
    b = BPMeans(20.0, random_state=0).fit(repeated)
    assert a.objective_ == pytest.approx(b.objective_)
    assert a.n_components_ == b.n_components_
    assert_feature_certificate(a, X, weights)
    np.testing.assert_array_equal(a.transform(X), a.membership_)  # rows of no weight, too


def test_the_order_of_rows_does_not_matter(table):
    X, _ = table
    order = np.random.default_rng(0).permutation(len(X))
    a = BPMeans(20.0, random_state=0).fit(X)
    b = BPMeans(20.0, random_state=0).fit(X[order])
    assert a.objective_ == pytest.approx(b.objective_)
    assert same_up_to_sign(b.membership_, a.membership_[order])


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_are_dense_rows(make):
    X, _ = make_dice(50, random_state=0)
    dense = BPMeans(30.0, n_init=3, random_state=0).fit(X)
    thin = BPMeans(30.0, n_init=3, random_state=0).fit(make(X))
    assert_same_bits(dense, thin)
    np.testing.assert_array_equal(dense.transform(make(X)), thin.transform(X))


def test_sparse_rows_at_a_model_of_shifted_ones(table):
    X, _ = table
    model = BPMeans(n_init=2, random_state=0).fit(X + 1000.0)
    thin = sparse.csr_array(X + 1000.0)
    np.testing.assert_array_equal(model.transform(thin), model.membership_)


def test_float32_is_kept_and_finds_the_same(table):
    X, truth = table
    model = BPMeans(20.0, random_state=0).fit(X.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert model.inverse_transform(model.membership_).dtype == np.float32
    assert same_up_to_sign(model.membership_, truth)
    assert_feature_certificate(model, X.astype(np.float32))
    np.testing.assert_array_equal(model.transform(X.astype(np.float32)), model.membership_)


def test_containers_do_not_matter(table):
    X, _ = table
    expected = KFeatures(3, n_init=2, random_state=0).fit(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    for same in (np.asfortranarray(X), X[::-1][::-1], read_only, X.tolist()):
        assert_same_bits(KFeatures(3, n_init=2, random_state=0).fit(same), expected)


def test_objective_follows_from_the_memberships(table):
    X, _ = table
    for model in (KFeatures(3, random_state=0), BPMeans(10.0, random_state=0)):
        model.fit(X)
        recomputed = feature_objective(X, model.membership_, model.component_penalty_)
        assert model.objective_ == pytest.approx(recomputed)
        assert model.score(X) == pytest.approx(-model.inertia_)


def test_k_features_never_gets_worse_with_more(table):
    X, _ = table
    fits = [KFeatures(k, random_state=0).fit(X).inertia_ for k in range(1, 8)]
    assert (np.diff(fits) <= 0).all()


def test_penalties_at_their_extremes():
    X, _ = make_dice(30, random_state=0)
    none = BPMeans(1e9, random_state=0).fit(X)
    assert none.n_components_ == 0
    assert none.membership_.shape == (30, 0)
    assert none.transform(X).shape == (30, 0)
    assert none.inverse_transform(none.membership_).shape == X.shape
    assert none.objective_ == (X**2).sum()
    free = BPMeans(0.0, random_state=0).fit(X)
    assert free.inertia_ == pytest.approx(0.0, abs=1e-12)


def test_dependent_columns_are_dropped_where_they_cost():
    # Rows with 1100, 0011 and 1111 can be made of two features; a third would only cost.
    X = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3 + [[1.0, 1.0]] * 3)
    model = BPMeans(0.01, random_state=0).fit(X)
    assert model.n_components_ == 2
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((5, 3)),
        np.ones((6, 2)),
        np.array([[2.0, 3.0]]),
        np.arange(7.0)[:, np.newaxis],
        np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]),
    ],
    ids=["zeros", "constant", "one row", "one column", "duplicates"],
)
@pytest.mark.parametrize("model", [KFeatures(3, random_state=0), BPMeans(random_state=0)], ids=str)
def test_degenerate_rows(X, model):
    quiet_fit(model, X)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.objective_)
    assert model.n_components_ <= 3 or isinstance(model, BPMeans)
    assert_feature_certificate(model, X)
    np.testing.assert_array_equal(model.transform(X).shape, model.membership_.shape)
