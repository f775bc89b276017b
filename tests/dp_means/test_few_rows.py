"""Exactly k clusters of few rows: single-row moves to the end, and swaps."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, objective
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.pool import Pool
from hardbayes.dp_means import few_rows
from hardbayes.dp_means.problem import pose


def solve(X, k, weights=None, seed=0):
    with Pool(1) as pool:
        problem = pose(X, SquaredEuclidean(), weights, pool)
        found = few_rows.solve_few(problem, k, 1, np.random.RandomState(seed))
        return found and (problem.frame.from_working(found.centres), found.points, problem.unit)


def nearest(X, centres):
    return ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.parametrize("d", [1, 3, 19])
@pytest.mark.parametrize("k", [2, 5, 14])
def test_no_row_alone_would_lower_the_fit_term(d, k):
    rng = np.random.RandomState(d)
    X, weights = rng.normal(size=(120, d)), rng.uniform(0.5, 2.0, 120)
    centres, points, unit = solve(X, k, weights)
    labels = nearest(X, centres)
    least = objective(X, labels, 0.0, sample_weight=weights)
    assert dict(points)[k] == pytest.approx(unit * least)
    sizes = np.bincount(labels, weights)
    means = np.array([np.average(X[labels == c], axis=0, weights=weights[labels == c])
                      for c in range(k)])  # fmt: skip
    np.testing.assert_allclose(centres, means, atol=1e-10)
    squares = ((X[:, None] - means) ** 2).sum(axis=2)
    pays = sizes / (sizes + weights[:, None]) * squares
    own = np.arange(len(X)), labels
    several = np.bincount(labels)[labels] > 1
    left = np.where(several, sizes[labels] - weights, np.inf)
    frees = sizes[labels] / left * squares[own]
    pays[own] = np.inf
    assert (pays.min(axis=1) >= frees - 1e-9).all()


def test_fit_terms_of_other_numbers_fall():
    X = np.random.RandomState(0).normal(size=(90, 2))
    points = solve(X, 6)[1]
    numbers, fits = zip(*points, strict=True)
    assert numbers == tuple(range(1, 6 + few_rows.BEYOND + 1))
    assert (np.diff(fits) < 0).all()
    assert fits[0] == pytest.approx(solve(X, 1)[1][0][1])


def test_weights_repeat_rows_and_those_of_none_count_for_nothing():
    rng = np.random.RandomState(1)
    X = rng.normal(size=(60, 2)) + 8.0 * np.eye(2)[rng.randint(2, size=60)]
    weights = rng.randint(0, 4, len(X)).astype(float)
    repeated = dict(solve(np.repeat(X, weights.astype(int), axis=0), 4)[1])[4]
    _, points, unit = solve(X, 4, weights)
    one = solve(np.repeat(X, weights.astype(int), axis=0), 4)[2]
    assert dict(points)[4] / unit == pytest.approx(repeated / one)


def test_sparse_rows_are_as_dense_ones():
    X = np.random.RandomState(2).poisson(0.7, (80, 6)).astype(float)
    fits = [
        DPMeans(n_clusters=5, random_state=0).fit(of(X)).inertia_
        for of in (np.array, sparse.csr_array)
    ]
    assert fits[0] == pytest.approx(fits[1])


def test_no_more_clusters_than_different_rows():
    X = np.repeat(np.eye(3), 5, axis=0)
    assert solve(X, 4) is None
    centres, points, _ = solve(X, 3)
    assert len(np.unique(centres.round(12), axis=0)) == 3 and dict(points)[3] < 1e-28
    assert solve(np.random.RandomState(0).normal(size=(few_rows.MAX_ROWS + 1, 1)), 2) is None


def test_a_swap_leaves_an_optimum_that_rows_alone_do_not():
    """Two centres in one of three far clusters, one between the others."""
    rng = np.random.RandomState(3)
    X = np.repeat([[0.0, 0.0], [100.0, 0.0], [100.0, 4.0]], 30, axis=0)
    X += rng.normal(size=X.shape) * 0.5
    few = few_rows._Few(X, np.ones(len(X)), 3, rng)
    few.add(2)
    halves = (X[:30, 0] > np.median(X[:30, 0])).astype(int)
    few.clusters.labels[:] = np.concatenate([halves, np.full(60, 2)])
    for c in range(3):
        few.clusters.sizes[c] = (few.clusters.labels == c).sum()
        few.clusters.centres[c] = X[few.clusters.labels == c].mean(axis=0)
    few.clusters.bound[:] = -np.inf
    stuck = few.swap(0)
    labels = few.clusters.labels
    assert len(np.unique(labels[:30])) == 2 and len(np.unique(labels[30:])) == 1
    assert few.swap(20) < 0.5 * stuck
    assert [len(np.unique(few.clusters.labels[at : at + 30])) for at in (0, 30, 60)] == [1, 1, 1]
