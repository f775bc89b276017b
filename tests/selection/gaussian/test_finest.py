"""The finest partition in which all neighbours are two."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.selection.gaussian.borders import STRICT, Borders
from hardbayes.selection.gaussian.finest import consolidated, finest, wide_plateaus
from hardbayes.selection.gaussian.path import Step, find_path
from tests.selection.gaussian.samples import SQUARE, blobs, sampled


def found(matrix):
    with sampled(matrix) as sample:
        labels, k = finest(sample.rows, find_path(sample.rows), sample.dip_rows)
        np.testing.assert_array_equal(np.unique(labels), np.arange(k))
        return labels, k, sample.ids


def test_gaussians_are_found():
    matrix, true = blobs(SQUARE)
    labels, k, ids = found(matrix)
    assert k == 4 and adjusted_rand_score(true[ids], labels) > 0.98


def test_shapes_are_not_cut_to_pieces():
    """Two uniform bars: Gaussians that fill them are likelier, but show no valleys."""
    rng = np.random.default_rng(0)
    bars = rng.uniform(size=(600, 2)) * [10.0, 1.0]
    bars[300:, 1] += 4.0
    labels, k, ids = found(bars)
    assert k == 2 and adjusted_rand_score(ids >= 300, labels) == 1.0


def test_overlapping_gaussians_are_found():
    matrix, true = blobs([[0.0, 0.0], [0.0, 3.2], [9.0, 0.0], [9.0, 9.0]], n=400)
    labels, k, ids = found(matrix)
    assert k == 4 and adjusted_rand_score(true[ids], labels) > 0.7


@pytest.mark.parametrize("seed", range(3))
def test_one_cloud_is_one(seed):
    rng = np.random.default_rng(seed)
    for matrix in (rng.normal(size=(300, 2)), rng.uniform(size=(300, 2))):
        assert found(matrix)[1] == 1


def test_what_is_consolidated_is_separate():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, np.pi, 500)
    arc = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(8.0, 9.0, (500, 1))
    matrix = np.vstack([arc, rng.normal(size=(200, 2)) * 0.3 + [0.0, -6.0]])
    with sampled(matrix) as sample:
        rows = sample.rows
        labels, k = consolidated(rows, find_path(rows), rows, STRICT)
        assert k >= 2
        assert Borders(rows, labels, k, rows).separate(STRICT)


def test_wide_plateaus():
    """Three clusters gain 100 nats each, three more 10 each, others less than counts."""
    evidence = dict(zip(range(1, 9), (0, 90, 200, 210, 220, 230, 231, 232), strict=True))
    path = {k: Step(k, float(value), np.zeros(0, np.int64)) for k, value in evidence.items()}
    assert wide_plateaus(path) == [3, 6]  # 100 to 10 nats, and 10 to 3
    assert wide_plateaus({1: path[1]}) == []


def test_parts_of_clusters_that_are_far_apart():
    """Random walks have valleys inside, on all scales; those between them are much deeper."""
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.normal(size=(3, 600, 2)), axis=1)
    walks -= walks.mean(axis=1, keepdims=True)
    walks /= walks.std(axis=(1, 2), keepdims=True)
    walks += 6.0 * np.array([[[0, 0]], [[1, 0]], [[0, 1]]])
    labels, k, ids = found(walks.reshape(-1, 2))
    assert k == 3 and adjusted_rand_score(ids // 600, labels) > 0.99
