"""The library against Kulis & Jordan's Algorithm 1 written out row by row."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from hardbayes import DPMeans, penalty_for
from hardbayes.core.arrays import VisitOrder
from hardbayes.dp_means import small
from tests.conftest import assert_same_bits, make_blobs, pairwise_sq, quiet_fit
from tests.random_inputs import between, put_zeros, random_cap, random_rows, random_weights
from tests.reference.certificates import assert_certificate
from tests.reference.dp_means import (
    divergence_matrix,
    literal_dp_means,
    literal_penalty_for,
    literal_restarts,
    prepared_rows,
)
from tests.reference.swept import swept_dp_means


def assert_history_close(history, expected):
    """One objective a sweep.  Whether the start counts as a partition to repeat is left open."""
    shared = min(len(history), len(expected))
    assert abs(len(history) - len(expected)) <= 1
    np.testing.assert_allclose(history[:shared], expected[:shared], rtol=1e-9, atol=1e-12)
    for longer in (history, expected):
        np.testing.assert_allclose(longer[shared:], expected[shared - 1], rtol=1e-9, atol=1e-12)


def assert_equals_literal(model, literal):
    np.testing.assert_array_equal(model.labels_, literal.labels)
    assert model.converged_ == literal.converged
    scale = np.abs(literal.centers).max()
    np.testing.assert_allclose(
        model.cluster_centers_, literal.centers, rtol=1e-9, atol=1e-12 * scale
    )
    assert_history_close(model.objective_history_, literal.history)
    np.testing.assert_allclose(model.objective_, literal.objective, rtol=1e-9, atol=1e-12)


def random_shape(rng):
    n = int(rng.choice([1, 2, 3, 5, 8, 20, 60, 150, 400], p=np.r_[[0.05] * 4, [0.16] * 5]))
    d = int(rng.choice([1, 2, 3, 5, 8, 16, 25, 40]))
    return n, d


def fit_both(X, penalty, weights, seed, *, container=np.asarray, n_init=1, **options):
    """The same problem in both: given order for even seeds, random for odd."""
    eta = options.pop("prior_weight", 0.0)
    given = seed % 2 == 0
    drawn = 3000 + seed  # not an order in which rounding decides between copies of a centre
    model = DPMeans(
        penalty,
        prior_weight=eta,
        order="given" if given else "random",
        random_state=drawn,
        n_init=n_init,
        search="paper",
        **options,
    )
    quiet_fit(model, container(X), weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small, "MAX_WORK", 0)  # in passes over tiles, as many rows would be
        assert_same_bits(quiet_fit(clone(model), container(X), weights), model)
    options = dict(options, prior_weight=eta, weights=weights)
    if given:
        literal = literal_dp_means(X, penalty, **options)
    else:
        literal = literal_restarts(X, penalty, random_state=drawn, n_init=n_init, **options)
    return model, literal


@pytest.mark.parametrize("seed", range(160))
def test_squared_euclidean(seed):
    rng = np.random.default_rng(seed)
    n, d = random_shape(rng)
    X = random_rows(rng, n, d)
    weights = random_weights(rng, n)
    penalty = between(rng, pairwise_sq(X))
    eta = float(rng.choice([0.0, 0.0, 0.5, 10.0]))
    cap = random_cap(rng)
    init = rng.choice(["mean", "farthest-first", "array"])
    if init == "farthest-first" and len(np.unique(X, axis=0)) < 3:
        init = "mean"  # two rows are equally far from their mean: rounding would choose
    if init == "array":
        k = int(rng.integers(1, min(n, cap or n) + 1))
        init = X[rng.choice(n, k, replace=False)] + 0.01 * rng.standard_normal((k, d)) * X.std()
    model, literal = fit_both(
        X, penalty, weights, seed, prior_weight=eta, init=init, max_clusters=cap
    )
    assert_equals_literal(model, literal)
    assert_certificate(model, X, weights)


@pytest.mark.parametrize("seed", range(100))
def test_kl(seed):
    rng = np.random.default_rng(1000 + seed)
    n, d = random_shape(rng)
    X = rng.gamma(0.5, size=(n, d)) + 1e-4
    zeros = rng.random() < 0.5
    if zeros:
        put_zeros(rng, X, 0.5)
    weights = random_weights(rng, n)
    if zeros and weights is not None:
        weights = weights + 0.1  # a row without weight may be infinitely far from every centre
    rows = prepared_rows(X, "kl")
    spread = divergence_matrix(rows, rows[: min(n, 20)] * 0.9 + rows.mean(axis=0) * 0.1, "kl")
    eta = float(rng.choice([0.0, 1.0, 10.0]))
    init = "farthest-first" if rng.random() < 0.3 and n > 2 and d > 2 and not zeros else "mean"
    model, literal = fit_both(
        X,
        between(rng, spread.ravel()),
        weights,
        seed,
        prior_weight=eta,
        init=init,
        max_clusters=random_cap(rng),
        divergence="kl",
    )
    assert_equals_literal(model, literal)
    assert_certificate(model, X, weights)


@pytest.mark.parametrize("seed", range(60))
def test_sparse(seed):
    rng = np.random.default_rng(2000 + seed)
    n, d = random_shape(rng)
    X = rng.gamma(0.5, size=(n, d)) + 1e-3
    put_zeros(rng, X, 0.7)
    weights = random_weights(rng, n)
    kl = seed % 3 == 0
    if kl and weights is not None:
        weights = weights + 0.1
    model, literal = fit_both(
        X,
        between(rng, pairwise_sq(X)) if not kl else float(rng.uniform(0.2, 3.0)),
        weights,
        seed,
        container=sparse.csr_matrix if seed % 2 else sparse.csr_array,
        prior_weight=float(rng.choice([0.0, 10.0])),
        max_clusters=random_cap(rng),
        divergence="kl" if kl else "squared_euclidean",
    )
    assert_equals_literal(model, literal)
    assert_certificate(model, X, weights)


@pytest.mark.parametrize("seed", range(5))
def test_the_two_references_agree(seed):
    X = make_blobs(300, 3, 12, seed=seed, spread=0.3)[0]
    penalty = float(np.quantile(pairwise_sq(X), 0.05)) * 1.0137
    literal = literal_dp_means(X, penalty)
    labels, value = swept_dp_means(X, penalty)
    np.testing.assert_array_equal(labels, literal.labels)
    np.testing.assert_allclose(value, literal.objective, rtol=1e-12)


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("seed", range(32))
def test_births_in_late_sweeps(seed):
    """Bounds carried between sweeps must survive births: many rows, clusters and sweeps."""
    blobs, spread, share = [(12, 0.3, 0.1), (40, 0.1, 0.1), (12, 0.3, 0.1), (150, 0.3, 0.02)][
        seed % 4
    ]
    X = make_blobs(4000, 2 + seed // 2 % 2, blobs, seed=seed, spread=spread)[0].astype(np.float32)
    penalty = float(np.quantile(pairwise_sq(X[:300]), share)) * 1.0137
    labels, value = swept_dp_means(X, penalty)
    for dtype in (np.float32, np.float64):
        model = DPMeans(penalty, order="given", search="paper").fit(X.astype(dtype))
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.objective_, value, rtol=1e-6)


@pytest.mark.parametrize("seed", range(1, 21, 2))
def test_restarts_follow_one_another_on_one_stream(seed):
    rng = np.random.default_rng(3000 + seed)
    X = rng.standard_normal((80, 3))
    penalty = between(rng, pairwise_sq(X))
    model, literal = fit_both(X, penalty, None, seed, n_init=5)
    assert_equals_literal(model, literal)


@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.parametrize("seed", range(1, 25, 2))
def test_a_few_births_among_given_centres(seed, n_init):
    """Births join centres that bounds know already, and a later start inherits nothing."""
    X = make_blobs(500, 2 + seed % 4 // 2, 30, seed=seed, spread=0.3)[0]
    penalty = float(np.quantile(pairwise_sq(X), 0.1)) * 1.0137
    model, literal = fit_both(X, penalty, None, seed, n_init=n_init, init=X[:60] * 1.01)
    assert_equals_literal(model, literal)


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("seed", range(30))
def test_integer_lattice(seed):
    """Exact ties everywhere: rounding may choose the path, the certificate holds regardless."""
    rng = np.random.default_rng(4000 + seed)
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 6))
    X = rng.integers(-2, 3, (n, d)).astype(float)
    weights = random_weights(rng, n)
    model = DPMeans(
        float(rng.integers(1, 8)),
        prior_weight=float(rng.choice([0.0, 1.0])),
        init=str(rng.choice(["mean", "farthest-first", "k-means++"])),
        max_clusters=random_cap(rng),
        random_state=seed,
        search="paper",
    )
    quiet_fit(model, X, weights)
    assert_certificate(model, X, weights)


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("seed", range(15))
def test_kmeans_plus_plus(seed, divergence):
    rng = np.random.default_rng(5000 + seed)
    n, d = int(rng.integers(1, 300)), int(rng.integers(1, 10))
    X = rng.gamma(0.5, size=(n, d)) + 1e-3
    weights = random_weights(rng, n)
    penalty = between(rng, pairwise_sq(X)) if divergence != "kl" else float(rng.uniform(0.05, 2))
    model = DPMeans(
        penalty,
        init="k-means++",
        divergence=divergence,
        prior_weight=float(rng.choice([0.0, 5.0])),
        max_clusters=random_cap(rng),
        random_state=seed,
        search="paper",
    )
    quiet_fit(model, X, weights)
    assert_certificate(model, X, weights)
    again = quiet_fit(DPMeans(**model.get_params()), X, weights)
    np.testing.assert_array_equal(model.labels_, again.labels_)


@pytest.mark.parametrize("max_iter", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_stopped_early(seed, max_iter):
    """max_iter leaves a model whose labels are the nearest centres, and says so."""
    rng = np.random.default_rng(6000 + seed)
    X = rng.standard_normal((200, 3))
    model, literal = fit_both(X, 4.0, None, seed, max_iter=max_iter)
    np.testing.assert_array_equal(model.labels_, literal.labels)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.converged_ == literal.converged
    assert model.n_iter_ == len(model.objective_history_) <= max_iter
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.objective_history_[-1] == model.objective_
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("seed", range(25))
def test_float32_takes_the_decisions_of_float64(seed, container):
    rng = np.random.default_rng(7000 + seed)
    n, d = random_shape(rng)
    X = random_rows(rng, n, d).astype(np.float32)
    penalty = between(rng, pairwise_sq(X))
    weights = random_weights(rng, n)
    options = dict(random_state=seed, max_clusters=random_cap(rng), search="paper")
    wide = quiet_fit(DPMeans(penalty, **options), container(X.astype(np.float64)), weights)
    narrow = quiet_fit(DPMeans(penalty, **options), container(X), weights)
    np.testing.assert_array_equal(narrow.labels_, wide.labels_)
    assert narrow.cluster_centers_.dtype == np.float32
    np.testing.assert_allclose(narrow.objective_, wide.objective_, rtol=1e-6)
    np.testing.assert_array_equal(narrow.predict(container(X)), narrow.labels_)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("seed", range(16))
def test_float32_takes_the_decisions_of_float64_for_kl(seed, container):
    rng = np.random.default_rng(9000 + seed)
    n, d = random_shape(rng)
    X = (rng.gamma(0.5, size=(n, d)) + 1e-3).astype(np.float32)
    if seed % 2:
        X[rng.random(X.shape) < 0.5] = 0.0
        X[np.arange(n), rng.integers(0, d, n)] += np.float32(0.1)
    penalty = float(rng.uniform(0.05, 2.0))
    options = dict(random_state=seed, divergence="kl", search="paper")
    wide = quiet_fit(DPMeans(penalty, **options), container(X.astype(np.float64)))
    narrow = quiet_fit(DPMeans(penalty, **options), container(X))
    np.testing.assert_array_equal(narrow.labels_, wide.labels_)
    np.testing.assert_allclose(narrow.objective_, wide.objective_, rtol=1e-5)
    np.testing.assert_array_equal(narrow.predict(container(X)), narrow.labels_)


@pytest.mark.parametrize("d", [2, 32, 130])
def test_many_tiles(d):
    """Enough rows for several tiles, births in all of them, both widths."""
    rng = np.random.default_rng(d)
    X = make_blobs(6000, d, 40, seed=d, spread=0.3)[0].astype(np.float32)
    penalty = float(np.quantile(pairwise_sq(X[:300]), 0.2))
    order = rng.permutation(len(X))
    X = X[order]
    literal = literal_dp_means(X, penalty, max_iter=3)
    for dtype in (np.float32, np.float64):
        model = quiet_fit(
            DPMeans(penalty, order="given", max_iter=3, search="paper"), X.astype(dtype)
        )
        np.testing.assert_array_equal(model.labels_, literal.labels)
        np.testing.assert_allclose(model.objective_history_, literal.history, rtol=1e-6)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("n_clusters", [1, 2, 5, 20])
def test_penalty_for(divergence, n_clusters):
    rng = np.random.default_rng(n_clusters)
    X = rng.gamma(0.5, size=(60, 4)) + 1e-3
    value = penalty_for(X, n_clusters, divergence=divergence)
    np.testing.assert_allclose(
        value, literal_penalty_for(X, n_clusters, divergence=divergence), rtol=1e-9
    )
    again = penalty_for(sparse.csr_matrix(X), n_clusters, divergence=divergence)
    np.testing.assert_allclose(again, value, rtol=1e-9)


@pytest.mark.parametrize("max_work", [small.MAX_WORK, 0])
@pytest.mark.parametrize("seed", range(6))
def test_rows_may_be_permuted_anew_for_each_sweep(seed, max_work, monkeypatch):
    monkeypatch.setattr(small, "MAX_WORK", max_work)
    rng = np.random.default_rng(seed)
    X = random_rows(rng, 80, 3)
    penalty = between(rng, pairwise_sq(X)) / 4
    stream = np.random.RandomState(seed)
    orders = []

    def order():
        orders.append(VisitOrder.draw("random-each-sweep", stream).rows(len(X)))
        return orders[-1]

    literal = literal_dp_means(X, penalty, order=order)
    model = DPMeans(penalty, search="paper", order="random-each-sweep", random_state=seed)
    assert_equals_literal(quiet_fit(model, X), literal)
    assert len(orders) < 2 or (orders[0] != orders[1]).any()
    collapsed = clone(model).set_params(method="collapsed")
    assert_certificate(quiet_fit(collapsed, X), X)
