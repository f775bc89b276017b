"""Passes over rows with covariances, compiled and on threads, against NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.gaussian import clusters as module
from hardbayes.gaussian.clusters import GaussianRows, Trial, transform_rows
from hardbayes.gaussian.problem import GaussianPartition
from hardbayes.gaussian.search import descend, one_cluster
from tests.gaussian.numpy_rows import NumpyGaussianRows


@pytest.fixture(params=["full", "diag"])
def both(request, monkeypatch):
    """The same rows twice: compiled, in many tiles for two threads, and in NumPy."""
    monkeypatch.setattr(module, "TILE", 50)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3)) * [3.0, 1.0, 0.5] + 4.0 * rng.integers(0, 3, (60, 1))
    rows *= 0.2  # scatters about as large as the prior
    weights = rng.integers(0, 3, 60).astype(float)
    diagonal = request.param == "diag"
    with Pool(2) as pool:
        yield (
            GaussianRows(rows, weights, diagonal, pool),
            NumpyGaussianRows(rows, weights, diagonal),
        )


def some_labels(rows, k, seed=1):
    return np.random.default_rng(seed).integers(0, k, rows.n)


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_statistics_also_of_an_empty_cluster(both):
    ours, numpy = both
    labels = some_labels(ours, 4)
    assert_same(ours.statistics(labels, 5), numpy.statistics(labels, 5))


def test_roots_and_log_determinants(both):
    ours, numpy = both
    scatters = ours.statistics(some_labels(ours, 4), 4)[2]
    assert_same(ours.roots(scatters), numpy.roots(scatters))


def test_distances_and_nearest(both):
    ours, numpy = both
    _, means, scatters = ours.statistics(some_labels(ours, 4), 4)
    roots = ours.roots(scatters)[0]
    assert_same([ours.distances(means, roots)], [numpy.distances(means, roots)])
    assert_same(ours.nearest(means, roots), numpy.nearest(means, roots))
    offsets = np.array([3.0, -1.0, 0.0, 0.5])
    assert_same(ours.nearest(means, roots, offsets), numpy.nearest(means, roots, offsets))


def test_the_first_of_equal_clusters_is_nearest(both):
    ours, _ = both
    means, roots = np.zeros((3, 3)), ours.roots(np.zeros((3, 1 if ours.diagonal else 3, 3)))[0]
    assert not ours.nearest(means, roots)[0].any()


@pytest.mark.parametrize("max_births", [0, 1, 5, 100])
def test_a_sweep_is_the_serial_loop(both, max_births):
    ours = both[0]
    one = ours.statistics(np.zeros(ours.n, np.int64), 1)
    opening_cost = float(np.quantile(ours.assign(one)[1], 0.3))
    partition = GaussianPartition(opening_cost, 1.0, 1 + max_births)
    order = np.random.default_rng(2).permutation(ours.n)
    ours, numpy = (replace(rows, partition=partition, order=order) for rows in both)
    (labels, capped), (expected, also) = ours.sweep(one), numpy.sweep(one)
    np.testing.assert_array_equal(labels, expected)
    assert capped == also == (max_births < 100)
    assert labels.max() == min(max_births, labels.max())


@pytest.mark.parametrize("max_passes", [1, 8])
def test_single_rows_move_as_the_objective_says(both, max_passes):
    ours, numpy = both
    labels = some_labels(ours, 3)
    before = labels.copy()
    clusters = ours.statistics(labels, 3)
    found, n_moves = ours.move_rows(labels, clusters, max_passes)
    expected, n_expected = numpy.move_rows(labels, clusters, max_passes)
    np.testing.assert_array_equal(found, expected)
    assert n_moves == n_expected > 0
    np.testing.assert_array_equal(labels, before)
    assert_same(clusters, numpy.statistics(labels, 3))  # nothing that came in was changed


def test_the_only_row_of_weight_of_a_cluster_stays(both):
    ours, _ = both
    labels = np.zeros(ours.n, np.int64)
    heavy, light = np.flatnonzero(ours.weights > 0)[0], np.flatnonzero(ours.weights == 0)[0]
    labels[[heavy, light]] = 1
    found, _ = ours.move_rows(labels, ours.statistics(labels, 2), 8)
    assert found[heavy] == found[light] == 1


def test_divisions(both):
    ours, numpy = both
    rng = np.random.default_rng(3)
    whole = numpy.value(np.zeros(ours.n, np.int64), 1)
    sides = rng.integers(0, 2, (5, ours.n)).astype(np.uint8)
    trials = [
        Trial(ours.rows, ours.weights, sides, whole),
        Trial(ours.rows, ours.weights, sides[:0], whole),  # nothing to start from
        Trial(ours.rows, ours.weights, sides * 0, whole),  # no split
        Trial(ours.rows[:20], 2 * ours.weights[:20], sides[:2, :20], 9.0),
    ]
    before = sides.copy()
    for found, expected in zip(ours.split_trials(trials), numpy.split_trials(trials), strict=True):
        assert_same(found, expected)
    np.testing.assert_array_equal(sides, before)
    assert ours.split_trials(trials)[0][0] > 0
    assert [len(found[1]) for found in ours.split_trials(trials)] == [2, 0, 0, 2]


def test_some_rows(both):
    ours, numpy = both
    ids = np.array([3, 1, 7])
    some = ours.sample(ids, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(some.rows, numpy.rows[ids])
    assert some.weights.sum() == 6.0 and some.diagonal == ours.diagonal


def test_transformed_rows(both):
    ours, _ = both
    rng = np.random.default_rng(4)
    middle, matrix = rng.normal(size=3), np.triu(rng.normal(size=(3, 3)))
    found = transform_rows(ours.rows, middle, matrix, ours.pool)
    np.testing.assert_allclose(found, (ours.rows - middle) @ matrix, rtol=1e-12, atol=1e-12)
    found = transform_rows(ours.rows, middle, matrix[0], ours.pool)
    np.testing.assert_allclose(found, (ours.rows - middle) * matrix[0], rtol=1e-12)


@pytest.mark.parametrize("search", ["paper", "split-merge"])
def test_a_fit_is_that_of_literal_passes(both, search):
    ends = []
    for rows in both:
        order = np.random.default_rng(5).permutation(rows.n)
        model = replace(rows, partition=GaussianPartition(0.4, 1.5, 5), order=order)
        rng = np.random.RandomState(0)
        ends.append(descend(model, one_cluster(rows), search, 40, rng))
    np.testing.assert_array_equal(ends[0].labels, ends[1].labels)
    np.testing.assert_allclose(ends[0].history, ends[1].history, rtol=1e-9)
    assert ends[0][3:6] == ends[1][3:6]
    assert search == "paper" or ends[0].n_splits > 0
