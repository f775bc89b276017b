"""Nearest clusters among candidates, against all distances."""

import numpy as np
import pytest

from hardbayes.gaussian.compiled import statistics as kernels
from tests.gaussian.numpy_rows import NumpyGaussianRows

GAP = np.empty(3)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def drawn(request):
    rng = np.random.default_rng(0)
    rows = NumpyGaussianRows(rng.normal(size=(50, 3)), np.ones(50), request.param)
    _, means, scatters = rows.statistics(np.arange(50) % 5, 5)
    roots = rows.roots(scatters)[0]
    offsets = rng.uniform(0.0, 0.2, 5)
    costs = rows.distances(means, roots) + offsets
    near = np.array([[1, 2], [2, 3], [3, 4], [4, 0], [0, 1]])
    return rows.rows, means, roots, offsets, near, costs


def test_the_cheapest_of_the_own_cluster_and_its_candidates(drawn):
    *arrays, near, costs = drawn
    start = np.random.default_rng(1).integers(0, 5, 50)
    labels = start.copy()
    kernels.choose(*arrays, near, labels, GAP, 10, 50)
    np.testing.assert_array_equal(labels[:10], start[:10])
    for i in range(10, 50):
        choices = [start[i], *near[start[i]]]
        assert labels[i] == choices[np.argmin(costs[i, choices])]


def test_the_two_cheapest(drawn):
    *arrays, near, costs = drawn
    first, second = np.random.default_rng(1).integers(0, 5, 50), np.empty(50, np.int64)
    choices = [[own, *near[own]] for own in first]
    kernels.two_nearest(*arrays, near, first, second, GAP, 0, 50)
    for i in range(50):
        expected = np.array(choices[i])[np.argsort(costs[i, choices[i]])[:2]]
        np.testing.assert_array_equal([first[i], second[i]], expected)


def test_differences_of_distances(drawn):
    rows, means, roots, offsets, _, costs = drawn
    ids, out = np.array([7, 3, 40]), np.empty(3)
    kernels.distance_differences(rows, ids, means[1:3], roots[1:3], out, GAP, 0, 3)
    distances = costs - offsets
    np.testing.assert_allclose(out, distances[ids, 1] - distances[ids, 2])
