"""Solutions of the hard HDP at rising penalties."""

import numpy as np
import pytest

from hardbayes.dp_means.starts import k_means_plus_plus
from hardbayes.groups.descent import STEP, rising_path
from tests.groups.cases import labelled, random_case

RATIO = 0.5


@pytest.fixture
def path():
    X, groups, _ = random_case(0, n=80)
    with labelled(X, groups, np.zeros(80, int), (0.0, 0.0), cap=12) as case:
        rows, partition = case.state.rows, case.grouped.partition
        start = k_means_plus_plus(rows, partition, np.zeros(1), np.random.RandomState(0))
        rng = np.random.RandomState(0)
        yield case, list(rising_path(case.state, case.grouped, RATIO, start, rng))


def test_penalties_rise_and_clusters_become_one(path):
    _, points = path
    penalties = np.array([grouped.partition.penalty for grouped, _ in points])
    np.testing.assert_allclose(penalties[1:] / penalties[:-1], STEP)
    assert all(g.local_penalty == RATIO * g.partition.penalty for g, _ in points)
    counts = [len(solution.centres) for _, solution in points]
    assert counts[0] >= 8 and counts == sorted(counts, reverse=True)
    assert counts[-1] == 1 and counts[-2] > 1


def test_each_solution_is_the_partition_of_its_labels(path):
    case, points = path
    X = case.problem.whole.rows.take().dense()
    for _, solution in points:
        means = [X[solution.labels == c].mean(axis=0) for c in range(len(solution.centres))]
        np.testing.assert_allclose(solution.centres, means)
        pairs = {*zip(case.groups.tolist(), solution.labels.tolist(), strict=True)}
        assert pairs == {
            *zip(*(ids.tolist() for ids in np.nonzero(solution.ranks >= 0)), strict=True)
        }
        assert solution.terms.n_local == len(pairs)


def test_equal_rows_are_one_cluster_from_the_start():
    with labelled(np.ones((6, 2)), np.arange(6) % 2, np.zeros(6, int), (0.0, 0.0)) as case:
        start = case.problem.whole.mean[np.newaxis]
        points = list(rising_path(case.state, case.grouped, RATIO, start, np.random.RandomState(0)))
        assert [len(solution.centres) for _, solution in points] == [1]
