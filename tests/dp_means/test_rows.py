"""Rows in memory by their positions, against NumPy."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core import pool
from hardbayes.core.arrays import DirectForm
from tests.dp_means.partition_states import pose_here, posed
from tests.test_divergences import rows_for

CASES = [
    ("squared_euclidean", np.asarray),
    ("squared_euclidean", sparse.csr_array),
    ("poisson", np.asarray),
    ("poisson", sparse.csr_array),
    ("kl", np.asarray),
    ("cosine", np.asarray),
]
WEIGHTS = np.random.default_rng(9).choice([0.0, 0.5, 1.0, 2.0], 40)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1].__name__}")
def problem(request):
    divergence, container = request.param
    X = rows_for(divergence, np.random.default_rng(0), 40, 6, zeros=divergence == "poisson")
    return pose_here(container(X), divergence, WEIGHTS)


IDS = np.array([7, 3, 30, 12, 0, 39])


def test_some_rows_by_their_positions(problem):
    everything = problem.rows.take()
    assert everything.n_rows == 40 and everything.n_columns == 6
    np.testing.assert_array_equal(everything.ids, np.arange(40))
    some = everything.take(IDS)
    again = some.take(np.array([4, 1]))
    for local, ids in ((some, IDS), (again, np.array([0, 3]))):
        assert local.n_rows == len(ids)
        np.testing.assert_array_equal(local.ids, ids)
        np.testing.assert_array_equal(local.dense(), everything.dense()[ids])
        np.testing.assert_array_equal(local.weights_at(), problem.rows.weights[ids])
        constants = np.broadcast_to(problem.rows.constants, 40)[ids]
        np.testing.assert_array_equal(local.constants_at(), constants)
    part = np.array([5, 0])
    np.testing.assert_array_equal(some.at(part), IDS[part])
    np.testing.assert_array_equal(everything.at(part), part)
    np.testing.assert_array_equal(some.dense(part), everything.dense()[IDS[part]])
    np.testing.assert_array_equal(some.dense(slice(1, 3)), everything.dense()[IDS[1:3]])
    np.testing.assert_array_equal(everything.dense(slice(5, 9)), everything.dense()[5:9])
    np.testing.assert_array_equal(some.weights_at(part), problem.rows.weights[IDS[part]])
    assert some.is_sparse == sparse.issparse(some.matrix()) == problem.rows.layout.sparse
    assert some.entries_per_row == problem.rows.entries_per_row


def test_one_weight_stands_for_all_rows():
    local = pose_here(np.arange(12.0).reshape(4, 3)).rows.take(np.array([2, 0]))
    np.testing.assert_array_equal(local.weights_at(), [0.5, 0.5])
    np.testing.assert_array_equal(local.weights_at(np.array([1])), [0.5])


def some_centres(problem, k=5):
    """Centres (k, d) and what the direct formula reads of them."""
    partition = problem.partition(1.0, 2.0, None)
    weights = np.ones(k)
    centres = partition.centres(weights, problem.rows.take(np.arange(k)).dense())
    return partition, centres, partition.direct_form(centres)


def test_costs_of_every_row_at_every_centre(problem):
    _, centres, form = some_centres(problem)
    for local in (problem.rows.take(), problem.rows.take(IDS)):
        expected = problem.geometry.divergence(local.dense()[:, np.newaxis], centres)
        np.testing.assert_allclose(local.costs(form), expected, rtol=1e-9, atol=1e-12)


def test_threads_compute_the_same_costs(monkeypatch):
    monkeypatch.setattr(pool, "WORTH_CALLING", 1)
    X = np.random.default_rng(0).normal(size=(500, 3))
    centres = np.random.default_rng(1).normal(size=(7, 3))
    with posed(X, n_threads=3) as problem:
        form = problem.partition(1.0, 0.0, None).direct_form(centres)
        found = problem.rows.take().costs(form)
    np.testing.assert_array_equal(found, pose_here(X).rows.take().costs(form))
    assert (found > 0).all()


def test_costs_at_the_rows_themselves_are_nothing(problem):
    local = problem.rows.take(IDS)
    form = problem.partition(1.0, 0.0, None).direct_form(local.dense())
    np.testing.assert_array_equal(np.diag(local.costs(form)), np.zeros(len(IDS)))


@pytest.mark.parametrize("size", [1, 1 << 26])
def test_openings_one_row_after_the_other(problem, size, monkeypatch):
    """A row opens a cluster unless one opened before costs it no more than its opening cost."""
    monkeypatch.setattr(pool, "TILE_WORK", size)
    partition = problem.partition(1.0, 2.0, None)
    order = np.random.default_rng(0).permutation(40)
    local = problem.rows.take(order)
    centres = partition.opening_centres(local.dense(), local.weights_at())
    form = partition.direct_form(centres)
    costs = local.weights_at()[:, np.newaxis] * local.costs(form)
    for opening in (np.quantile(costs, [0.3]), np.quantile(costs, 0.3) * np.linspace(0.1, 2, 40)):
        expected = []
        for p, limit in enumerate(np.broadcast_to(opening, 40)):
            if not (costs[p, expected] <= limit).any():
                expected.append(p)
        np.testing.assert_array_equal(local.openings(opening, form), expected)
    assert 1 < len(expected) < 40


@pytest.mark.parametrize("prior_weight", [0.0, 1.5])
@pytest.mark.parametrize("slack", [0.8, 1.0])
def test_rows_for_which_moving_alone_might_pay(problem, slack, prior_weight):
    *_, form = some_centres(problem)
    places = np.random.default_rng(0).integers(0, 5, len(IDS)).astype(np.intp)
    local = problem.rows.take(IDS)
    weights, largest = local.weights_at(), float(problem.rows.weights.max())
    sizes = np.array([3.0, 1.0, 0.25, 7.0, 2.0]) + prior_weight
    sizes[places[0]] = weights[0] + prior_weight  # alone in its cluster
    found = local.near_border(form, places, sizes, prior_weight, largest, slack)
    costs, at = local.costs(form), np.arange(len(IDS))
    left = sizes[places] - weights
    frees = sizes[places] / np.maximum(left, 1e-300) * costs[at, places]
    pays = slack * sizes / (sizes + largest) * costs
    pays[at, places] = np.inf
    expected = (pays.min(axis=1) <= frees) | (left - prior_weight <= 1e-9 * weights)
    np.testing.assert_array_equal(found, expected)
    assert found[0]


def test_some_rows_are_far_from_every_border():
    X = np.array([[0.0], [0.1], [0.45], [10.0], [10.1]])
    problem = pose_here(X)
    form = problem.partition(1.0, 0.0, None).direct_form(problem.rows.take().dense()[[0, 3]])
    sizes, places = np.array([1.5, 1.0]), np.array([0, 0, 0, 1, 1])
    marks = problem.rows.take().near_border(form, places, sizes, 0.0, 0.5, 0.8)
    assert not marks.any()
    near = form._replace(exact=np.array([[0.0], [0.5 * problem.frame.scale]]))
    marks = problem.rows.take().near_border(near, places, sizes, 0.0, 0.5, 0.8)
    assert marks.tolist() == [False, False, True, True, True]


def test_centres_in_slots_without_scores(problem):
    local = problem.rows.take()
    form = DirectForm(np.zeros((3, 6)), np.arange(3.0), True)
    centres = local.centres(form)
    assert centres.exact is form.exact and centres.exact_offset is form.offset and centres.squared
    np.testing.assert_array_equal(centres.rank, [0, 1, 2])
    assert centres.theta.dtype == problem.rows.layout.dtype and centres.theta.size == 0


def test_clusters_that_follow_rows(problem):
    local = problem.rows.take()
    *_, form = some_centres(problem, 3)
    moving = local.moving(form, np.array([1.0, 0.0, 4.0]), np.array([2, 0, 5]), 0.25)
    np.testing.assert_array_equal(moving.sizes, [1.25, 0.25, 4.25])
    np.testing.assert_array_equal(moving.members, [2, 0, 5])
    assert moving.prior_weight == 0.25 and moving.centres is form.exact
