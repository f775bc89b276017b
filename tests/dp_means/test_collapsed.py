"""method="collapsed": single rows move by the exact change of the objective."""

import inspect
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardbayes import DPMeans, load, save
from hardbayes.core.arrays import VisitOrder
from tests.conftest import (
    SEARCHES,
    assert_all_finite,
    assert_same_bits,
    make_blobs,
    pairwise_sq,
    quiet_fit,
    run_check,
)
from tests.dp_means.local_optima import assert_no_single_move_helps, labelling_value
from tests.interrupts import assert_survives_interrupts
from tests.random_inputs import between, put_zeros, random_cap, random_rows, random_weights
from tests.reference.certificates import assert_certificate, assert_history
from tests.reference.collapsed import literal_collapsed
from tests.reference.dp_means import same_partition


def collapsed(cluster_penalty, **options):
    return DPMeans(cluster_penalty, **{"method": "collapsed", "order": "given", **options})


def random_problem(seed, largest=60):
    """(X, weights, options): squared distances, or KL for two seeds of five."""
    rng = np.random.default_rng(20_000 + seed)
    n, d = int(rng.integers(3, largest + 1)), int(rng.integers(1, 7))
    options = dict(max_clusters=random_cap(rng), prior_weight=float(rng.choice([0.0, 0.0, 0.5, 5])))
    weights = random_weights(rng, n)
    if seed % 5 < 3:
        X = random_rows(rng, n, d)
        options["cluster_penalty"] = between(rng, pairwise_sq(X))
        return X, weights, options
    X = rng.gamma(0.5, size=(n, d)) + 1e-3
    if options["prior_weight"]:
        put_zeros(rng, X, 0.4)
    options |= dict(divergence="kl", cluster_penalty=float(rng.uniform(0.05, 2.0)))
    return X, weights, options


def random_start(X, options, seed):
    """Some rows as centres, moved a little: no row is as near to one as to another."""
    rng = np.random.default_rng(30_000 + seed)
    k = int(rng.integers(1, min(len(X), options["max_clusters"] or len(X)) + 1))
    centers = X[rng.choice(len(X), k, replace=False)]
    if options.get("divergence") != "kl":
        return centers + 0.01 * X.std() * rng.standard_normal(centers.shape)
    centers = centers + 0.1 * X.mean() * rng.random(centers.shape)
    return centers / centers.sum(axis=1, keepdims=True)


def literal(X, weights, cluster_penalty, **options):
    return literal_collapsed(X, cluster_penalty, weights=weights, **options)


def assert_equals_literal(model, expected, weights):
    paying = np.full(len(model.labels_), True) if weights is None else weights > 0
    assert same_partition(model.labels_[paying], expected.labels[paying])
    assert model.converged_ and expected.converged
    np.testing.assert_allclose(model.objective_, expected.objective, rtol=1e-9, atol=1e-12)


@parametrize_with_checks([DPMeans(method="collapsed")])
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


# --- the algorithm ---------------------------------------------------------------------------


def test_joint_is_the_default():
    assert inspect.signature(DPMeans).parameters["method"].default == "joint"


@pytest.mark.parametrize("value", ["gibbs", "stepwise", "Collapsed", None, 1])
def test_other_methods_are_refused_by_name(value):
    message = re.escape("The 'method' parameter of DPMeans must be ")
    with pytest.raises(ValueError, match=message):
        DPMeans(method=value).fit(np.eye(5))


@pytest.mark.parametrize("seed", range(120))
def test_equals_the_literal_algorithm(seed):
    X, weights, options = random_problem(seed)
    container = [np.asarray, sparse.csr_array][seed % 2]
    model = quiet_fit(collapsed(**options), container(X), weights)
    assert_equals_literal(model, literal(X, weights, **options), weights)
    assert_certificate(model, X, weights)


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_literal_algorithm_from_given_centres(seed):
    X, weights, options = random_problem(seed)
    start = random_start(X, options, seed)
    model = quiet_fit(collapsed(**options, init=start), X, weights)
    assert_equals_literal(model, literal(X, weights, **options, init=start), weights)
    assert_certificate(model, X, weights)


@pytest.mark.parametrize("seed", range(10))
def test_a_random_order_is_drawn_as_algorithm_1_draws_it(seed):
    X, weights, options = random_problem(seed)
    order = VisitOrder.draw("random", np.random.RandomState(seed)).rows(len(X))
    model = quiet_fit(collapsed(**options, order="random", random_state=seed), X, weights)
    assert_equals_literal(model, literal(X, weights, **options, order=order), weights)


@pytest.mark.parametrize("seed", range(10))
def test_clusters_are_numbered_by_creation(seed):
    X = make_blobs(50, 2, 6, seed=seed, spread=0.2)[0]
    model = collapsed(0.2).fit(X)
    np.testing.assert_array_equal(model.labels_, literal_collapsed(X, 0.2).labels)


def test_a_singleton_is_dissolved_where_that_saves_the_penalty():
    """Algorithm 1 never lets go of a row that is a cluster's only one."""
    X = np.array([[0.0], [0.2], [1.2]])
    start = np.array([[0.1], [1.2]])
    assert DPMeans(0.9, search="paper", init=start).fit(X).n_clusters_ == 2
    assert collapsed(0.9, init=start).fit(X).n_clusters_ == 1


@pytest.mark.parametrize("search", SEARCHES)
def test_search_makes_no_difference(search):
    X = make_blobs(200, 3, 6, spread=0.3)[0]
    assert_same_bits(collapsed(0.5, search=search).fit(X), collapsed(0.5).fit(X))


