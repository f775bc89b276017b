"""Every divergence: against the literal algorithm, dense and sparse, and what each asks of data."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, load, objective, penalty_for, save
from hardbayes.core.geometry import (
    GEOMETRIES,
    ExponentialFamily,
    Geometry,
    ItakuraSaito,
    KullbackLeibler,
    Mahalanobis,
    geometry_for,
)
from tests.conftest import paper, quiet_fit
from tests.dp_means.test_literal import assert_history_close, fit_both, random_shape
from tests.random_inputs import between, put_zeros, random_cap, random_weights
from tests.reference.certificates import assert_certificate
from tests.reference.dp_means import (
    divergence_matrix,
    labelling_objective,
    overall_mean,
    prepared_rows,
    shown_centers,
    shrunk_mean,
    weights_or_ones,
)

NAMES = sorted(GEOMETRIES)
SPARSE_NAMES = sorted(set(NAMES) - {"itakura_saito"})


def rows_for(divergence, rng, n, d, zeros=True):
    """Rows in the divergence's domain, with entries at its border or without."""
    if divergence == "logistic":
        X = rng.beta(0.5, 0.5, (n, d)).clip(1e-3, 1 - 1e-3)
        return np.rint(X) if zeros else X
    X = rng.gamma(0.7, size=(n, d)) + 1e-3
    if divergence in ("squared_euclidean", "cosine"):
        X *= rng.choice([-1.0, 1.0], (n, d))
    if divergence == "poisson":
        X *= 5.0
    if zeros and divergence != "itakura_saito":
        put_zeros(rng, X, 0.5)
    return X


def random_problem(divergence, seed, zeros):
    """(X, weights, options): a penalty between two costs, and a prior where it is needed."""
    rng = np.random.default_rng(7000 + seed)
    n, d = random_shape(rng)
    n = min(max(n, 2), 150)  # of one row alone every cost is rounding
    X = rows_for(divergence, rng, n, d, zeros)
    weights = random_weights(rng, n)
    needs_prior = zeros and divergence in ("kl", "poisson", "logistic")
    eta = float(rng.choice([1.0, 10.0] if needs_prior else [0.0, 0.0, 2.0]))
    rows = prepared_rows(X, divergence)
    mean = overall_mean(rows, weights_or_ones(weights, n))
    spread = divergence_matrix(rows, 0.8 * rows[:20] + 0.2 * mean, divergence)
    options = dict(prior_weight=eta, max_clusters=random_cap(rng), divergence=divergence)
    return X, weights, between(rng, spread[np.isfinite(spread)]), options


def assert_equals_literal(model, literal):
    np.testing.assert_array_equal(model.labels_, literal.labels)
    assert model.converged_ == literal.converged
    expected = shown_centers(literal.centers, model.divergence)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.cluster_centers_, expected, rtol=1e-9, atol=1e-12 * scale)
    assert_history_close(model.objective_history_, literal.history)


# --- the literal algorithm ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("divergence", NAMES)
def test_equals_the_literal_algorithm(divergence, seed):
    X, weights, penalty, options = random_problem(divergence, seed, zeros=seed % 2 == 0)
    if options["prior_weight"] and weights is not None:
        weights = weights + 0.1
    model, literal = fit_both(X, penalty, weights, seed, **options)
    assert_equals_literal(model, literal)
    assert_certificate(model, X, weights)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("divergence", SPARSE_NAMES)
def test_sparse_rows_equal_the_literal_algorithm(divergence, seed):
    X, weights, penalty, options = random_problem(divergence, 100 + seed, zeros=True)
    if options["prior_weight"] and weights is not None:
        weights = weights + 0.1
    model, literal = fit_both(X, penalty, weights, seed, container=sparse.csr_array, **options)
    assert_equals_literal(model, literal)
    assert_certificate(model, sparse.csr_array(X), weights)


