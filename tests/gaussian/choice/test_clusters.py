"""Classification EM."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.gaussian.choice.evidence import (
    classify,
    common_discriminants,
    discriminants,
    pooled_covariance,
    shrunk_covariances,
)
from tests.gaussian.choice.samples import SQUARE, blobs, sampled

MATRIX, TRUE = blobs(SQUARE)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def rows(request):
    with sampled(MATRIX, diagonal=request.param) as sample:
        yield sample.rows, TRUE[sample.ids]


def test_covariances_are_shrunk_to_the_pooled_one(rows):
    rows, labels = rows
    clusters = rows.statistics(labels, 4)
    own = rows.add_floor(clusters.scatters / clusters.weights[:, None, None])
    np.testing.assert_allclose(shrunk_covariances(rows, clusters, 0.0), own)
    pooled = pooled_covariance(rows, clusters)
    far = shrunk_covariances(rows, clusters, 1e12)
    np.testing.assert_allclose(far, np.broadcast_to(pooled, far.shape), atol=1e-9)


def test_discriminants_are_log_densities(rows):
    rows, labels = rows
    clusters = rows.statistics(labels, 4)
    covariances = shrunk_covariances(rows, clusters, 5.0)
    roots, offsets = discriminants(rows, clusters, 5.0)
    costs = rows.distances(clusters.means, roots) + offsets
    for c, covariance in enumerate(covariances):
        full = np.diag(covariance[0]) if rows.diagonal else covariance
        gaps = rows.rows - clusters.means[c]
        expected = np.einsum("ij,ij->i", gaps, np.linalg.solve(full, gaps.T).T)
        expected += np.linalg.slogdet(full)[1] - 2 * np.log(clusters.weights[c])
        np.testing.assert_allclose(costs[:, c], expected)
    roots, offsets = common_discriminants(rows, clusters)
    assert (roots == roots[0]).all() and not offsets.any()


def test_rows_find_their_clusters(rows):
    rows, true = rows
    rng = np.random.default_rng(0)
    start = np.where(rng.uniform(size=rows.n) < 0.3, rng.integers(0, 4, rows.n), true)
    before = start.copy()
    labels, clusters = classify(rows, start, 4, 3.0, 30)
    np.testing.assert_array_equal(start, before)
    assert adjusted_rand_score(true, labels) > 0.98
    for mine, theirs in zip(clusters, rows.statistics(labels, 4), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    again, _ = classify(rows, labels, 4, 3.0, 30)
    np.testing.assert_array_equal(again, labels)


def test_empty_clusters_are_dropped(rows):
    rows, true = rows
    labels, clusters = classify(rows, true + (true > 1), 6, 3.0, 0)
    np.testing.assert_array_equal(labels, true)
    assert clusters.k == 4 and (clusters.weights > 0).all()
