"""Costs of clusters with covariances from weights, means and scatters alone."""

import numpy as np
import pytest

from hardbayes.gaussian.problem import (
    GaussianPartition,
    Gaussians,
    at_points,
    log_determinants,
    merge_pairs,
)


def gaussians(rows, labels, weights, diagonal=False):
    """Statistics by definition."""
    found = []
    for c in range(labels.max() + 1):
        x, w = rows[labels == c], weights[labels == c]
        gaps = x - w @ x / w.sum()
        scatter = (w[:, None] * gaps).T @ gaps
        found.append((w.sum(), w @ x / w.sum(), np.diag(scatter)[None] if diagonal else scatter))
    return Gaussians(*(np.array(each) for each in zip(*found, strict=True)))


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def drawn(request):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    return rows, labels, rng.uniform(0.5, 2.0, 30), request.param


def test_log_determinants(drawn):
    scatters = gaussians(*drawn).scatters
    whole = [np.eye(3) + (np.diag(s[0]) if len(s) == 1 else s) for s in scatters]
    np.testing.assert_allclose(log_determinants(scatters), np.linalg.slogdet(whole)[1])
    assert log_determinants(0 * scatters).tolist() == [0.0] * 4
    assert (log_determinants(-1e-18 * scatters) >= -1e-15).all()


def test_objective_is_the_definition(drawn):
    clusters = gaussians(*drawn)
    partition = GaussianPartition(0.7, 3.0, 9)
    np.testing.assert_allclose(partition.costs(clusters), 3.0 * log_determinants(clusters.scatters))
    expected = partition.costs(clusters).sum() + 4 * 0.7
    np.testing.assert_allclose(partition.objective(clusters), expected)


def test_unions_are_the_statistics_of_both(drawn):
    rows, labels, weights, diagonal = drawn
    clusters = gaussians(*drawn)
    lefts, rights = np.array([0, 0, 1]), np.array([1, 2, 3])
    merges = merge_pairs(clusters.pick(lefts), clusters.pick(rights))
    partition = GaussianPartition(0.7, 3.0, 9)
    rises = partition.merge_costs(clusters.pick(lefts), clusters.pick(rights))
    for at, (a, b) in enumerate(zip(lefts, rights, strict=True)):
        both = np.isin(labels, [a, b])
        one = gaussians(rows[both], np.zeros(both.sum(), int), weights[both], diagonal)
        for found, expected in zip(merges, one, strict=True):
            np.testing.assert_allclose(found[at], expected[0], rtol=1e-10, atol=1e-12)
        names = np.unique(np.where(labels == b, a, labels), return_inverse=True)[1]
        merged = gaussians(rows, names, weights, diagonal)
        change = partition.objective(merged) - partition.objective(clusters)
        np.testing.assert_allclose(rises[at] - 0.7, change, rtol=1e-9)


def test_points_and_picks():
    points = np.arange(6.0).reshape(2, 3)
    for diagonal, shape in [(False, (2, 3, 3)), (True, (2, 1, 3))]:
        clusters = at_points(points, diagonal)
        assert clusters.k == 2 and clusters.scatters.shape == shape
        assert not clusters.scatters.any() and (clusters.weights == 1).all()
        np.testing.assert_array_equal(clusters.pick([1]).means, points[1:])
        assert clusters.pick(np.array([True, False])).k == 1