@pytest.mark.parametrize("seed", range(16))
def test_mahalanobis_equals_the_literal_algorithm(seed):
    rng = np.random.default_rng(seed)
    n, d = random_shape(rng)
    X = rng.normal(size=(n, d)) * 2 + rng.integers(0, 3, (n, 1)) * 3
    root = rng.normal(size=(d, d))
    divergence = Mahalanobis(root @ root.T + 0.1 * np.eye(d))
    penalty = between(rng, divergence_matrix(X, X[:20], divergence).ravel())
    container = sparse.csr_array if seed % 2 else np.asarray
    options = dict(divergence=divergence, prior_weight=float(rng.choice([0.0, 3.0])))
    model, literal = fit_both(X, penalty, None, seed, container=container, **options)
    assert_equals_literal(model, literal)


@pytest.mark.parametrize("divergence", NAMES)
def test_float32_takes_the_decisions_of_float64(divergence):
    rng = np.random.default_rng(3)
    X = rows_for(divergence, rng, 300, 6, zeros=False).astype(np.float32)
    penalty = penalty_for(X, 8, divergence=divergence)
    options = dict(divergence=divergence, search="paper", random_state=0)
    single = quiet_fit(DPMeans(penalty, **options), X)
    double = quiet_fit(DPMeans(penalty, **options), X.astype(np.float64))
    np.testing.assert_array_equal(single.labels_, double.labels_)
    assert single.cluster_centers_.dtype == np.float32


# --- the better search, and everything around a fit --------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", SPARSE_NAMES)
def test_split_merge_never_ends_higher(divergence, container):
    rng = np.random.default_rng(5)
    X = container(rows_for(divergence, rng, 120, 5))
    for penalty in (0.3, 3.0):
        options = dict(divergence=divergence, random_state=0)
        better = quiet_fit(DPMeans(penalty, **options), X)
        paper = quiet_fit(DPMeans(penalty, search="paper", **options), X)
        assert better.objective_ <= paper.objective_ * (1 + 1e-9)
        assert (np.diff(better.objective_history_) <= 0).all()
        np.testing.assert_array_equal(better.predict(X), better.labels_)
        rows = X.toarray() if sparse.issparse(X) else X
        alone = labelling_objective(
            rows,
            better.labels_,
            penalty,
            divergence=divergence,
            prior_weight=better.prior_weight_,
        )
        np.testing.assert_allclose(better.objective_, alone, rtol=1e-9)
        np.testing.assert_allclose(
            objective(
                X,
                better.labels_,
                penalty,
                divergence=divergence,
                prior_weight=better.prior_weight_,
            ),
            alone,
            rtol=1e-9,
        )


@pytest.mark.parametrize("divergence", NAMES)
def test_collapsed_moves_fall(divergence):
    X = rows_for(divergence, np.random.default_rng(6), 60, 4)
    model = quiet_fit(DPMeans(1.0, divergence=divergence, method="collapsed", random_state=0), X)
    assert (np.diff(model.objective_history_) <= 0).all()


@pytest.mark.parametrize("divergence", NAMES)
def test_every_divergence_chooses_a_penalty_and_is_saved(divergence, tmp_path):
    X = rows_for(divergence, np.random.default_rng(7), 60, 4)
    model = quiet_fit(DPMeans(divergence=divergence, random_state=0), X)
    assert np.isfinite(model.objective_)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_allclose(again.score(X), model.score(X), rtol=1e-12)


@pytest.mark.parametrize("divergence", ["poisson", "itakura_saito", "cosine"])
@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_extreme_scales_give_the_same_labels(divergence, scale):
    X = rows_for(divergence, np.random.default_rng(8), 80, 4, zeros=False)
    penalty = penalty_for(X, 4, divergence=divergence)
    options = dict(divergence=divergence, order="given", search="paper", prior_weight=0.0)
    degree = geometry_for(divergence).degree or 0
    model = quiet_fit(DPMeans(penalty, **options), X)
    scaled = quiet_fit(DPMeans(penalty * scale**degree, **options), X * scale)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)


def test_mahalanobis_does_not_mind_an_offset():
    rng = np.random.default_rng(9)
    X = np.rint(1024 * rng.normal(size=(200, 3))) / 1024
    divergence = Mahalanobis(np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]))
    options = dict(divergence=divergence, order="given", search="paper")
    near, far = (quiet_fit(DPMeans(4.0, **options), rows) for rows in (X, X + 2.0**30))
    np.testing.assert_array_equal(near.labels_, far.labels_)


