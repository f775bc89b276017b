"""Compiled statistics of clusters with covariances against NumPy."""

import numpy as np
import pytest

from hardbayes.gaussian.compiled import statistics as kernels
from tests.gaussian.test_gaussians import gaussians

GAP = np.empty(3)


def grouped(labels, k):
    order, places = np.empty(len(labels), np.int64), np.zeros(k + 1, np.int64)
    kernels.group_rows(labels, places, order)
    return order, places


def test_rows_by_cluster():
    labels = np.random.default_rng(0).integers(0, 5, 40)
    labels[labels == 3] = 2  # an empty one
    order, places = grouped(labels, 5)
    np.testing.assert_array_equal(order, np.argsort(labels, kind="stable"))
    np.testing.assert_array_equal(np.diff(places), np.bincount(labels, minlength=5))


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("diagonal", [False, True])
def test_sums(diagonal, offset):
    rng = np.random.default_rng(1)
    labels, weights = rng.integers(0, 4, 50), rng.integers(0, 3, 50).astype(float)
    rows = rng.normal(size=(50, 3)) + offset
    sizes, means = np.empty(5), np.empty((5, 3))
    found = np.empty((5, 1 if diagonal else 3, 3))
    kernels.add_up(rows, weights, *grouped(labels, 5), sizes, means, found, GAP, 0, 5)
    expected = gaussians(rows - offset, labels, weights, diagonal)
    np.testing.assert_allclose(sizes[:4], expected.weights)
    np.testing.assert_allclose(means[:4] - offset, expected.means, atol=1e-7 if offset else 1e-12)
    # Two passes: an offset costs a scatter its last digits, not all of them.
    np.testing.assert_allclose(found[:4], expected.scatters, atol=1e-6 if offset else 1e-12)
    assert sizes[4] == 0 and not means[4].any() and not found[4].any()
    np.testing.assert_array_equal(found, found if diagonal else found.transpose(0, 2, 1))


@pytest.mark.parametrize("diagonal", [False, True])
def test_inverse_roots(diagonal):
    rng = np.random.default_rng(2)
    clusters = gaussians(rng.normal(size=(20, 3)), np.arange(20) % 4, np.ones(20), diagonal)
    roots, logarithms = np.zeros_like(clusters.scatters), np.empty(4)
    kernels.invert_roots(clusters.scatters, 1.0, 0.0, roots, logarithms, GAP, 0, 4)
    for c in range(4):
        root, scatter = roots[c], clusters.scatters[c]
        if diagonal:
            root, scatter = np.diag(root[0]), np.diag(scatter[0])
        np.testing.assert_allclose(root.T @ root, np.linalg.inv(np.eye(3) + scatter), atol=1e-14)
        np.testing.assert_allclose(logarithms[c], np.linalg.slogdet(np.eye(3) + scatter)[1])
        assert not np.triu(root, 1).any()


@pytest.mark.parametrize("h", [1, 3])
def test_a_scatter_that_rounding_made_negative_is_none(h):
    scatters = np.full((1, h, 3), -1e-16)
    roots, logarithms = np.zeros((1, h, 3)), np.empty(1)
    kernels.invert_roots(scatters, 1.0, 0.0, roots, logarithms, GAP, 0, 1)
    assert logarithms[0] >= 0
    np.testing.assert_allclose(np.diag(roots[0]) if h == 3 else roots[0, 0], 1.0)