# --- what a result is ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_no_single_move_lowers_the_objective(seed):
    X, weights, options = random_problem(seed, largest=20)
    model = quiet_fit(collapsed(**options), X, weights)
    assert_no_single_move_helps(model, X, weights)


@pytest.mark.parametrize("seed", range(40))
def test_every_result_is_a_fixed_point_of_algorithm_1(seed):
    X, weights, options = random_problem(seed)
    model = quiet_fit(collapsed(**options), X, weights)
    again = DPMeans(**options, search="paper", order="given", init=model.cluster_centers_)
    quiet_fit(again, X, weights)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.n_iter_ <= 2
    np.testing.assert_allclose(again.objective_, model.objective_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_trace_falls_to_the_objective(dtype, container):
    X = make_blobs(400, 3, 8, spread=0.3, dtype=dtype)[0]
    model = collapsed(0.5).fit(container(X))
    assert_history(model)
    assert model.n_iter_ > 2
    np.testing.assert_allclose(model.objective_, labelling_value(model, X), rtol=1e-9)
    assert model.cluster_centers_.dtype == dtype
    assert_certificate(model, X, rtol=1e-6 if dtype == np.float32 else 1e-9)


def test_restarts_keep_the_best():
    X = make_blobs(150, 2, 10, spread=0.2)[0]
    options = dict(order="random", random_state=3)
    best, alone = (collapsed(0.3, n_init=n, **options).fit(X) for n in (5, 1))
    assert best.objective_ <= alone.objective_
    assert_certificate(best, X)


# --- limits ----------------------------------------------------------------------------------


def test_a_huge_penalty_is_one_cluster():
    X = np.random.default_rng(0).standard_normal((100, 3))
    model = collapsed(1e9).fit(X)
    assert model.n_clusters_ == 1
    np.testing.assert_allclose(model.cluster_centers_[0], X.mean(axis=0), atol=1e-12)


def test_zero_penalty_is_one_cluster_per_row():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = collapsed(0.0).fit(X)
    assert model.n_clusters_ == 30
    assert_certificate(model, X)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 1), (3, 40)])
@pytest.mark.parametrize("penalty", [0.1, 1e6])
def test_tiny_shapes(shape, penalty):
    X = np.random.default_rng(0).standard_normal(shape)
    assert_certificate(collapsed(penalty).fit(X), X)


def test_identical_rows_are_one_cluster():
    for value in (0.0, 0.1, -3.3e7):
        model = collapsed(1.0).fit(np.full((50, 3), value))
        assert model.n_clusters_ == 1 and model.inertia_ <= 1e-20


def test_the_cap_is_kept():
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = quiet_fit(collapsed(0.01, max_clusters=4), X)
    assert model.n_clusters_ == 4
    assert_no_single_move_helps(model, X)


def test_rows_without_weight_are_labelled_and_change_nothing():
    X = make_blobs(80, 2, 5, spread=0.1)[0]
    w = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    X[w == 0] += 3.0
    model, alone = collapsed(0.4).fit(X, sample_weight=w), collapsed(0.4)
    alone.fit(X[w > 0], sample_weight=w[w > 0])
    np.testing.assert_array_equal(model.labels_[w > 0], alone.labels_)
    np.testing.assert_allclose(model.cluster_centers_, alone.cluster_centers_, rtol=1e-10)
    assert_certificate(model, X, w)


@pytest.mark.parametrize("k", [-300, -7, 1, 300])
def test_power_of_two_scale(k):
    X = make_blobs(100, 3, 6, spread=0.2)[0]
    plain, scaled = collapsed(0.3).fit(X), collapsed(0.3 * 4.0**k).fit(X * 2.0**k)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_array_equal(scaled.cluster_centers_, plain.cluster_centers_ * 2.0**k)


def test_stopped_early_it_warns_and_agrees_with_itself():
    X = np.random.default_rng(0).standard_normal((200, 3))
    model = collapsed(2.0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X)
    assert not model.converged_
    assert model.n_iter_ == 1 == len(model.objective_history_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))
    assert_all_finite(model)


# --- determinism, interrupts, files ----------------------------------------------------------


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_any_number_of_jobs_gives_the_same_bits(divergence, container):
    X = container(np.abs(make_blobs(400, 6, 10, spread=0.3)[0]))
    options = dict(order="random", random_state=4, divergence=divergence, max_iter=20)
    penalty = 1.0 if divergence == "squared_euclidean" else 0.2
    expected = quiet_fit(collapsed(penalty, n_jobs=1, **options), X)
    assert expected.n_clusters_ > 2
    for n_jobs in (2, 3, -1):
        assert_same_bits(quiet_fit(collapsed(penalty, n_jobs=n_jobs, **options), X), expected)


def test_an_interrupt_at_any_moment_leaves_the_old_model():
    X, other = make_blobs(60, 2, 5, spread=0.2)[0], make_blobs(40, 2, 3, seed=1)[0]
    assert_survives_interrupts(lambda: collapsed(0.3, n_jobs=1), X, other)


def test_a_saved_model_answers_alike(tmp_path):
    X = make_blobs(100, 3, 5, spread=0.2)[0]
    model = collapsed(0.3).fit(X)
    save(model, tmp_path / "model.hb")
    back = load(tmp_path / "model.hb")
    assert back.method == "collapsed"
    assert_same_bits(back, model)
    np.testing.assert_array_equal(back.predict(X), model.labels_)
    assert_same_bits(back.fit(X), model)
