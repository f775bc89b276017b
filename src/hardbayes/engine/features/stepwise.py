"""One feature more at a time: K-features for K = 0, 1, 2, ..., each begun from the one before."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from hardbayes.engine.features.descent import FeatureSolution, Point
from hardbayes.engine.features.restarts import minimise_features
from hardbayes.engine.features.search import FeatureSearch
from hardbayes.engine.status import Status
from hardbayes.executors.features.protocol import Allocation, FeatureRows
from hardbayes.structure.feature_allocation import FeatureAllocation


def no_features(rows: FeatureRows) -> FeatureSolution:
    """Return the solution for K = 0."""
    n, d, *_ = rows.describe()
    empty = Allocation(np.empty((0, d)), np.empty((n, 0), np.uint8))
    sums = rows.collect(empty)
    return FeatureSolution(empty, [Point(sums.fit, 0)], Status.CONVERGED, sums.gram)


def with_one_more(
    rows: FeatureRows,
    search: FeatureSearch,
    before: FeatureSolution,
    n_starts: int,
    rng: np.random.RandomState,
) -> FeatureSolution | None:
    """Return the best K-features solution with one feature more, None where it fits no better.

    Or where ``search.structure`` allows no more. Unless the search is literal, the solution before
    is one of the starts.
    """
    k = before.n_components + 1
    if before.fit <= rows.describe().negligible_fit or k > search.structure.max_components:
        return None
    free = replace(search, structure=FeatureAllocation(0.0, k))
    given = [] if search.literal else [before.allocation]
    solution = minimise_features(rows, free, n_starts, rng, given)
    return solution if solution.n_components == k else None  # the residuals have no direction left


def k_features_path(
    rows: FeatureRows, search: FeatureSearch, n_starts: int, rng: np.random.RandomState
) -> Iterator[FeatureSolution]:
    """Yield the best K-features solutions for K = 0, 1, ..., while more features fit better."""
    solution: FeatureSolution | None = no_features(rows)
    while solution is not None:
        yield solution
        solution = with_one_more(rows, search, solution, n_starts, rng)


def stepwise(path: Iterable[FeatureSolution], structure: FeatureAllocation) -> FeatureSolution:
    """Return the first solution of a path after which the objective does not fall.

    Broderick, Kulis & Jordan 2013, section 5. The trace holds one point for each K.
    """
    points: list[Point] = []
    best: FeatureSolution | None = None
    for solution in path:
        if best is not None and not (
            structure.total(*solution.trace[-1]) < structure.total(*best.trace[-1])
        ):
            break
        best = solution
        points.append(solution.trace[-1])
    assert best is not None  # a path begins with no features at all
    return replace(best, trace=points)
