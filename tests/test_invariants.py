"""What must hold for every input: symmetries, limits, containers, and agreement between methods."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, GaussianDPMeans, objective
from hardbayes.core.arrays import VisitOrder
from hardbayes.datasets import make_blobs_apart
from tests.conftest import (
    assert_all_finite,
    assert_same_bits,
    make_blobs,
    pairwise_sq,
    paper,
    quiet_fit,
)
from tests.random_inputs import put_zeros
from tests.reference.brute_force import brute_force
from tests.reference.certificates import assert_certificate
from tests.reference.dp_means import (
    divergence_matrix,
    labelling_objective,
    literal_dp_means,
    prepared_rows,
    same_partition,
)

pytestmark = pytest.mark.usefixtures("both_sweeps")


def kl_rows(n, d, seed=0, zeros=False):
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(n, d)) + 1e-3
    if zeros:
        put_zeros(rng, X, 0.5)
    return X


# --- the objective ---------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("prior_weight", [0.0, 3.0])
def test_objective_function_is_the_definition(divergence, prior_weight):
    rng = np.random.default_rng(0)
    X = kl_rows(80, 4, zeros=prior_weight > 0)
    labels = rng.integers(0, 6, 80)
    w = rng.uniform(0, 2, 80)
    for weights in (None, w):
        value = objective(
            X,
            labels,
            0.7,
            divergence=divergence,
            prior_weight=prior_weight,
            sample_weight=weights,
        )
        expected = labelling_objective(
            X, labels, 0.7, divergence=divergence, prior_weight=prior_weight, weights=weights
        )
        assert isinstance(value, float)
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        as_sparse = objective(
            sparse.csr_matrix(X),
            labels,
            0.7,
            divergence=divergence,
            prior_weight=prior_weight,
            sample_weight=weights,
        )
        np.testing.assert_allclose(as_sparse, expected, rtol=1e-10)


def test_objective_takes_any_labels():
    X, member = make_blobs(100, 3, 4)
    expected = objective(X, member, 0.5)
    assert objective(X, 10 * member + 3, 0.5) == pytest.approx(expected, rel=1e-12)
    assert objective(X, (3 - member).astype(np.int64), 0.5) == pytest.approx(expected, rel=1e-12)
    assert objective(X, list(member), 0.5) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
def test_weights_are_repetition_in_the_objective(divergence, prior_weight):
    rng = np.random.default_rng(1)
    X = kl_rows(50, 5)
    labels = rng.integers(0, 4, 50)
    w = rng.integers(0, 4, 50)
    w[:4] = 1
    labels[:4] = range(4)
    options = dict(divergence=divergence, prior_weight=prior_weight)
    weighted = objective(X, labels, 1.3, sample_weight=w, **options)
    repeated = objective(np.repeat(X, w, axis=0), np.repeat(labels, w), 1.3, **options)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("seed", range(6))
def test_model_and_objective_function_agree(divergence, seed, given):
    X = kl_rows(120, 6, seed, zeros=seed % 2 == 1)
    w = np.random.default_rng(seed).uniform(0.1, 2, 120)
    model = given(0.4, divergence=divergence).fit(X, sample_weight=w)
    value = objective(
        X,
        model.labels_,
        model.cluster_penalty_,
        divergence=divergence,
        prior_weight=model.prior_weight_,
        sample_weight=w,
    )
    np.testing.assert_allclose(model.objective_, value, rtol=1e-10)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("seed", range(12))
def test_never_below_the_optimum(divergence, seed, given):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8)) if seed else 8
    X = kl_rows(n, 3, seed)
    w = rng.uniform(0.2, 2, n) if seed % 2 else None
    eta = [0.0, 1.0][seed % 3 == 0]
    penalty = [0.01, 0.1, 0.5][seed % 3]
    best, labels = brute_force(X, penalty, divergence=divergence, prior_weight=eta, weights=w)
    options = dict(divergence=divergence, prior_weight=eta)
    for init in ("mean", "farthest-first", "k-means++"):
        model = given(penalty, init=init, random_state=0, **options).fit(X, sample_weight=w)
        assert best <= model.objective_ * (1 + 1e-12)
    # The optimum is a fixed point: started there, the fit stays.
    at = prepared_rows(X, divergence)
    weights = np.ones(n) if w is None else w
    m = np.average(at, axis=0, weights=weights)
    centers = np.array(
        [
            ((weights[labels == k, None] * at[labels == k]).sum(axis=0) + eta * m)
            / (weights[labels == k].sum() + eta)
            for k in range(labels.max() + 1)
        ]
    )
    model = given(penalty, init=centers, **options).fit(X, sample_weight=w)
    np.testing.assert_allclose(model.objective_, best, rtol=1e-10)


@pytest.mark.parametrize("n_init", [1, 4])
def test_best_of_restarts(n_init, search):
    X, _ = make_blobs(150, 2, 10, spread=0.2)
    model = DPMeans(0.3, search=search, n_init=n_init, random_state=3).fit(X)
    alone = DPMeans(0.3, search=search, n_init=1, random_state=3).fit(X)
    assert model.objective_ <= alone.objective_
    if n_init == 1:
        assert_same_bits(model, alone)
    assert_certificate(model, X)


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_penalty_is_one_cluster_at_the_mean(divergence, dtype, given):
    X = kl_rows(500, 5).astype(dtype)
    w = np.random.default_rng(0).uniform(0, 2, 500)
    for weights in (None, w):
        model = given(1e12, divergence=divergence).fit(X, sample_weight=weights)
        assert model.n_clusters_ == 1
        assert (model.labels_ == 0).all()
        mean = np.average(prepared_rows(X, divergence), axis=0, weights=weights)
        rtol = 1e-6 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(model.cluster_centers_[0], mean, rtol=rtol)
        assert_certificate(model, X, weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("init", ["mean", "farthest-first", "k-means++"])
def test_zero_penalty_is_one_cluster_per_distinct_row(dtype, container, init, given):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 3)).astype(dtype)
    X = rows[rng.integers(0, 40, 200)]
    distinct, member = np.unique(X, axis=0, return_inverse=True)
    model = given(0.0, init=init, random_state=0, max_clusters=500)  # a cap no sound fit meets
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(container(X))
    assert model.converged_
    assert model.n_clusters_ == len(distinct)
    assert adjusted_rand_score(model.labels_, member.ravel()) == 1.0
    assert model.inertia_ <= 1e-10
    np.testing.assert_array_equal(model.predict(container(X)), model.labels_)


def test_zero_penalty_with_a_cap_is_k_means():
    X, _ = make_blobs(400, 4, 6, spread=0.3)
    start = X[:6].copy()
    model = quiet_fit(paper(0.0, init=start, max_clusters=6), X)
    lloyd = KMeans(6, init=start, n_init=1, tol=0, max_iter=1000, algorithm="lloyd").fit(X)
    np.testing.assert_array_equal(model.labels_, lloyd.labels_)
    np.testing.assert_allclose(model.inertia_, lloyd.inertia_, rtol=1e-9)
    np.testing.assert_allclose(model.objective_, model.inertia_, rtol=1e-12)
    assert_certificate(model, X)


@pytest.mark.parametrize("cap", [1, 2, 7])
@pytest.mark.parametrize("init", ["mean", "farthest-first", "k-means++"])
def test_cap_is_never_exceeded(cap, init, given):
    X = np.random.default_rng(0).standard_normal((300, 3))
    model = quiet_fit(given(0.0, init=init, max_clusters=cap, random_state=0), X)
    assert model.n_clusters_ <= cap
    assert_certificate(model, X)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 1), (7, 1), (3, 40)])
@pytest.mark.parametrize("penalty", [0.0, 0.3, 1e6])
def test_tiny_shapes(shape, penalty, given):
    X = np.random.default_rng(0).standard_normal(shape)
    model = given(penalty).fit(X)
    assert_certificate(model, X)
    if penalty == 0.0:
        assert model.n_clusters_ == shape[0]
    if penalty == 1e6:
        assert model.n_clusters_ == 1


def test_identical_rows_are_one_cluster(given):
    for value in (0.0, 0.1, -3.3e7, 1e-30):
        X = np.full((1000, 3), value)
        for penalty in (0.0, 1.0):
            model = given(penalty).fit(X)
            assert model.n_clusters_ == 1
            np.testing.assert_allclose(model.cluster_centers_[0], value, rtol=1e-15)
            assert model.inertia_ <= 1e-20


def test_constant_columns_change_nothing(blobs, given):
    X, _ = blobs
    wide = np.column_stack([np.full(len(X), 3.7), X, np.full(len(X), -1e6)])
    plain, padded = given(20.0).fit(X), given(20.0).fit(wide)
    np.testing.assert_array_equal(plain.labels_, padded.labels_)
    np.testing.assert_allclose(plain.objective_, padded.objective_, rtol=1e-9)
    np.testing.assert_allclose(padded.cluster_centers_[:, 0], 3.7, rtol=1e-15)


def test_zero_columns_change_nothing_for_kl():
    X = kl_rows(100, 5)
    wide = np.column_stack([np.zeros(100), X, np.zeros(100)])
    options = dict(divergence="kl", prior_weight=1.0)
    plain, padded = paper(0.2, **options).fit(X), paper(0.2, **options).fit(wide)
    np.testing.assert_array_equal(plain.labels_, padded.labels_)
    np.testing.assert_allclose(plain.objective_, padded.objective_, rtol=1e-9)
    assert_all_finite(padded)


def test_prior_weight_auto(given):
    dense, holed = kl_rows(60, 5), kl_rows(60, 5, zeros=True)
    assert given(0.3).fit(holed).prior_weight_ == 0.0
    assert given(0.3, divergence="kl").fit(dense).prior_weight_ == 0.0
    assert given(0.3, divergence="kl").fit(holed).prior_weight_ == 10.0
    assert given(0.3, divergence="kl").fit(sparse.csr_matrix(holed)).prior_weight_ == 10.0
    assert given(0.3, divergence="kl").fit(sparse.csr_matrix(dense)).prior_weight_ == 0.0


def test_kl_normalises_rows(given):
    X = kl_rows(150, 6)
    factor = 2.0 ** np.random.default_rng(0).integers(-5, 6, 150)
    one, other = (
        given(0.3, divergence="kl").fit(X),
        given(0.3, divergence="kl").fit(X * factor[:, None]),
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(one.predict(3.7 * X), one.labels_)


def test_kl_orders_row_first():
    """D(x, mu) and D(mu, x) label this row differently."""
    X = np.array([[0.9, 0.1], [0.5, 0.5]])
    model = quiet_fit(
        paper(1e9, divergence="kl", prior_weight=0.0, init=X.copy(), max_clusters=2), X
    )
    probe = np.array([[p, 1 - p] for p in np.linspace(0.55, 0.88, 200)])
    expected = divergence_matrix(probe, X, "kl").argmin(axis=1)
    np.testing.assert_array_equal(model.predict(probe), expected)


# --- ties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_exact_ties_go_to_the_earliest_cluster(dtype, container):
    X = np.array([[1.0], [0.0], [2.0]], dtype=dtype)
    start = np.array([[2.0], [0.0]], dtype=dtype)
    model = paper(10.0, init=start).fit(container(X))
    np.testing.assert_array_equal(model.labels_, [0, 1, 0])
    model = paper(10.0, init=start[::-1].copy()).fit(container(X))
    np.testing.assert_array_equal(model.labels_, [0, 0, 1])


@pytest.mark.parametrize("d", [1, 3, 40])
def test_a_row_at_exactly_the_penalty_stays(d):
    """The test is 'dearer than': equality opens nothing, a hair less does."""
    X = np.zeros((4, d))
    X[0, 0], X[1, 0] = -2.0, 2.0  # mean zero, squared distance 4
    assert paper(4.0).fit(X).n_clusters_ == 1
    assert paper(np.nextafter(4.0, 0.0)).fit(X).n_clusters_ > 1


def test_equal_initial_centres_keep_the_first():
    X, _ = make_blobs(100, 2, 3)
    model = paper(1e9, init=np.zeros((4, 2))).fit(X)
    assert model.n_clusters_ == 1
    assert (model.labels_ == 0).all()


def test_clusters_are_numbered_by_creation():
    X = np.array([[0.0], [100.0], [0.1], [-100.0], [100.1], [50.0]])
    model = paper(10.0, init=np.array([[0.0]])).fit(X)
    np.testing.assert_array_equal(model.labels_, [0, 1, 0, 2, 1, 3])
    # The first cluster, at the mean, loses all its rows: the others move up.
    far = np.array([[-10.0], [10.0], [-10.5], [10.5]])
    model = paper(1.0).fit(far)
    np.testing.assert_array_equal(model.labels_, [0, 1, 0, 1])


# --- symmetries ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [-400, -301, -60, -1, 1, 60, 301, 400])
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
def test_power_of_two_scale_float64(k, prior_weight, given):
    X, _ = make_blobs(300, 5, 8, spread=0.2)
    penalty = 0.35
    plain = given(penalty, prior_weight=prior_weight).fit(X)
    assert 1 < plain.n_clusters_ < 100
    scaled = given(penalty * 4.0**k, prior_weight=prior_weight).fit(X * 2.0**k)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_array_equal(scaled.cluster_centers_, plain.cluster_centers_ * 2.0**k)
    np.testing.assert_allclose(scaled.objective_ / 4.0**k, plain.objective_, rtol=1e-12)
    np.testing.assert_array_equal(scaled.predict(X * 2.0**k), plain.labels_)
    assert_all_finite(scaled)


@pytest.mark.parametrize("k", [-80, -60, -31, 31, 60, 64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_power_of_two_scale_float32(k, container, given):
    X = make_blobs(300, 5, 8, spread=0.2)[0].astype(np.float32)
    penalty = 0.35
    plain = given(penalty).fit(container(X))
    factor = np.float32(2.0**k)
    scaled = given(penalty * 4.0**k).fit(container(X * factor))
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_allclose(scaled.cluster_centers_, plain.cluster_centers_ * factor, rtol=1e-6)
    np.testing.assert_allclose(scaled.objective_ / 4.0**k, plain.objective_, rtol=1e-6)
    np.testing.assert_array_equal(scaled.predict(container(X * factor)), plain.labels_)
    assert_all_finite(scaled)


@pytest.mark.parametrize("init", ["mean", "farthest-first"])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_random_order_is_the_given_order_of_permuted_rows(init, divergence):
    X = kl_rows(200, 4)
    w = np.random.default_rng(1).uniform(0.1, 2, 200)
    for seed in range(5):
        order = VisitOrder.draw("random", np.random.RandomState(seed)).rows(200)
        options = dict(init=init, divergence=divergence)
        random = paper(0.3, order="random", random_state=seed, **options).fit(X, sample_weight=w)
        given = paper(0.3, **options).fit(X[order], sample_weight=w[order])
        np.testing.assert_array_equal(random.labels_[order], given.labels_)
        np.testing.assert_allclose(random.objective_history_, given.objective_history_, rtol=1e-10)


def test_column_order_does_not_matter(blobs):
    X = make_blobs(300, 7, 6, spread=0.3)[0]
    plain, reversed_ = paper(0.5).fit(X), paper(0.5).fit(X[:, ::-1])
    np.testing.assert_array_equal(plain.labels_, reversed_.labels_)


def test_equal_weights_are_a_scale_of_the_penalty(given):
    X, _ = make_blobs(300, 3, 6, spread=0.2)
    plain = given(0.5).fit(X)
    doubled = given(1.0).fit(X, sample_weight=np.full(300, 2.0))
    np.testing.assert_array_equal(plain.labels_, doubled.labels_)
    np.testing.assert_allclose(2 * plain.objective_, doubled.objective_, rtol=1e-12)
    ones = given(0.5).fit(X, sample_weight=np.ones(300))
    np.testing.assert_array_equal(plain.labels_, ones.labels_)
    np.testing.assert_allclose(plain.objective_, ones.objective_, rtol=1e-12)
    number = given(0.5).fit(X, sample_weight=1.0)
    np.testing.assert_array_equal(plain.labels_, number.labels_)


def rows_of_no_weight_far_away():
    """Half the rows weigh nothing, and would be the first to open a cluster."""
    X = kl_rows(200, 4)
    w = np.random.default_rng(3).integers(0, 2, 200).astype(float)
    X[w == 0] = X[w == 0][:, ::-1] * np.array([50.0, 1.0, 1.0, 1.0])
    return X, w


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("init", ["mean", "farthest-first", "k-means++"])
def test_rows_without_weight_are_labelled(divergence, init, given):
    X, w = rows_of_no_weight_far_away()
    model = given(0.4, divergence=divergence, init=init, random_state=0).fit(X, sample_weight=w)
    assert_certificate(model, X, w)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("init", ["mean", "farthest-first"])
def test_rows_without_weight_change_nothing(divergence, init):
    X, w = rows_of_no_weight_far_away()
    model = paper(0.4, divergence=divergence, init=init).fit(X, sample_weight=w)
    alone = paper(0.4, divergence=divergence, init=init).fit(X[w > 0])
    np.testing.assert_array_equal(model.labels_[w > 0], alone.labels_)
    np.testing.assert_allclose(model.objective_, alone.objective_, rtol=1e-10)
    np.testing.assert_allclose(model.cluster_centers_, alone.cluster_centers_, rtol=1e-10)


def test_kl_row_without_weight_outside_the_support(given):
    """Infinitely far from every centre, and owed nothing."""
    X = np.array([[1.0, 1.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = given(0.1, divergence="kl", prior_weight=1.0).fit(X, sample_weight=[1.0, 1.0, 0.0])
    assert_all_finite(model)
    assert set(model.labels_) <= set(range(model.n_clusters_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


# --- offsets ---------------------------------------------------------------------------------


def assert_offset_changes_nothing(X, offset, penalty):
    plain, moved = paper(penalty).fit(X), paper(penalty).fit(offset)
    assert plain.n_clusters_ > 1
    np.testing.assert_array_equal(moved.labels_, plain.labels_)
    np.testing.assert_allclose(moved.objective_, plain.objective_, rtol=1e-6)
    np.testing.assert_array_equal(moved.predict(offset), plain.labels_)
    return plain


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [2, 24])
def test_offset_float32(seed, d):
    """float32 near 1e8 holds multiples of 8: rows on that grid survive the offset exactly."""
    X = np.round(make_blobs(500, d, 12, seed=seed, spread=100, box=1000)[0] / 8) * 8
    penalty = float(np.quantile(pairwise_sq(X), 0.1)) * 1.0137
    offset = (X + 1e8).astype(np.float32)
    np.testing.assert_array_equal(offset.astype(np.float64) - 1e8, X)
    plain = assert_offset_changes_nothing(X, offset, penalty)
    np.testing.assert_array_equal(plain.labels_, literal_dp_means(X, penalty).labels)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [2, 24])
def test_offset_float64(seed, d):
    """float64 near 1e12 holds multiples of 2**-13."""
    X = np.round(make_blobs(500, d, 12, seed=seed, spread=0.1)[0] * 4096) / 4096
    penalty = float(np.quantile(pairwise_sq(X), 0.1)) * 1.0137
    offset = X + np.where(np.arange(d) % 2, -1e12, 1e12)
    assert_offset_changes_nothing(X, offset, penalty)


@pytest.mark.parametrize("d", [2, 24])
@pytest.mark.parametrize(
    ("dtype", "grid", "shift"), [(np.float32, 8.0, 1e8), (np.float64, 2.0**-12, 1e12)]
)
def test_offset_of_separated_rows(d, dtype, grid, shift, given):
    """Rows on a grid that survives the offset: the clusters are where they were."""
    X, member = make_blobs_apart(400, d, 12, radius=100 * grid, random_state=0)
    X = np.round(X / grid) * grid
    moved = (X + shift).astype(dtype)
    np.testing.assert_array_equal(moved.astype(np.float64) - shift, X)
    penalty = float(400 * (100 * grid) ** 2)
    plain, model = given(penalty).fit(X), given(penalty).fit(moved)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(moved), plain.labels_)
    if plain.search != "paper":
        assert same_partition(plain.labels_, member)


def test_offset_of_sparse_rows(given):
    """Sparse rows cannot be centred in place; a column of large values must not blur the rest."""
    X = make_blobs(300, 3, 6, spread=0.1)[0]
    wide = np.column_stack([np.full(300, 1e6), X])
    plain, moved = given(0.3).fit(X), given(0.3).fit(sparse.csr_matrix(wide))
    np.testing.assert_array_equal(plain.labels_, moved.labels_)
    np.testing.assert_allclose(moved.objective_, plain.objective_, rtol=1e-6)


# --- containers ------------------------------------------------------------------------------


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    assert not view.flags.aligned
    return view


def strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def reversed_view(X):
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, strided, reversed_view, read_only, unaligned, np.ndarray.tolist],
)
def test_dense_layouts_give_the_same_bits(dtype, layout, given):
    X = make_blobs(700, 6, 8, spread=0.2, dtype=dtype)[0]
    expected = given(0.3).fit(X)
    other = layout(X)
    if layout is np.ndarray.tolist:
        expected = given(0.3).fit(X.astype(np.float64))
    model = given(0.3).fit(other)
    assert_same_bits(model, expected)
    np.testing.assert_array_equal(model.predict(layout(X)), expected.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memmap(tmp_path, dtype, given):
    X = make_blobs(700, 6, 8, spread=0.2, dtype=dtype)[0]
    np.save(tmp_path / "rows.npy", X)
    for mode in ("r", "c"):
        mapped = np.load(tmp_path / "rows.npy", mmap_mode=mode)
        model = given(0.3).fit(mapped)
        assert_same_bits(model, given(0.3).fit(X))
        assert not any(isinstance(v, np.memmap) for v in vars(model).values())
        np.testing.assert_array_equal(model.predict(mapped), model.labels_)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_formats(index, dtype, given):
    rng = np.random.default_rng(0)
    X = make_blobs(400, 12, 8, spread=0.2)[0]
    X[rng.random(X.shape) < 0.6] = 0.0
    X = X.astype(dtype)
    expected = given(0.8).fit(X)
    first = None
    for kind in (
        sparse.csr_matrix,
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        sparse.lil_matrix,
    ):
        S = kind(X)
        if hasattr(S, "indptr"):
            S.indptr, S.indices = S.indptr.astype(index), S.indices.astype(index)
        model = given(0.8).fit(S)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        rtol = 1e-12 if dtype == np.float64 else 1e-6
        np.testing.assert_allclose(
            model.cluster_centers_, expected.cluster_centers_, rtol=rtol, atol=rtol
        )
        np.testing.assert_allclose(model.objective_, expected.objective_, rtol=rtol)
        assert model.cluster_centers_.dtype == dtype
        np.testing.assert_array_equal(model.predict(S), expected.labels_)
        np.testing.assert_array_equal(model.predict(X), expected.labels_)
        np.testing.assert_array_equal(expected.predict(S), expected.labels_)
        first = first or model
        assert_same_bits(model, first)


def test_explicit_zeros_and_empty_sparse_rows(given):
    X = np.zeros((30, 4))
    X[::3, 0], X[1::3, 2] = 5.0, -5.0
    S = sparse.csr_matrix(X)
    full = sparse.csr_matrix((X.ravel(), np.tile(np.arange(4), 30), np.arange(0, 121, 4)))
    expected = given(2.0).fit(X)
    assert expected.n_clusters_ == 3
    for container in (S, full):
        np.testing.assert_array_equal(given(2.0).fit(container).labels_, expected.labels_)


@pytest.mark.parametrize(
    "dtype",
    [np.float16, np.int8, np.uint8, np.int32, np.int64, np.uint64, bool, ">f8", ">f4", ">i4"],
)
def test_other_dtypes(dtype, given):
    rng = np.random.default_rng(0)
    if dtype is bool:
        X = rng.random((200, 9)) < 0.3
    elif dtype is np.float16:
        X = rng.standard_normal((200, 4)).astype(dtype)
    else:
        X = rng.integers(0, 100, (200, 4)).astype(dtype)
    penalty = float(np.quantile(pairwise_sq(X), 0.1)) * 1.0137
    model = given(penalty).fit(X)
    expected = given(penalty).fit(X.astype(np.float64))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-6)
    assert model.cluster_centers_.dtype in (np.float32, np.float64)


def test_longdouble(given):
    X = make_blobs(100, 3, 4)[0]
    model = given(0.3).fit(X.astype(np.longdouble))
    np.testing.assert_array_equal(model.labels_, given(0.3).fit(X).labels_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_frames(library, dtype, given):
    frames = pytest.importorskip(library)
    X = make_blobs(300, 4, 6, spread=0.2, dtype=dtype)[0]
    frame = frames.DataFrame({f"c{j}": X[:, j] for j in range(4)})
    model, expected = given(0.3).fit(frame), given(0.3).fit(X)
    assert_same_bits(model, expected)
    assert list(model.feature_names_in_) == ["c0", "c1", "c2", "c3"]
    np.testing.assert_array_equal(model.predict(frame), expected.labels_)
    out = model.set_output(transform=library).transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(out.to_numpy(), expected.transform(X))


def test_pandas_of_mixed_numbers_and_nullable_columns(given):
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).integers(0, 50, (200, 3))
    frame = pd.DataFrame(
        {
            "a": X[:, 0].astype(np.int16),
            "b": X[:, 1].astype(float),
            "c": pd.array(X[:, 2], dtype="Int64"),
        }
    )
    expected = given(100.7).fit(X.astype(float))
    np.testing.assert_array_equal(given(100.7).fit(frame).labels_, expected.labels_)
    weights = pd.Series(np.random.default_rng(1).uniform(0, 2, 200), index=np.arange(200)[::-1])
    np.testing.assert_array_equal(
        given(100.7).fit(frame, sample_weight=weights).labels_,
        given(100.7).fit(X.astype(float), sample_weight=weights.to_numpy()).labels_,
    )


# --- determinism -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(30_000, 3), (12_000, 40)])
@pytest.mark.parametrize("init", ["mean", "k-means++"])
def test_any_number_of_jobs_gives_the_same_bits(dtype, shape, init, given):
    X = make_blobs(*shape, 25, spread=0.2, dtype=dtype)[0]
    w = np.random.default_rng(0).uniform(0, 2, shape[0])
    penalty = 4.0 * 0.2**2 * shape[1]
    options = dict(random_state=5, max_iter=15, init=init, order="random")
    expected = quiet_fit(given(penalty, n_jobs=1, **options), X, w)
    assert expected.n_clusters_ > 5
    for n_jobs in (None, 2, 3, 7, -1):
        model = quiet_fit(given(penalty, n_jobs=n_jobs, **options), X, w)
        assert_same_bits(model, expected)
        np.testing.assert_array_equal(model.predict(X), expected.labels_)
        assert model.score_samples(X).tobytes() == expected.score_samples(X).tobytes()
        assert model.transform(X[:500]).tobytes() == expected.transform(X[:500]).tobytes()


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_any_number_of_jobs_gives_the_same_bits_sparse(divergence, given):
    X = sparse.random(20_000, 60, density=0.1, format="csr", random_state=0)
    X = sparse.csr_matrix(X + sparse.csr_matrix(np.ones((20_000, 1))) @ sparse.eye(1, 60) * 0.05)
    options = dict(random_state=5, max_iter=10, order="random", divergence=divergence)
    penalty = 1.2
    if divergence == "kl":
        penalty, options["prior_weight"] = 0.3, 1.0
    expected = quiet_fit(given(penalty, n_jobs=1, max_clusters=50, **options), X)
    assert expected.n_clusters_ > 3
    for n_jobs in (2, 5):
        assert_same_bits(
            quiet_fit(given(penalty, n_jobs=n_jobs, max_clusters=50, **options), X), expected
        )


def test_the_same_seed_gives_the_same_bits(given):
    X = make_blobs(2000, 5, 20, spread=0.3)[0]
    for init in ("mean", "farthest-first", "k-means++"):
        options = dict(order="random", init=init, n_init=3, random_state=11)
        assert_same_bits(given(0.5, **options).fit(X), given(0.5, **options).fit(X))


def test_a_generator_state_advances():
    """A RandomState passed in is used, and restarts differ as it advances."""
    X = make_blobs(400, 2, 30, spread=0.3)[0]
    rng = np.random.RandomState(0)
    first = paper(0.05, order="random", random_state=rng).fit(X)
    second = paper(0.05, order="random", random_state=rng).fit(X)
    assert_same_bits(first, paper(0.05, order="random", random_state=0).fit(X))
    assert not np.array_equal(first.labels_, second.labels_)


# --- methods ---------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predict_transform_and_scores(divergence, container, dtype, given):
    X = kl_rows(400, 6).astype(dtype)
    new = kl_rows(150, 6, seed=9).astype(dtype)
    penalty = 0.5 if divergence == "squared_euclidean" else 0.3
    model = given(penalty, divergence=divergence, prior_weight=0.0).fit(container(X))
    assert model.n_clusters_ > 1
    centers = model.cluster_centers_.astype(np.float64)
    rtol, atol = (1e-5, 1e-6) if dtype == np.float32 else (1e-9, 1e-12)
    for rows in (X, new):
        costs = divergence_matrix(prepared_rows(rows, divergence), centers, divergence)
        best = costs.min(axis=1)
        labels = model.predict(container(rows))
        assert labels.dtype == np.int32
        np.testing.assert_allclose(costs[np.arange(len(rows)), labels], best, rtol=rtol, atol=atol)
        expected = np.sqrt(costs) if divergence == "squared_euclidean" else costs
        out = model.transform(container(rows))
        assert out.shape == (len(rows), model.n_clusters_)
        tol = np.sqrt(atol) if divergence == "squared_euclidean" else atol
        np.testing.assert_allclose(out, expected, rtol=rtol, atol=tol)
        samples = model.score_samples(container(rows))
        assert samples.shape == (len(rows),) and (samples <= 0).all()
        np.testing.assert_allclose(samples, -best, rtol=rtol, atol=atol)
        np.testing.assert_allclose(model.score(container(rows)), -best.sum(), rtol=1e-5)
        novel = model.predict(container(rows), novelty=True)
        clear = np.abs(best - model.cluster_penalty_) > 1e-5
        np.testing.assert_array_equal(
            novel[clear], np.where(best > model.cluster_penalty_, -1, labels)[clear]
        )
    np.testing.assert_array_equal(model.predict(container(X), novelty=True), model.labels_)
    np.testing.assert_allclose(model.score(container(X)), -model.inertia_, rtol=1e-5)
    if divergence == "squared_euclidean":
        assert (model.predict(container(100 * new), novelty=True) == -1).any()


def test_novelty_at_exactly_the_penalty(given):
    model = given(4.0).fit(np.array([[-1.0], [1.0]]))
    assert model.n_clusters_ == 1
    probe = [[2.0], [np.nextafter(2.0, 3.0)], [-2.0], [50.0]]
    np.testing.assert_array_equal(model.predict(probe, novelty=True), [0, -1, 0, -1])
    np.testing.assert_array_equal(model.predict(probe), [0, 0, 0, 0])


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        DPMeans(0.0),
        DPMeans(0.0, search="paper"),
        GaussianDPMeans(0.0),
        GaussianDPMeans(0.0, search="paper", covariance_type="diag", covariance_prior=0.1),
    ],
    ids=["round", "round, paper", "shaped", "shaped, paper"],
)
def test_rows_that_a_fit_without_penalty_keeps_are_not_novel(estimator, weighted, offset):
    rng = np.random.default_rng(0)
    distinct = offset + rng.random((12, 5))
    X = np.repeat(distinct, 70, axis=0)[rng.permutation(840)]
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = clone(estimator).set_params(random_state=0).fit(X, sample_weight=weights)
    assert model.n_clusters_ == 12 and model.converged_
    np.testing.assert_array_equal(model.predict(X, novelty=True), model.labels_)
    assert (model.predict(distinct + 1e-7, novelty=True) == -1).all()


def test_weighted_score_is_the_fit_term(given):
    X = make_blobs(300, 4, 6, spread=0.2)[0]
    w = np.random.default_rng(0).uniform(0, 2, 300)
    model = given(0.3).fit(X, sample_weight=w)
    np.testing.assert_allclose(-model.inertia_, (w * model.score_samples(X)).sum(), rtol=1e-9)
    np.testing.assert_allclose(model.score(X, sample_weight=w), -model.inertia_, rtol=1e-9)


def test_fit_variants_agree(given):
    X = make_blobs(300, 4, 6, spread=0.2)[0]
    w = np.random.default_rng(0).uniform(0, 2, 300)
    fitted = given(0.3).fit(X, sample_weight=w)
    np.testing.assert_array_equal(given(0.3).fit_predict(X, sample_weight=w), fitted.labels_)
    np.testing.assert_array_equal(given(0.3).fit_transform(X, sample_weight=w), fitted.transform(X))
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    names = fitted.get_feature_names_out()
    assert list(names) == [f"dpmeans{k}" for k in range(fitted.n_clusters_)]


def test_predict_one_row_is_predict_of_all(given):
    X = make_blobs(300, 20, 6, spread=0.5, dtype=np.float32)[0]
    model = given(2.0).fit(X)
    samples = model.score_samples(X)
    for i in range(0, 300, 17):
        assert model.predict(X[i : i + 1])[0] == model.labels_[i]
        np.testing.assert_allclose(model.score_samples(X[i : i + 1])[0], samples[i], rtol=1e-6)


def test_auto_penalty(search):
    X, _ = make_blobs(400, 3, 6, spread=0.02)
    model = DPMeans(search=search, random_state=0).fit(X)
    assert np.isfinite(model.cluster_penalty_) and model.cluster_penalty_ > 0
    assert model.cluster_penalty == "auto"
    assert 1 < model.n_clusters_ < 100
    assert_certificate(model, X)
    same = DPMeans(model.cluster_penalty_, search=search, random_state=0).fit(X)
    assert same_partition(model.labels_, same.labels_)


def test_separated_clusters_are_found(blobs, given):
    X, member = blobs
    for order in ("given", "random"):
        for init in ("mean", "farthest-first", "k-means++"):
            model = given(20.0, order=order, init=init, random_state=1).fit(X)
            assert model.n_clusters_ == 5
            assert adjusted_rand_score(member, model.labels_) == 1.0


def test_status_is_a_sentence(blobs, given):
    X, _ = blobs
    model = given(20.0).fit(X)
    assert isinstance(model.status_, str) and len(model.status_.split()) > 3
    stopped = quiet_fit(given(0.5, max_iter=1), X)
    assert not stopped.converged_ and "max_iter" in stopped.status_
    assert "after 1 step before" in stopped.status_
