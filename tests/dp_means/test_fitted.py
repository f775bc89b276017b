"""Fitted partitions: new rows at their cheapest centres, and what a fit leaves behind."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.core import schema
from hardbayes.core.frame import Columns
from hardbayes.core.geometry import GEOMETRIES, geometry_for
from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_word_histograms
from hardbayes.dp_means.descent import Solution
from hardbayes.dp_means.fitted import MODEL, FittedPartition, fitted_attributes
from hardbayes.dp_means.objective import Terms
from tests.dp_means.partition_states import pose_here
from tests.reference.dp_means import divergence_matrix, prepared_rows
from tests.test_divergences import rows_for


@pytest.fixture
def words():
    return make_word_histograms(300, 40, random_state=0)[0].astype(float)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_one_model_serves_all_kinds_of_rows_again_and_again(words, divergence):
    model = DPMeans(2.0, divergence=divergence, random_state=0).fit(words)
    fresh = pickle.dumps(model)
    kinds = [words, words.astype(np.float32), sparse.csr_array(words), words[:7], words[:1]]
    kinds.append(sparse.csr_array(words.astype(np.float32)))
    for _ in range(2):
        for rows in kinds:
            n = rows.shape[0]
            np.testing.assert_array_equal(model.predict(rows), model.labels_[:n])
            np.testing.assert_allclose(
                model.score_samples(rows), pickle.loads(fresh).score_samples(rows), rtol=1e-12
            )


def test_what_predict_has_laid_out_is_not_kept_in_files(words):
    model = DPMeans(2.0, random_state=0).fit(words)
    size = len(pickle.dumps(model))
    model.predict(words)
    assert len(pickle.dumps(model)) == size
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(words), model.labels_)


def test_many_threads_place_rows_with_one_model(words):
    model = DPMeans(2.0, random_state=0, n_jobs=2).fit(words)
    parts = [words[start::5] for start in range(5)] * 8
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(model.predict, parts))
    for start, labels in zip(list(range(5)) * 8, found, strict=True):
        np.testing.assert_array_equal(labels, model.labels_[start::5])


def test_a_second_fit_forgets_the_first(words):
    model = DPMeans(2.0, random_state=0).fit(words)
    model.predict(words)
    model.fit(words[:150])
    np.testing.assert_array_equal(model.predict(words[:150]), model.labels_)


# --- single parts ---------------------------------------------------------------------------------


def fitted(divergence, prior_weight=1.0, penalty=0.7, seed=0):
    """Rows, a model with centres at some of them, and these in the user's coordinates."""
    rng = np.random.default_rng(seed)
    X = rows_for(divergence, rng, 50, 4, zeros=False)
    if divergence == "squared_euclidean":
        X = 100.0 * X + 1e4  # a frame with a shift and a scale
    problem = pose_here(X, divergence)
    partition = problem.partition(penalty, prior_weight, None)
    centres = problem.rows.take(np.arange(5)).dense() * 0.9 + 0.1 * problem.mean
    partition = replace(partition, penalty=penalty * problem.frame.unit, prior_weight=prior_weight)
    model = FittedPartition(partition, problem.frame, centres, Columns(None, X.shape[1]), X.dtype)
    return X, model, problem.frame.from_working(centres)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", sorted(GEOMETRIES))
def test_rows_are_placed_at_their_cheapest_centre(divergence, container):
    if divergence == "itakura_saito":
        container = np.asarray  # zeros are outside the domain
    X, model, centres = fitted(divergence)
    assigned = model.assign(container(X), Pool(1))
    expected = divergence_matrix(prepared_rows(X, divergence), centres, divergence)
    np.testing.assert_array_equal(assigned.labels(), expected.argmin(axis=1))
    lengths = np.ones(50)
    if geometry_for(divergence).length_as_weight:
        lengths = geometry_for(divergence).row_sizes(X)
    np.testing.assert_allclose(assigned.costs(), lengths * expected.min(axis=1), rtol=1e-7)
    distances = np.sqrt(expected) if divergence == "squared_euclidean" else expected
    np.testing.assert_allclose(assigned.distances(), distances, rtol=1e-7)


@pytest.mark.parametrize("prior_weight", [0.0, 1.0])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
def test_rows_above_their_opening_cost_are_novel(divergence, prior_weight):
    X, model, _ = fitted(divergence, prior_weight)
    assigned = model.assign(X, Pool(1))
    geometry, frame, partition = model.geometry, model.frame, model.partition
    rows = frame.to_working(X)
    opening = np.broadcast_to(partition.opening_costs(rows, np.ones(50), 0.0), 50)
    costs = geometry.divergence(rows[:, np.newaxis], model.centres).min(axis=1)
    expected = costs > opening * (1 + 1e-9)
    np.testing.assert_array_equal(assigned.novel(), expected)
    assert expected.sum() > 0


def test_rows_at_a_centre_are_never_novel():
    """However small the penalty: rounding alone is no distance."""
    X = np.random.default_rng(0).normal(size=(5, 3)) + 1e6
    problem = pose_here(X)
    partition = problem.partition(0.0, 0.0, None)
    centres = problem.rows.take().dense() * (1 + 2.0**-52)
    model = FittedPartition(partition, problem.frame, centres, Columns(None, X.shape[1]), X.dtype)
    assigned = model.assign(X, Pool(1))
    assert (assigned.costs() > 0).any() and not assigned.novel().any()
    assert model.assign(X + 1e-3, Pool(1)).novel().all()


