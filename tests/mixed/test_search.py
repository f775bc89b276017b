"""Searches find what brute force finds, and what does not depend on the order of columns."""

import numpy as np
import pytest

from hardbayes.mixed.choice.evidence import trace
from hardbayes.mixed.clusters import Prior
from hardbayes.mixed.search import (
    Path,
    embeddings,
    from_labels,
    moved_by_rows,
    pose,
    seeded,
)
from tests.mixed.tables import drawn_rows
from tests.reference import mixed


@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 2), (2, 2), (3, 2), (0, 3), (2, 3), (3, 3)])
def test_small_tables_reach_the_best_of_all_partitions(seed, k):
    rows, _ = drawn_rows(seed, n=9, p=1, sizes=(2, 3), k=k)
    best = min(
        mixed.from_labels(rows.numbers, rows.levels, rows.weights, rows.floors, rows.sizes, labels,
                          1.0, 0.0)
        for labels in mixed.partitions(9, k)
    )  # fmt: skip
    problem = pose(rows, Prior(1.0))
    path = Path(problem, np.random.RandomState(0), 4)
    for more in range(2, k + 2):
        path.extend(more)
    path.merge_back()
    assert path.best[k].value == pytest.approx(best)


def test_no_row_of_few_would_better_be_elsewhere():
    rows, _ = drawn_rows(5, n=14, p=2, sizes=(2, 3), k=3)
    problem = pose(rows, Prior(1.0))
    start = from_labels(problem, np.arange(14) % 3, 100)
    found = moved_by_rows(problem, start)
    assert found.value < start.value and found.k == 3
    for row in range(14):
        for cluster in range(3):
            labels = found.labels.copy()
            labels[row] = cluster
            if len(np.unique(labels)) == 3:
                assert from_labels(problem, labels, 40).value >= found.value - 1e-5


def test_the_truth_is_found():
    rows, labels = drawn_rows(7, n=200, p=4, sizes=(3, 3), k=3)
    problem = pose(rows, Prior(1.0))
    found = trace(problem, 4, np.random.RandomState(0))
    planted = from_labels(problem, labels, 100)
    shared = [each.found for each in found.values() if len(each.found.clusters.covariances) == 1]
    assert min(each.value for each in shared if each.k == 3) <= planted.value * (1 + 1e-3)


def test_embeddings_are_finite_and_of_unit_length_where_they_should_be():
    rows, _ = drawn_rows(8, n=100, holes=0.2)
    long, short, *_ = embeddings(pose(rows, Prior(1.0)))
    assert np.isfinite(long).all()
    np.testing.assert_allclose((short**2).mean(axis=0), 1.0)


def test_nothing_to_compare_has_no_embedding():
    rows, _ = drawn_rows(9, n=10, p=0, sizes=())
    assert embeddings(pose(rows, Prior(1.0))) == []


def test_seeds_of_equal_rows_are_one_cluster():
    labels = seeded(np.zeros((20, 2)), np.ones(20), 4, np.random.RandomState(0))
    assert set(labels.tolist()) == {0}