def test_mahalanobis_of_the_identity_is_squared_euclidean():
    X = np.random.default_rng(10).normal(size=(150, 4))
    plain = quiet_fit(DPMeans(3.0, order="given", search="paper"), X)
    twin = quiet_fit(
        DPMeans(3.0, order="given", search="paper", divergence=Mahalanobis(np.eye(4))), X
    )
    np.testing.assert_array_equal(plain.labels_, twin.labels_)
    np.testing.assert_allclose(plain.objective_, twin.objective_)


def test_gamma_of_shape_a_is_a_times_the_exponential():
    X = np.random.default_rng(11).gamma(2.0, size=(120, 3))
    options = dict(order="given", search="paper")
    one = quiet_fit(DPMeans(1.0, divergence="itakura_saito", **options), X)
    five = quiet_fit(DPMeans(5.0, divergence=ItakuraSaito(shape=5.0), **options), X)
    np.testing.assert_array_equal(one.labels_, five.labels_)
    np.testing.assert_allclose(five.objective_, 5 * one.objective_)


def test_a_documents_length_as_its_weight():
    """N KL(x / N || mu), as the multinomial has it."""
    rng = np.random.default_rng(12)
    counts = rng.poisson(rng.gamma(0.5, size=(60, 8)) * 20.0) + np.eye(8)[rng.integers(0, 8, 60)]
    lengths = counts.sum(axis=1)
    options = dict(divergence="kl", prior_weight=10.0)
    model, literal = fit_both(counts, 20.0, lengths, 0, **options)
    assert_equals_literal(model, literal)
    np.testing.assert_allclose(model.cluster_weights_.sum(), counts.sum())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_length_as_weight_on_request(container):
    rng = np.random.default_rng(21)
    counts = rng.poisson(rng.gamma(0.5, size=(80, 6)) * 20.0) + np.eye(6)[rng.integers(0, 6, 80)]
    weights, X = rng.uniform(0.5, 2.0, 80), container(counts.astype(float))
    asked = KullbackLeibler(length_as_weight=True)
    for given in (None, weights):
        passed = counts.sum(axis=1) * (1.0 if given is None else given)
        penalty = penalty_for(X, 4, divergence=asked, sample_weight=given)
        assert penalty == penalty_for(X, 4, divergence="kl", sample_weight=passed)
        one = quiet_fit(DPMeans(penalty, divergence=asked, random_state=0), X, given)
        other = quiet_fit(DPMeans(penalty, divergence="kl", random_state=0), X, passed)
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_array_equal(one.cluster_weights_, other.cluster_weights_)
        value = objective(
            X,
            one.labels_,
            penalty,
            divergence=asked,
            sample_weight=given,
            prior_weight=one.prior_weight_,
        )
        np.testing.assert_allclose(value, one.objective_, rtol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_new_rows_weigh_their_length_as_in_a_fit(container):
    rng = np.random.default_rng(3)
    counts = (rng.poisson(rng.gamma(0.5, size=(60, 5)) * 9.0) + 1.0) * rng.integers(1, 9, (60, 1))
    weights, X, lengths = rng.uniform(0.5, 2.0, 60), container(counts), counts.sum(axis=1)
    heavy = KullbackLeibler(length_as_weight=True)
    for given in (None, weights):
        model = DPMeans(9.0, divergence=heavy, random_state=0).fit(X, sample_weight=given)
        np.testing.assert_allclose(-model.score(X, sample_weight=given), model.inertia_, rtol=1e-9)
        own = model.transform(X)[np.arange(60), model.predict(X)]  # divergences, not costs
        np.testing.assert_allclose(-model.score_samples(X), lengths * own, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("prior_weight", [0.0, 3.0])
def test_a_long_row_is_an_outlier_where_it_would_have_opened_a_cluster(prior_weight, container):
    near, far = [[8.0, 1.0, 1.0], [1.0, 1.0, 8.0]]
    heavy = KullbackLeibler(length_as_weight=True)
    model = paper(20.0, divergence=heavy, prior_weight=prior_weight)
    model.fit(container(np.array([near] * 10)))
    new = container(np.array([near, far, np.multiply(far, 1000.0), np.multiply(near, 1000.0)]))
    np.testing.assert_array_equal(model.predict(new, novelty=True), [0, 0, -1, 0])
    # So it does in a fit from there.
    both = np.vstack([[near] * 10, np.multiply(far, 1000.0)])
    at = paper(20.0, divergence=heavy, prior_weight=prior_weight, init=np.array([near]))
    assert quiet_fit(at.set_params(max_iter=1), container(both)).n_clusters_ == 2


# --- the mean is the minimiser -----------------------------------------------------------------


@pytest.mark.parametrize("divergence", NAMES)
def test_no_step_away_from_the_shrunk_mean_pays(divergence):
    rng = np.random.default_rng(13)
    rows = prepared_rows(rows_for(divergence, rng, 40, 5, zeros=False), divergence)
    geometry, w = geometry_for(divergence), rng.uniform(0.5, 2.0, 40)
    m = overall_mean(rows, w)

    def cost(c):
        prior = 3.0 * geometry.divergence(m, c)
        return (w[:10] * geometry.divergence(rows[:10], c)).sum() + prior

    mean = shrunk_mean(rows[:10], w[:10], m, 3.0)
    for _ in range(40):
        step = rng.normal(size=5) * 1e-3 * np.abs(mean).min()
        if divergence == "kl":  # centres sum to one
            step -= step.mean()
        assert cost(mean + step) >= cost(mean)


# --- what each asks of data --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("divergence", "value", "words"),
    [
        ("poisson", -1.0, "numbers >= 0"),
        ("itakura_saito", 0.0, "numbers > 0"),
        ("itakura_saito", -2.0, "numbers > 0"),
        ("logistic", 1.5, "numbers from 0 to 1"),
        ("logistic", -0.5, "numbers from 0 to 1"),
    ],
)
def test_the_first_entry_outside_the_domain_is_named(divergence, value, words):
    X = rows_for(divergence, np.random.default_rng(14), 50, 4, zeros=False)
    model = quiet_fit(DPMeans(1.0, divergence=divergence, random_state=0), X)
    X[17, 2] = X[30, 0] = value
    for call in (DPMeans(1.0, divergence=divergence).fit, model.predict):
        with pytest.raises(ValueError, match=f"{words}.*row 17, column 2"):
            call(X)


def test_itakura_saito_names_the_first_zero_of_sparse_rows():
    X = np.random.default_rng(15).gamma(2.0, size=(20, 4))
    full = quiet_fit(DPMeans(2.0, divergence="itakura_saito", random_state=0), sparse.csr_array(X))
    dense = quiet_fit(DPMeans(2.0, divergence="itakura_saito", random_state=0), X)
    np.testing.assert_array_equal(full.labels_, dense.labels_)
    X[11, 3] = X[12, 0] = 0.0
    with pytest.raises(ValueError, match=r"sparse matrix holds zeros.*row 11, column 3"):
        DPMeans(2.0, divergence="itakura_saito").fit(sparse.csr_array(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_cosine_names_a_row_without_a_direction(container):
    X = np.random.default_rng(16).normal(size=(20, 4))
    X[9] = 0.0
    with pytest.raises(ValueError, match=r"Row 9 of X is empty \(its length is zero\)"):
        DPMeans(0.5, divergence="cosine").fit(container(X))


@pytest.mark.parametrize(
    ("divergence", "expected"),
    [("poisson", 10.0), ("logistic", 10.0), ("kl", 10.0), ("cosine", 0.0)],
)
def test_prior_weight_follows_the_border_of_the_domain(divergence, expected):
    rng = np.random.default_rng(17)
    holed = rows_for(divergence, rng, 40, 5)
    inner = rows_for(divergence, rng, 40, 5, zeros=False)
    options = dict(divergence=divergence, random_state=0)
    for container in (np.asarray, sparse.csr_array):
        assert quiet_fit(DPMeans(1.0, **options), container(holed)).prior_weight_ == expected
        assert quiet_fit(DPMeans(1.0, **options), container(inner)).prior_weight_ == 0.0


def test_logistic_knows_a_border_of_ones():
    X = np.full((10, 3), 0.5)
    X[4, 1] = 1.0
    assert DPMeans(1.0, divergence="logistic", random_state=0).fit(X).prior_weight_ == 10.0


def test_columns_of_one_value_say_nothing_under_logistic():
    """A centre at 0 or 1 must not drown the columns that differ."""
    rng = np.random.default_rng(18)
    X = (rng.random((100, 4)) < np.repeat([[0.1], [0.9]], 50, axis=0)).astype(float)
    constant = np.hstack([X, np.ones((100, 3)), np.zeros((100, 2))])
    options = dict(divergence="logistic", random_state=0)
    plain, wide = (quiet_fit(DPMeans(5.0, **options), rows) for rows in (X, constant))
    np.testing.assert_array_equal(plain.labels_, wide.labels_)
    np.testing.assert_allclose(plain.objective_, wide.objective_)


def test_mahalanobis_refuses_matrices_and_rows_that_do_not_fit():
    with pytest.raises(ValueError, match="symmetric"):
        Mahalanobis([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="positive definite"):
        Mahalanobis([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="square matrix"):
        Mahalanobis([1.0, 2.0])
    with pytest.raises(ValueError, match=r"made for 2 columns\. X has 3"):
        DPMeans(1.0, divergence=Mahalanobis(np.eye(2))).fit(np.eye(3))


# --- a divergence of one's own -----------------------------------------------------------------


def test_a_family_from_its_three_functions_equals_the_built_in_one():
    rng = np.random.default_rng(19)
    counts = rng.poisson(5.0, (100, 4)).astype(float)
    family = ExponentialFamily(
        np.exp, np.log, domain="numbers >= 0", allowed=lambda x: x >= 0, prior_weight=10.0
    )
    options = dict(order="given", search="paper")
    ours = quiet_fit(DPMeans(4.0, divergence="poisson", **options), counts)
    theirs = quiet_fit(DPMeans(4.0, divergence=family, **options), counts)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.objective_, theirs.objective_)
    with pytest.raises(ValueError, match="row 3, column 1"):
        DPMeans(4.0, divergence=family).fit(counts - 100.0 * (np.arange(400) == 13).reshape(100, 4))


def test_a_family_with_a_statistic_clusters_variances():
    """Gaussians of mean zero: T = x^2, theta = -1 / (2 c), psi = -log(-2 theta) / 2."""
    rng = np.random.default_rng(20)
    truth = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 40)) * np.array([1.0, 5.0])[truth, np.newaxis]
    family = ExponentialFamily(
        lambda theta: -np.log(-2.0 * theta) / 2.0,
        lambda c: -1.0 / (2.0 * c),
        lambda rows: rows**2,
    )
    model = quiet_fit(DPMeans(1500.0, divergence=family, random_state=0), X)
    assert model.n_clusters_ == 2
    assert len(np.unique(model.labels_[truth == 0])) == 1
    np.testing.assert_allclose(np.sort(model.cluster_centers_.mean(axis=1)), [1.0, 25.0], rtol=0.1)


def test_a_geometry_without_its_functions_is_refused_where_it_is_written():
    with pytest.raises(TypeError, match="'generator' and 'gradient'"):

        class Nothing(Geometry):
            pass


@pytest.mark.parametrize("seed", range(10))
def test_a_column_of_ones_changes_nothing_for_the_logistic_divergence(seed):
    rng = np.random.RandomState(seed)
    groups = rng.randint(2, size=60)
    X = (rng.rand(60, 5) < np.array([0.1, 0.9])[groups][:, np.newaxis]).astype(float)
    weights = rng.rand(60)
    options = {"divergence": "logistic", "prior_weight": 0.3, "random_state": 0}
    plain = DPMeans(2.0, **options).fit(X, sample_weight=weights)
    model = DPMeans(2.0, **options).fit(np.c_[X, np.ones(60)], sample_weight=weights)
    assert model.converged_
    assert (np.diff(model.objective_history_) <= 1e-9).all()
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)


def test_no_cluster_is_left_without_rows():
    """A row that opens its own cluster in every sweep keeps it while others are looked at."""
    X = [[0.13848777275040208], [1.4719481749227556]]
    weights = [4.412648712166878e-06, 2.377413425117361e-13]
    model = DPMeans(0.0, divergence="itakura_saito", prior_weight=0.3, random_state=383)
    model.fit(X, sample_weight=weights)
    assert set(model.labels_) == set(range(model.n_clusters_))
