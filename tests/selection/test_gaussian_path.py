"""The automatic number of clusters with covariances, from likelihoods and objectives."""

import numpy as np
import pytest

from hardbayes.engine.gaussian.model import clusters_of
from hardbayes.pool import Pool
from hardbayes.selection.gaussian_path import (
    LOOK_AHEAD,
    choose,
    likeliest_number,
    stable_penalties,
    trace,
)
from hardbayes.selection.gaussian_prior import PriorSearch
from hardbayes.structure.gaussians import GaussianPartition
from tests.engine.gaussian.test_restarts import options


@pytest.fixture
def search():
    rng = np.random.default_rng(0)
    matrix = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0)
    matrix = matrix + rng.normal(size=(90, 2))
    with Pool(1) as pool:
        weights, random = np.ones(90), np.random.RandomState(0)
        yield PriorSearch(matrix, weights, 90.0, matrix.mean(axis=0), options(), random, pool)


def test_the_least_of_the_almost_likeliest_numbers():
    assert likeliest_number([100.0, 95.0, 94.0], 100.0) == 1  # less than .1 a row is no gain
    assert likeliest_number([100.0, 80.0, 50.0, 49.0, 60.0], 100.0) == 3  # 49 is a tie
    assert likeliest_number([100.0, 80.0, 50.0, 40.0, 60.0], 100.0) == 4


def test_the_path_has_every_number_and_ends_after_the_likeliest(search):
    path, misfits = trace(search, 64)
    assert [len(np.unique(labels)) for labels in path] == list(range(1, len(path) + 1))
    assert np.argmin(misfits) == 2 and len(path) == 3 + LOOK_AHEAD
    np.testing.assert_allclose(misfits, [search.marginal_misfit(labels) for labels in path])
    assert len(trace(search, 2)[0]) == 2


def test_within_stable_penalties_no_other_partition_is_better(search):
    path, _ = trace(search, 64)
    prior = search.improve(path[2], GaussianPartition(0.0, 1.0, 3))
    low, high = stable_penalties(search, prior, path)
    assert 0 < low < high < np.inf
    rows = search.whitened(prior.matrix)
    for penalty in (1.001 * low, 0.999 * high):
        partition = GaussianPartition(penalty, 1.0, 64)
        best = partition.objective(clusters_of(rows, prior.labels))
        for labels in path:
            assert best <= partition.objective(clusters_of(rows, labels)) + 1e-9


def test_the_penalty_lies_between(search):
    prior, penalty = choose(search, 3.0, 64)
    assert len(np.unique(prior.labels)) == 3
    partition = GaussianPartition(penalty, 3.0, 64)
    end = search.fit(prior.matrix, [prior.labels, np.zeros(90, int)], partition)
    assert end.statistics.k == 3
