"""The rows that a choice is made on: weights, unseen rows, equal rows and empty columns."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means.choice.sample import (
    MAX_HELD_OUT_ROWS,
    MIN_TRACED_ROWS,
    cells_of_grid,
    draw,
    normalise,
)
from tests.dp_means.choice.mixtures import gaussians_apart

SQUARED, KL = geometry_for("squared_euclidean"), geometry_for("kl")


def drawn(X, weights=None, geometry=SQUARED, seed=0):
    return draw(X, weights, geometry, 0.0, np.random.RandomState(seed))


def test_few_rows_are_all_seen():
    X = gaussians_apart(3, n=100)[0]
    found = drawn(X)
    assert found.sample.n_rows == 100 and found.unseen.n_rows == 0
    np.testing.assert_allclose(found.in_user_coordinates(found.sample.rows), X)
    np.testing.assert_array_equal(found.sample.weights, np.ones(100))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_of_many_rows_some_are_held_out(container):
    X = container(np.random.default_rng(0).standard_normal((20_000, 2)))
    found = drawn(X)
    assert MIN_TRACED_ROWS / 2 < found.sample.n_rows <= 5000
    assert found.sample.n_rows + found.unseen.n_rows <= MAX_HELD_OUT_ROWS
    assert found.unseen.n_rows > 9000
    assert found.sample.weights.sum() == pytest.approx(20_000)
    assert found.unseen.weights[0] == pytest.approx(found.sample.weights[0])
    both = [part.rows.toarray() if container is not np.asarray else part.rows
            for part in (found.sample, found.unseen)]  # fmt: skip
    assert len(np.unique(np.concatenate(both), axis=0)) == len(both[0]) + len(both[1])


def test_rows_without_weight_are_left_out():
    X, weights = np.random.default_rng(0).standard_normal((9000, 2)), np.ones(9000)
    weights[::3] = 0.0
    found = drawn(X, weights)
    assert found.sample.weights.min() > 0 and found.unseen.weights.min() > 0
    assert found.sample.weights.sum() == pytest.approx(6000)
    few = drawn(X[:90], weights[:90])
    assert few.sample.n_rows == 60


def test_equal_rows_are_one_heavy_row():
    X = np.random.default_rng(0).standard_normal((50, 3))
    found = drawn(np.repeat(X, 4, axis=0))
    np.testing.assert_array_equal(found.in_user_coordinates(found.sample.rows), X)
    np.testing.assert_array_equal(found.sample.weights, np.full(50, 4.0))


def test_equal_rows_are_on_one_side():
    """Of two copies of 10,000 rows, those of the sample are not among the unseen."""
    X = np.random.default_rng(0).standard_normal((10_000, 2))
    found = drawn(np.concatenate([X, X]))
    both = np.concatenate([found.sample.rows, found.unseen.rows])
    assert len(np.unique(both, axis=0)) == len(both)


def test_integers_stay():
    X = np.random.default_rng(0).integers(0, 4, (200, 3)).astype(float)
    assert drawn(X).sample.n_rows == 200


def test_empty_columns_are_left_out():
    entries = np.random.default_rng(0).random((60, 5000))
    X = sparse.csr_array(np.where(entries < 0.002, entries, 0.0))
    found = drawn(X)
    assert found.sample.rows.shape[1] == len(np.unique(X.indices))
    np.testing.assert_allclose(found.in_user_coordinates(found.sample.rows.toarray()), X.toarray())
    assert drawn(sparse.csr_array((20, 4))).sample.rows.shape == (20, 4)  # nothing but empty ones


def test_some_rows_weigh_as_much_as_all():
    sample = drawn(gaussians_apart(3, n=100)[0], np.random.default_rng(0).uniform(1, 2, 100)).sample
    some = sample.some(np.arange(0, 100, 3))
    assert some.weights.sum() == pytest.approx(sample.weights.sum())


def test_clusters_have_the_centres_of_a_fit():
    X = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    labels = np.arange(60, dtype=np.int32) % 3
    sample = draw(X, None, KL, 5.0, np.random.RandomState(0)).sample
    sizes, centres = sample.clusters(labels, 3)
    np.testing.assert_array_equal(sizes, [20, 20, 20])
    expected = [(X[labels == c].sum(axis=0) + 5 * X.mean(axis=0)) / 25 for c in range(3)]
    np.testing.assert_allclose(centres, expected)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("name", "total"), [("kl", np.sum), ("cosine", np.linalg.norm)])
def test_rows_are_divided_by_their_sums_or_lengths(name, total, container):
    X = np.random.default_rng(0).uniform(1, 2, (5, 3))
    rows = normalise(container(X), geometry_for(name))
    rows = rows.toarray() if container is not np.asarray else rows
    np.testing.assert_allclose([total(row) for row in rows], 1.0)
    assert normalise(X, SQUARED) is X


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        (np.repeat([[i, j] for i in range(4) for j in range(3)], 5, axis=0), 12),
        (np.repeat(np.arange(7)[:, np.newaxis], 3, axis=0), 7),
        (np.repeat([[0], [1], [10], [11], [100], [1000]], 9, axis=0), None),
        (np.repeat(np.random.default_rng(0).standard_normal((30, 2)), 4, axis=0), None),
        (sparse.csr_array(np.eye(4)), None),
    ],
    ids=["combinations", "one column", "unequal steps", "copies", "sparse"],
)
def test_cells_of_a_grid(rows, cells):
    assert cells_of_grid(rows if sparse.issparse(rows) else rows.astype(np.float64)) == cells
