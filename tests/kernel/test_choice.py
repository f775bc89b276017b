"""The automatic choice of a kernel and of the number of clusters."""

import warnings

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from hardbayes import DPMeans, KernelDPMeans, SpectralDPMeans, load, save
from hardbayes.core.pool import Pool
from hardbayes.kernel.choice import ENOUGH, LIMIT, choose_clusters
from hardbayes.kernel.problem import KernelOptions, make_problem
from hardbayes.kernel.spectrum import leading
from tests.conftest import make_blobs, quiet_fit

MODELS = [KernelDPMeans, SpectralDPMeans]


def chosen(X, kernel="rbf", balance=True, most=1000, **parameters):
    rng = np.random.RandomState(0)
    problem = make_problem(X, None, KernelOptions(kernel, parameters, balance), rng, Pool(1))
    return choose_clusters(problem, most, rng)


# --- a given kernel ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_are_found(make):
    options = {} if make is make_moons else {"factor": 0.4}
    X, y = make(200, noise=0.05, random_state=0, **options)
    choice = chosen(X)
    assert choice.k == 2 and adjusted_rand_score(y, choice.labels) == 1.0
    labels, penalty = choice.stable(np.random.RandomState(0))
    assert adjusted_rand_score(y, labels) == 1.0
    assert 0.9 < penalty < 1.0 and 0.9 < choice.spectral_penalty < 1.0


def samples():
    """Rows of one distribution each: round, skewed, with tails, on a line and on a lattice."""
    rng = np.random.default_rng(0)
    yield rng.normal(size=(150, 2))
    yield rng.uniform(size=(100, 1)) * [1.0, 2.0, -1.0]
    yield rng.exponential(size=(100, 10))
    yield rng.standard_t(4, size=(150, 5))
    yield rng.poisson(2.0, size=(150, 2)).astype(float)


@pytest.mark.parametrize("model", MODELS)
def test_one_distribution_is_one_cluster(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [model(random_state=0).fit(X).n_clusters_ for X in samples()]
    assert found == [1] * len(found)


def test_groups_of_clusters_are_told_apart_too():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [0, 7], [60, 0], [60, 7], [0, 90]])
    X = np.repeat(centres, 60, axis=0) + rng.normal(size=(300, 2))
    assert chosen(X).k == 5


def test_a_kernel_without_scale_goes_by_divisions():
    X, y = make_blobs(150, 3, 4, seed=0, spread=0.3, box=0.0)
    X[np.arange(150), np.minimum(y, 2)] += np.where(y < 3, 5.0, -5.0)
    for kernel in ("linear", "poly"):
        choice = chosen(X, kernel, balance=False)
        assert choice.k == 4 and adjusted_rand_score(y, choice.labels) == 1.0
    one = chosen(np.random.default_rng(0).normal(size=(150, 3)), "linear", balance=False)
    assert one.k == 1 and one.nearest.k > 1


def test_a_matrix_is_judged_by_its_own_neighbours():
    X, y = make_moons(300, noise=0.05, random_state=0)
    choice = chosen(rbf_kernel(X, gamma=20.0), "precomputed", balance=True)
    assert not any(c.is_linear for c in choice.candidates)
    assert choice.k == 2 and adjusted_rand_score(y, choice.labels) > 0.9
    X, y = make_blobs(150, 2, 3, seed=0, spread=0.2)
    choice = chosen(rbf_kernel(X, gamma=0.5), "precomputed", balance=False)
    assert choice.k == 3 and adjusted_rand_score(y, choice.labels) > 0.9


def test_a_kernel_so_narrow_that_rows_fall_apart():
    choice = chosen(load_iris().data, gamma=2.0)
    assert np.isfinite([choice.stable(np.random.RandomState(0))[1], choice.spectral_penalty]).all()


def test_caps_and_the_fewest_rows():
    X, _ = make_blobs(100, 2, 4, seed=0, spread=0.3)
    assert chosen(X, most=2).k <= 2
    assert chosen(X[:1]).k == chosen(X[:2]).k == 1
    assert chosen(np.ones((9, 2))).k == 1
    assert chosen(np.ones((9, 2)), "linear", balance=False).k == 1


def test_leading_pairs_are_those_of_all():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    rng = np.random.RandomState(0)
    problem = make_problem(X, None, KernelOptions("rbf", {}, True), rng, Pool(1))
    matrix = problem.rows.whole()
    values, vectors = leading(matrix, 6)
    np.testing.assert_allclose(1.0 - values, 1.0 - eigh(matrix)[0][:-7:-1], rtol=0.02, atol=1e-8)
    residual = matrix @ vectors - vectors * values
    assert np.abs(residual[:, :3]).max() < 1e-3


