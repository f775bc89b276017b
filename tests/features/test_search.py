"""The same search with rows in memory and in NumPy."""

import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool
from hardbayes.features.descent import FeatureSearch, FeatureSolution, Point
from hardbayes.features.memory import MemoryFeatureRows
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation
from hardbayes.features.tiles import Tiles
from tests.reference.feature_rows import NumpyFeatureRows


def make(seed, n=18, d=4, k=2):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, k)) < 0.5) @ rng.standard_normal((k, d)) * 2
    X += 0.2 * rng.standard_normal(X.shape)
    return X, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("literal", [True, False], ids=["paper", "split-merge"])
@pytest.mark.parametrize("collapsed", [False, True], ids=["joint", "collapsed"])
@pytest.mark.parametrize("seed", range(4))
def test_both_executors_give_the_same_solution(seed, literal, collapsed):
    X, weights = make(seed)
    search = FeatureSearch(FeatureAllocation(1.0, 3), literal, collapsed, 100)
    start = Allocation(
        np.average(X, axis=0, weights=weights)[np.newaxis], np.ones((18, 1), np.uint8)
    )
    with Pool(1) as pool:
        rows = MemoryFeatureRows(Tiles(X, np.zeros(4), 1.0, weights), pool)
        found = search.run(rows, start, np.random.RandomState(0))
    slow = search.run(NumpyFeatureRows(X, weights), start, np.random.RandomState(0))
    assert found.status is slow.status is Status.CONVERGED
    assert search.objective(found) == pytest.approx(search.objective(slow))
    np.testing.assert_array_equal(found.allocation.membership, slow.allocation.membership)
    assert slow.trace[-1] == pytest.approx(found.trace[-1])


def test_improvements_below_rounding_do_not_count():
    search = FeatureSearch(FeatureAllocation(1.0, 3), False, False, 1)
    solution = FeatureSolution(None, [Point(9.0, 1), Point(2.0, 2)], Status.CONVERGED, None)
    assert search.objective(solution) == 4.0
    assert search.improves(Point(2.9, 1), solution)
    assert not search.improves(Point(2.0 - 1e-12, 2), solution)
    assert not search.improves(Point(2.0, 2), solution)


@pytest.mark.parametrize(("penalty", "opens"), [(0.01, True), (1e3, False)])
def test_whether_another_feature_would_lower_the_objective(penalty, opens):
    X, _ = make(0)
    rows, search = (
        NumpyFeatureRows(X),
        FeatureSearch(FeatureAllocation(penalty, 9), False, False, 1),
    )
    empty = Allocation(np.empty((0, 4)), np.empty((18, 0), np.uint8))
    solution = FeatureSolution(empty, [Point(1.0, 0)], Status.CONVERGED, np.empty((0, 0)))
    assert search.would_open(rows, solution, np.random.RandomState(0)) is opens
