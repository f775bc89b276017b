"""Fits with exactly so many clusters: at a penalty of zero, under a cap.

Few rows have a search of their own (`few_rows`). Others begin where a path of solutions on a sample
has as many clusters. On a sample of many rows one path may end in a local optimum that all rows do
not leave: so there are several, each on rows of its own, and all rows judge their centres by a few
sweeps. The best goes on to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.exact_number import ToldPenalty, add_told, told_penalty, unjudged
from hardbayes.core.loop import Status
from hardbayes.dp_means.choice.farthest_first import farthest_first_penalty
from hardbayes.dp_means.choice.path import (
    MAX_CENTRE_ENTRIES,
    MAX_CLUSTERS,
    WIDE_CLUSTERS,
    begin_path,
)
from hardbayes.dp_means.choice.sample import sample_rows
from hardbayes.dp_means.descent import Solution
from hardbayes.dp_means.few_rows import solve_few
from hardbayes.dp_means.fitted import fitted_attributes
from hardbayes.dp_means.moves.merges import nearest_partners
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.problem import Problem, pose
from hardbayes.dp_means.starts import Starts, minimise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.frame import Columns

HALVINGS = 8  # of an automatic prior that keeps rows together; then there is none
# Paths on further samples, where all rows do not fit in one; fewer of fewer rows, where they take a
# larger part of the time. More miss the best optimum less often, and take longer
# (benchmarks.exact_k).
PATHS = 24
# Rows of all these samples but the first: so many, or so many for each cluster. Fewer take less
# time, and end in more different optima (benchmarks.exact_k).
PATH_ROWS = 1 << 12
PATH_ROWS_A_CLUSTER = 64
# Sweeps of all rows by which centres are judged: their order hardly changes later
# (benchmarks.exact_k).
JUDGING_SWEEPS = 5

Report = Callable[[int, int, int, int], None]


class Exact(NamedTuple):
    """A solution at a penalty of zero, and the prior weight that let it have its clusters."""

    solution: Solution
    prior_weight: float


def solve_exactly(
    problem: Problem,
    n_clusters: int,
    prior_weight: float,
    gives_way: bool,
    starts: Starts,
    rng: np.random.RandomState,
    report: Report,
) -> Exact:
    """Return a solution with so many clusters, or fewer where there are no more.

    ``gives_way``: whether the prior may be halved until so many stand.
    """
    priors = [prior_weight]
    if gives_way and prior_weight:
        priors += [prior_weight * 0.5**n for n in range(1, HALVINGS + 1)] + [0.0]
    for each in priors:
        free = problem.partition(0.0, each, n_clusters)
        solution = minimise(
            problem.state(free), free, problem.opening_costs(free), lambda: problem.mean, starts,
            rng, report,
        )  # fmt: skip
        if len(solution.centres) == n_clusters:
            break
    return Exact(solution, each)


def why_fewer(exact: Exact, max_iter: int) -> str:
    """Return why there are fewer clusters than were asked for."""
    if exact.prior_weight:
        return f"prior_weight={exact.prior_weight:g} keeps rows together; set it to 0"
    if exact.solution.status is Status.OUT_OF_STEPS:
        return f"max_iter={max_iter} ended the search; raise it"
    return "X has no more different rows"


def since(counts: NDArray[np.int64], n_clusters: int) -> int:
    """Return the step from which on there are so many clusters, at the latest the last one.

    ``counts`` (steps,). At a penalty above zero the objective may rise before, where clusters were
    opened.
    """
    others = np.flatnonzero(counts != n_clusters)
    return int(min(others[-1] + 1, len(counts) - 1)) if len(others) else 0


def with_number(solution: Solution) -> Solution:
    """Return a solution whose trace begins where it has its number of clusters for good."""
    k = len(solution.centres)
    first = since(solution.cluster_counts, k)
    counts = np.full(len(solution.trace) - first, k)
    return replace(solution, trace=solution.trace[first:], cluster_counts=counts)


def centres_of(
    problem: Problem,
    prior_weight: float,
    partitions: dict[int, NDArray[np.int32]],
    n_clusters: int,
) -> Floats:
    """Return centres (k, d) to start from, in the user's coordinates: not more than so many.

    ``partitions``: labels (n,) of the rows, by number of clusters.
    """
    partition = problem.partition(0.0, prior_weight, None)
    enough = [k for k in partitions if k >= n_clusters]
    found = partitions[min(enough) if enough else max(partitions)]
    used, labels = np.unique(found, return_inverse=True)
    numbers = np.arange(len(used))
    totals = problem.rows.totals(len(used), labels.astype(np.int32))
    weights, centres = totals.weights(numbers), totals.sums(numbers)
    kept = np.flatnonzero(weights)
    centres = merge_cheapest(partition, weights[kept], centres[kept], n_clusters)
    return problem.frame.from_working(centres)


def merge_cheapest(
    partition: Partition, weights: Floats, totals: Floats, n_clusters: int
) -> Floats:
    """Return the centres of clusters with these weights (k,) and totals (k, d), at most so many.

    While there are more, the two unite whose union costs least.
    """
    while len(weights) > n_clusters:
        partners, costs = nearest_partners(partition, weights, partition.centres(weights, totals))
        younger = int(costs.argmin())
        older = partners[younger]
        weights[older] += weights[younger]
        totals[older] += totals[younger]
        weights, totals = np.delete(weights, younger), np.delete(totals, younger, axis=0)
    return partition.centres(weights, totals)


class Told(NamedTuple):
    """What a fit with a told number of clusters takes from its estimator."""

    n_clusters: int
    prior_weight: float
    gives_way: bool  # the prior, where it keeps rows together
    starts: Starts
    max_iter: int

    @classmethod
    def of(cls, estimator: Any, prior_weight: float, init: str | Floats) -> Told:
        """Return it; ``init``: a name, or centres in working coordinates."""
        gives_way = estimator.prior_weight == "auto"
        starts = estimator._starts(init)
        return cls(estimator.n_clusters, prior_weight, gives_way, starts, estimator.max_iter)


class Begun(NamedTuple):
    """Where fits with a told number of clusters begin."""

    candidates: list[Floats]  # centres (k, d) in working coordinates
    penalty: ToldPenalty  # of the number, in the user's units
    search: str  # that goes on from there


def exact_starts(
    problem: Problem, matrix: Matrix, weights: Floats | None, told: Told,
    rng: np.random.RandomState,
) -> Begun:  # fmt: skip
    """Return centres from a search of few rows, or from paths, and the penalty for the number.

    ``matrix`` and ``weights``: those of the problem.
    """
    k, pool = told.n_clusters, problem.rows.pool
    geometry, n = problem.geometry, problem.rows.n_rows
    # Other divergences have no quick path.
    quick = geometry.distance_costs and not told.prior_weight
    few = solve_few(problem, k, told.starts.number, rng) if quick else None
    if few is not None:
        penalty = told_penalty(few.points, k, problem.unit).scaled(1.0 / problem.unit)
        return Begun([few.centres], penalty, "paper")
    ends = min(k, MAX_CLUSTERS, max(MAX_CENTRE_ENTRIES // problem.rows.n_columns, WIDE_CLUSTERS))
    found: list[Floats] = []
    penalty, most, n_paths = unjudged(0.0), None, 1
    while len(found) < n_paths:
        some, own, ids = sample_rows(matrix, weights, rng, most)
        part = problem if ids is None else pose(some, geometry, own, pool)
        path = begin_path(part, told.prior_weight, None, rng)
        path.trace(ends + 1, ends, thorough=True)
        centres = centres_of(part, told.prior_weight, path.partitions, k)
        if not found:
            penalty = told_penalty(path.points, k, part.unit).scaled(1.0 / part.unit)
            more = min(PATHS, n // (2 * PATH_ROWS)) if ids is not None else 0
            n_paths = told.starts.number * (1 + more if quick else 1)
            most = max(PATH_ROWS, PATH_ROWS_A_CLUSTER * ends) if quick else None
            most = None if most is None else min(most, n)
        found.append(problem.centres_in_frame(centres))
    return Begun(found, penalty, told.starts.search)


def judged(
    problem: Problem, candidates: list[Floats], told: Told, rng: np.random.RandomState,
    report: Report,
) -> Floats:  # fmt: skip
    """Return the centres from which a few sweeps of all rows lead lowest."""
    if len(candidates) == 1:
        return candidates[0]
    ends = []
    for centres in candidates:
        starts = replace(told.starts, init=centres, number=1, search="paper")
        starts = replace(starts, max_steps=min(JUDGING_SWEEPS, told.max_iter))
        ends.append(
            solve_exactly(
                problem, told.n_clusters, told.prior_weight, False, starts, rng, report
            ).solution
        )
    # Fewer clusters only where rows are equal; then they are in all.
    return min(ends, key=lambda end: (-len(end.centres), end.cost)).centres


def fit_told(
    problem: Problem, matrix: Matrix, weights: Floats | None, columns: Columns, told: Told,
    rng: np.random.RandomState, report: Report,
) -> tuple[dict[str, Any], Status]:  # fmt: skip
    """Return the attributes and the status of a fit with exactly so many clusters."""
    starts = told.starts
    if starts.search == "split-merge":
        candidates, penalty, search = exact_starts(problem, matrix, weights, told, rng)
        if isinstance(starts.init, str) and starts.init == "mean":
            best = judged(problem, candidates, told, rng, report)
            starts = replace(starts, init=best, number=1, search=search)
    else:
        penalty = unjudged(farthest_first_penalty(problem, told.n_clusters, told.prior_weight))
        if isinstance(starts.init, str) and starts.init == "mean":
            starts = replace(starts, init="farthest-first")
    told = told._replace(starts=starts)
    return fit_told_from(problem, penalty, columns, matrix.dtype, told, rng, report)


def fit_told_from(
    problem: Problem, penalty: ToldPenalty, columns: Columns, dtype: np.dtype, told: Told,
    rng: np.random.RandomState, report: Report,
) -> tuple[dict[str, Any], Status]:  # fmt: skip
    """Return the same from the starts alone, with a penalty that is known."""
    k = told.n_clusters
    exact = solve_exactly(
        problem, k, told.prior_weight, told.gives_way, told.starts, rng, report
    )  # fmt: skip
    solution, prior_weight = exact
    if len(solution.centres) != k:
        penalty = unjudged(0.0)
    partition = problem.partition(penalty.penalty, prior_weight, k)
    status = solution.status
    shown = with_number(solution)
    fitted = fitted_attributes(shown, problem, partition, penalty.penalty, columns, dtype)
    return fitted, add_told(fitted, status, k, penalty, why_fewer(exact, told.max_iter))
