"""Clusters between which rows thin out."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.gaussian.choice.borders import Borders
from hardbayes.gaussian.choice.evidence import likeliest_prior
from hardbayes.gaussian.choice.path import find_path
from hardbayes.gaussian.choice.rule import separate
from tests.gaussian.choice.samples import SQUARE, blobs, sampled


def found(matrix):
    with sampled(matrix) as sample:
        k, _, labels = separate(sample.rows, find_path(sample.rows), sample.dip_rows)
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


@pytest.mark.parametrize("seed", range(3))
def test_one_cloud_is_one(seed):
    rng = np.random.default_rng(seed)
    for matrix in (rng.normal(size=(300, 2)), rng.uniform(size=(300, 2))):
        assert found(matrix)[1] == 1


def test_all_neighbours_of_what_is_left_are_two():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, np.pi, 500)
    arc = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(8.0, 9.0, (500, 1))
    matrix = np.vstack([arc, rng.normal(size=(200, 2)) * 0.3 + [0.0, -6.0]])
    with sampled(matrix) as sample:
        rows = sample.rows
        k, evidence, labels = separate(rows, find_path(rows), rows)
        assert evidence == likeliest_prior(rows, rows.statistics(labels, k))[1]
        assert k >= 2
        borders = Borders(rows, labels, k, rows)
        assert all(border.separates for border in borders.between(borders.pairs()))