def test_sparse_rows_are_placed_in_a_frame_without_a_shift():
    X, model, centres = fitted("squared_euclidean")
    assert model.frame.shift.any()
    plain = model._unshifted()
    assert not plain.frame.shift.any()
    np.testing.assert_allclose(plain.frame.from_working(plain.centres), centres, rtol=1e-15)
    assert plain.partition.penalty / plain.frame.unit == pytest.approx(0.7)
    means = [m.frame.from_working(m.partition.prior_mean) for m in (plain, model)]
    np.testing.assert_allclose(*means, rtol=1e-15)
    dense, thin = (model.assign(rows, Pool(1)) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.labels(), thin.labels())
    np.testing.assert_allclose(dense.costs(), thin.costs(), rtol=1e-9)


def test_tables_are_kept_for_each_kind_of_rows_and_in_no_file():
    X, model, _ = fitted("squared_euclidean")
    model.assign(X, Pool(1))
    tables = dict(model._tables)
    assert list(tables) == [(np.dtype(np.float32), False)]
    model.assign(X[:3], Pool(1))
    assert model._tables == tables  # the same objects
    state = model.__getstate__()
    assert state["_tables"] == {} and model._tables == tables


def test_arrays_and_back():
    X, model, _ = fitted("poisson")
    arrays = model.to_arrays()
    again = FittedPartition.from_arrays(model.geometry, 7, 4, arrays)
    assert again.partition.max_clusters == 7
    assert again.partition.penalty == model.partition.penalty
    assert again.partition.prior_weight == model.partition.prior_weight
    assert again.frame.scale == model.frame.scale and again.frame.degree == model.frame.degree
    np.testing.assert_array_equal(again.centres, model.centres)
    np.testing.assert_array_equal(
        again.assign(X, Pool(1)).costs(), model.assign(X, Pool(1)).costs()
    )


def read(arrays, geometry, n_columns=4):
    """Check arrays from a file and return the model."""
    state = arrays | {"n_features_in_": n_columns}
    schema.check(state, MODEL | {"n_features_in_": schema.length("columns")})
    return FittedPartition.from_arrays(geometry, None, n_columns, arrays)


DAMAGE = {
    "working_penalty": -1.0,
    "working_prior_weight": np.inf,
    "working_mean": np.zeros(3),
    "working_shift": np.full(4, np.nan),
    "working_scale": 0.0,
    "working_centres": np.zeros((0, 4)),
    "working_columns": np.array([0, 2, 1, 3]),
    "more": 1.0,
}
OPTIONAL = {"working_columns", "more"}


@pytest.mark.parametrize("name", DAMAGE)
def test_arrays_that_contradict_each_other_are_refused(name):
    _, model, _ = fitted("poisson")
    damaged = model.to_arrays() | {name: DAMAGE[name]}
    with pytest.raises(ValueError, match="contradicts itself"):
        read(damaged, model.geometry)


def test_another_number_of_columns_is_refused():
    _, model, _ = fitted("poisson")
    with pytest.raises(ValueError, match="contradicts itself"):
        read(model.to_arrays(), model.geometry, 5)


@pytest.mark.parametrize("name", [name for name in DAMAGE if name not in OPTIONAL])
def test_missing_arrays_are_named(name):
    _, model, _ = fitted("poisson")
    arrays = model.to_arrays()
    del arrays[name]
    with pytest.raises(ValueError, match=f"incomplete.*{name}"):
        read(arrays, model.geometry)


ALL = Columns(None, 4)


def solution_of(problem, trace):
    centres = problem.rows.take(np.arange(2)).dense()
    terms = Terms(trace[-1] - 0.25, 0.25, 2)
    labels = (np.arange(50) % 2).astype(np.int32)
    return Solution(
        labels, centres, terms, np.array(trace), np.array([1, 2]), Status.CONVERGED, 3, 4
    )


def test_attributes_are_in_the_users_units():
    X = 8.0 * np.random.default_rng(0).normal(size=(50, 4)) + 1e5
    weights = np.random.default_rng(1).choice([2.0, 4.0], 50)
    problem = pose_here(X, weights=weights)
    partition = problem.partition(3.0, 2.0, None)
    solution = solution_of(problem, [5.0, 1.0])
    found = fitted_attributes(solution, problem, partition, 3.0, ALL, np.dtype(np.float32))
    unit = problem.unit
    np.testing.assert_allclose(found["objective_history_"], [5.0 / unit + 3, 1.0 / unit + 6])
    assert found["objective_"] == 1.0 / unit + 6
    assert found["inertia_"] == pytest.approx(0.75 / unit)
    centres = found["_model"].shown_centres()
    assert centres.dtype == np.float32
    np.testing.assert_allclose(centres, X[:2].astype(np.float32), rtol=1e-6)
    expected = [weights[::2].sum(), weights[1::2].sum()]
    np.testing.assert_allclose(found["cluster_weights_"], expected)
    assert found["cluster_penalty_"] == 3.0 and found["prior_weight_"] == pytest.approx(2.0)
    assert (found["n_clusters_"], found["n_iter_"]) == (2, 2)
    assert (found["n_splits_"], found["n_merges_"]) == (3, 4)
    assert found["converged_"] and found["status_"].startswith("Converged after 2 steps")
    # New rows weigh one each.
    assert found["_model"].partition.penalty == 3.0 * problem.frame.unit
    stopped = replace(solution, status=Status.OUT_OF_STEPS)
    found = fitted_attributes(stopped, problem, partition, 3.0, ALL, np.dtype(np.float64))
    assert not found["converged_"]


@pytest.mark.parametrize("worst", [np.inf, np.nan])
def test_an_infinite_objective_is_refused(worst):
    problem = pose_here(np.random.default_rng(0).normal(size=(50, 4)))
    solution = solution_of(problem, [worst, 1.0])
    with pytest.raises(ValueError, match="not a finite number"):
        fitted_attributes(
            solution, problem, problem.partition(3.0, 0.0, None), 3.0, ALL, np.dtype(np.float64)
        )