# --- the choice among kernels ------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_round_clusters_are_those_of_dp_means(model, tmp_path):
    rng = np.random.default_rng(0)
    centres = 4.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0.5]])
    X = np.repeat(centres, 80, axis=0) + rng.normal(size=(400, 2))
    plain = DPMeans(random_state=0).fit(X)
    fitted = model(random_state=0).fit(X)
    assert fitted.kernel_ == "linear" and "DPMeans" in fitted.status_
    np.testing.assert_array_equal(fitted.labels_, plain.labels_)
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_allclose(fitted.transform(X), plain.transform(X))
    assert fitted.predict([[90.0, 90.0]], novelty=True)[0] == -1
    assert fitted.objective_ == pytest.approx(plain.objective_)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), fitted.labels_)
    np.testing.assert_array_equal(again.score_samples(X), fitted.score_samples(X))
    for name, column in fitted.penalty_choice_.items():
        np.testing.assert_array_equal(again.penalty_choice_[name], column)
    if model is SpectralDPMeans:
        assert fitted.lower_bound_ <= fitted.objective_
        assert (fitted.eigenvalues_ > fitted.cluster_penalty_).all()


@pytest.mark.parametrize("model", MODELS)
def test_gaussians_in_many_columns(model):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 16)) + 1.2 * y[:, np.newaxis]
    assert adjusted_rand_score(y, model(random_state=0).fit(X).labels_) > 0.8


def test_rows_around_a_ring_do_not_join_it_to_its_core():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 400)
    ring = 4.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.normal(size=(400, 2))
    X = np.concatenate([ring, 0.6 * rng.normal(size=(200, 2)), rng.uniform(-5.0, 5.0, (40, 2))])
    fitted = KernelDPMeans(random_state=0).fit(X)
    y = np.repeat([0, 1], [400, 200])
    assert fitted.kernel_ == "rbf" and adjusted_rand_score(y, fitted.labels_[:600]) > 0.95


def test_a_kernel_does_not_hide_what_dp_means_sees():
    """Near Gaussians beside a ring: the ring stays whole, the Gaussians are told apart."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, 2.0 * np.pi, 300)
    ring = 4.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.15 * rng.normal(size=(300, 2))
    pair = rng.normal(size=(300, 2)) + np.where(np.arange(300) % 2, 3.7, 0.0)[:, np.newaxis]
    X = np.concatenate([ring, 0.5 * rng.normal(size=(150, 2)), pair + np.array([14.0, 0.0])])
    y = np.repeat([0, 1, 2], [300, 150, 300])
    y[450:] += np.arange(300) % 2
    fitted = KernelDPMeans(random_state=0).fit(X)
    assert fitted.n_clusters_ == 4 and adjusted_rand_score(y, fitted.labels_) > 0.9


def test_equal_rows_count_as_one():
    """Cells of a lattice are no clusters; weights and repetitions say the same."""
    answers = np.random.default_rng(0).binomial(4, 0.6, (500, 2)).astype(float)
    assert quiet_fit(KernelDPMeans(random_state=0), answers).n_clusters_ == 1
    X, y = make_moons(150, noise=0.05, random_state=0)
    twice = KernelDPMeans(random_state=0).fit(np.repeat(X, 2, axis=0))
    assert adjusted_rand_score(np.repeat(y, 2), twice.labels_) == 1.0


@pytest.mark.parametrize("model", MODELS)
def test_one_cluster_is_told(model):
    X = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.warns(UserWarning, match="No division of the rows stood out"):
        fitted = model(random_state=0).fit(X)
    table = fitted.penalty_choice_
    assert fitted.n_clusters_ == 1 and not table["chosen"].any() and fitted.kernel_ == "linear"
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert (table["strength"] < 1.0).all() and len(table["strength"])
    nearest = table["n_clusters"][np.argmax(table["strength"])]
    assert f"To use {nearest} clusters: DPMeans(n_clusters={nearest})" in fitted.status_


@pytest.mark.parametrize("model", MODELS)
def test_a_kernel_that_came_nearest_is_told_with_its_call(model):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 300)
    ring = 2.4 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.concatenate([ring, np.zeros((200, 2))]) + 0.42 * rng.normal(size=(500, 2))
    fitted = quiet_fit(model(random_state=0), X)
    table = fitted.penalty_choice_
    nearest = int(np.argmax(table["strength"]))
    if fitted.n_clusters_ == 1 and not table["linear"][nearest]:
        k = table["n_clusters"][nearest]
        call = f"{model.__name__}(cluster_penalty=0, max_clusters={k}, random_state=0)"
        assert call in fitted.status_
    given = model(cluster_penalty=0, max_clusters=2, random_state=0)
    assert quiet_fit(given, X).n_clusters_ == 2


def test_what_is_given_is_kept():
    X, _ = make_moons(150, noise=0.05, random_state=0)
    assert not hasattr(KernelDPMeans(0.99).fit(X), "kernel_")
    fitted = quiet_fit(KernelDPMeans(gamma=2.0, random_state=0), X)
    assert fitted.kernel_ == "rbf" and not fitted.penalty_choice_["linear"].any()


def test_the_evidence_is_what_is_needed():
    X, _ = make_circles(200, noise=0.05, factor=0.4, random_state=0)
    table = KernelDPMeans(random_state=0).fit(X).penalty_choice_
    own = ~table["linear"]
    limit = LIMIT * np.sqrt(200 / ENOUGH)
    counts = own & (table["border"] < limit)
    np.testing.assert_array_equal(counts, own & (table["strength"] >= 1.0))
    assert table["chosen"].sum() == 1 and table["strength"][table["chosen"]] >= 1.0
