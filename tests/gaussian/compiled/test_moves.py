"""Compiled moves between clusters with covariances: statistics follow, and the objective falls."""

import numpy as np
import pytest

from hardbayes.gaussian.compiled import moves
from tests.gaussian.numpy_rows import NumpyGaussianRows

GAP = np.empty(3)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def state(request):
    """Rows in NumPy, labels, and the arrays that the kernels update."""
    rng = np.random.default_rng(0)
    rows = NumpyGaussianRows(
        0.3 * rng.normal(size=(30, 3)), rng.integers(0, 3, 30).astype(float), request.param
    )
    labels = rng.integers(0, 3, 30)
    sizes, means, scatters = rows.statistics(labels, 3)
    members = np.bincount(labels[rows.weights > 0], minlength=3)
    return rows, labels, sizes, members, means, scatters, rows.roots(scatters)[0]


def test_candidates_are_the_rows_that_would_move(state):
    rows, labels, sizes, members, means, _, roots = state
    marks = np.empty(30, np.bool_)
    clusters = (labels, sizes, members, means, roots)
    moves.mark_candidates(rows.rows, rows.weights, *clusters, marks, GAP, 0, 30)
    best = [rows.best_cluster(labels, i, 3) for i in range(30)]
    np.testing.assert_array_equal(marks, best != labels)
    assert marks.any() and not marks.all()


def test_moves_lower_the_objective_and_statistics_follow(state):
    rows, labels, sizes, members, means, scatters, roots = state
    before = rows.value(labels, 3)
    clusters = (labels, sizes, members, means, scatters, roots)
    n_moves = moves.move_rows(rows.rows, rows.weights, np.arange(30), *clusters, GAP, 0, 30)
    assert n_moves > 0 and rows.value(labels, 3) < before - 1e-9
    expected = rows.statistics(labels, 3)
    lower = scatters if rows.diagonal else np.tril(scatters)
    np.testing.assert_allclose(sizes, expected[0])
    np.testing.assert_allclose(means, expected[1], atol=1e-12)
    np.testing.assert_allclose(
        lower, expected[2] if rows.diagonal else np.tril(expected[2]), atol=1e-12
    )
    np.testing.assert_allclose(roots, rows.roots(expected[2])[0], atol=1e-12)
    np.testing.assert_array_equal(members, np.bincount(labels[rows.weights > 0], minlength=3))


def test_births():
    """Rows on a line, visited from the right: each opens a cluster unless one is within 1."""
    rows = np.array([[0.0], [0.6], [1.0], [5.0], [5.5]])
    weights, order = np.ones(5), np.arange(5)[::-1].copy()
    births, apart = np.empty(5, np.int64), np.full(5, 100.0)
    found = moves.open_clusters(rows, weights, order, apart.copy(), 1.0, births, 0, 0, 5)
    assert found == 2 and births[:2].tolist() == [4, 2]
    capped = moves.open_clusters(rows, weights, order, apart.copy(), 1.0, births[:1], 0, 0, 5)
    assert capped == 1
    labels = np.zeros(5, np.int64)
    rank = np.argsort(order)
    moves.choose_births(rows, births[:2].copy(), rank, labels, apart, 7, GAP, 0, 5)
    np.testing.assert_array_equal(labels, [8, 8, 8, 7, 7])
    np.testing.assert_allclose(apart, [1.0, 0.16, 0.0, 0.25, 0.0])


def test_a_heavy_row_opens_a_cluster_where_a_light_one_does_not():
    rows, births = np.array([[0.0], [9.0]]), np.empty(2, np.int64)
    arguments = (np.arange(2), np.full(2, 0.5), 1.0, births, 0, 0, 2)
    assert moves.open_clusters(rows, np.array([1.0, 3.0]), *arguments) == 1
    assert births[0] == 1


def test_bisection_ends_at_a_fixed_point(state):
    rows = state[0]
    d, h = 3, 1 if rows.diagonal else 3
    sides = (rows.rows[:, 0] > 0).astype(np.uint8)
    sizes, means, roots = np.empty(2), np.empty((2, d)), np.zeros((2, h, d))
    arrays = (sizes, means, np.empty((2, h, d)), roots)
    total = moves.bisect(rows.rows, rows.weights, sides, *arrays, GAP, 50)
    labels = sides.astype(np.int64)
    np.testing.assert_allclose(total, rows.value(labels, 2))
    np.testing.assert_allclose(sizes, rows.statistics(labels, 2)[0])
    np.testing.assert_array_equal(rows.nearest(means, roots)[0], labels)
    empty = np.zeros(30, np.uint8)
    assert moves.bisect(rows.rows, rows.weights, empty, *arrays, GAP, 50) == np.inf
