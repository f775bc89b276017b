"""Exactly so many clusters that groups share.

Without a local penalty groups do not matter, and a partition is fitted with exactly so many
clusters. With one, a cluster may cost more in groups than its rows save, whatever the global
penalty: so that is taken below zero, where no cluster is worth giving up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.arrays import Floats, Matrix, VisitOrder
from hardbayes.core.exact_number import ToldPenalty, unjudged
from hardbayes.dp_means.choice.farthest_first import farthest_first_penalty
from hardbayes.dp_means.choice.sample import sample_rows
from hardbayes.dp_means.exactly import Exact, Told, exact_starts, judged, since, solve_exactly
from hardbayes.dp_means.starts import first_centres
from hardbayes.groups.choice import RATIO, GroupedPath
from hardbayes.groups.descent import GroupedDescent, GroupedSolution, grouped_solution
from hardbayes.groups.problem import GroupedPartition, GroupedProblem, pose_groups

if TYPE_CHECKING:
    from hardbayes.dp_means.exactly import Report


class ExactGroups(NamedTuple):
    """A solution with a told number of clusters; its trace begins where it has them for good."""

    solution: GroupedSolution
    grouped: GroupedPartition  # at these penalties
    penalties: tuple[float, float]  # the local and the global one, in the user's units
    told: ToldPenalty  # of the global one
    without_groups: Exact | None  # where there is no local penalty


def fit_exactly(
    problem: GroupedProblem, matrix: Matrix, weights: Floats | None, told: Told,
    local_penalty: float | None, rng: np.random.RandomState, report: Report,
) -> ExactGroups:  # fmt: skip
    """Return a solution with so many clusters; None: the local penalty that groups show."""
    k, found = told.n_clusters, None
    if problem.n_groups == 1 or local_penalty == 0:
        local_penalty = local_penalty or 0.0
    elif local_penalty is None:
        found = _told_by_groups(problem, matrix, weights, told, rng)
        local_penalty = 0.0 if found is None else RATIO * found[0]
    published = told.starts.search != "split-merge"
    if (problem.n_groups == 1 or not local_penalty) and not published:
        return _without_groups(problem, matrix, weights, told, local_penalty, rng, report)
    starts = told.starts
    if published:
        penalty = farthest_first_penalty(problem.whole, k, told.prior_weight)
        init = starts.init
        if isinstance(init, str) and init == "mean":
            init = "farthest-first"
        free = problem.whole.partition(0.0, told.prior_weight, k)
        opening = problem.whole.opening_costs(free)
        centres = first_centres(
            problem.whole.rows, free, opening, lambda: problem.whole.mean, init, rng
        )
        candidates = [centres]
    else:
        candidates, path_penalty, _ = exact_starts(problem.whole, matrix, weights, told, rng)
        candidates = [judged(problem.whole, candidates, told, rng, report)]
        penalty = max(0.0, path_penalty.penalty - local_penalty)
        if not isinstance(starts.init, str):
            candidates = [starts.init]
        elif found is not None:
            penalty = found[0]
            candidates.append(problem.whole.centres_in_frame(found[1]))
    ends = [_descend(problem, told, centres, local_penalty, rng, report) for centres in candidates]
    solution = min(ends, key=lambda end: (-len(end.centres), _cost(end, problem, local_penalty)))
    grouped = problem.grouped(local_penalty, penalty, told.prior_weight, k)
    solution = replace(_with_number(solution), partition=grouped.partition)
    return ExactGroups(solution, grouped, (local_penalty, penalty), unjudged(penalty), None)


def _with_number(solution: GroupedSolution) -> GroupedSolution:
    k = len(solution.centres)
    first = since(solution.cluster_counts, k)
    return replace(
        solution, trace=solution.trace[first:], local_counts=solution.local_counts[first:],
        cluster_counts=np.full(len(solution.trace) - first, k),
    )  # fmt: skip


def _cost(solution: GroupedSolution, problem: GroupedProblem, local_penalty: float) -> float:
    return solution.terms.cost + local_penalty * problem.whole.unit * solution.terms.n_local


def _without_groups(
    problem: GroupedProblem, matrix: Matrix, weights: Floats | None, told: Told,
    local_penalty: float, rng: np.random.RandomState, report: Report,
) -> ExactGroups:  # fmt: skip
    whole, starts = problem.whole, told.starts
    candidates, penalty, search = exact_starts(whole, matrix, weights, told, rng)
    if isinstance(starts.init, str) and starts.init == "mean":
        best = judged(whole, candidates, told, rng, report)
        starts = replace(starts, init=best, number=1, search=search)
    exact = solve_exactly(
        whole, told.n_clusters, told.prior_weight, told.gives_way, starts, rng, report
    )
    if len(exact.solution.centres) != told.n_clusters:
        penalty = unjudged(0.0)
    shared = ToldPenalty(*(max(0.0, each - local_penalty) for each in penalty))
    grouped = problem.grouped(local_penalty, shared.penalty, exact.prior_weight, told.n_clusters)
    solution = grouped_solution(problem.state(grouped), grouped.partition, exact.solution)
    return ExactGroups(
        _with_number(solution), grouped, (local_penalty, shared.penalty), shared, exact
    )


def _told_by_groups(
    problem: GroupedProblem, matrix: Matrix, weights: Floats | None, told: Told,
    rng: np.random.RandomState,
) -> tuple[float, Floats] | None:  # fmt: skip
    """Return the global penalty and the centres of a path's solution with so many clusters.

    In the user's units and coordinates. None where the path has none, or its lead over groups dealt
    out anew is no clear one.
    """
    geometry, pool = problem.whole.geometry, problem.whole.rows.pool
    groups = problem.groups
    if weights is not None and len(weights) > 1 and not weights.all():
        kept = np.flatnonzero(weights)
        matrix, weights, groups = matrix[kept], weights[kept], groups[kept]
    sample, own, ids = sample_rows(matrix, weights, rng)
    numbers = np.unique(groups if ids is None else groups[ids], return_inverse=True)[1]
    numbers = numbers.astype(np.intp)
    posed = pose_groups(sample, geometry, own, numbers, int(numbers.max()) + 1, pool)
    most = min(told.n_clusters, len(numbers))
    path = GroupedPath(posed, told.prior_weight, most, rng)
    points = [each for each in path.points if len(each.solution.centres) == told.n_clusters]
    if not points:
        return None
    best = min(points, key=lambda point: point.length)
    if not path.is_told(best):
        return None
    unit, frame = posed.whole.unit, posed.whole.frame
    return best.penalty / unit, frame.from_working(best.solution.centres)


def _descend(
    problem: GroupedProblem, told: Told, centres: Floats, local_penalty: float,
    rng: np.random.RandomState, report: Report,
) -> GroupedSolution:  # fmt: skip
    """Return the descent from these centres under a cap, at a reward for each cluster."""
    starts, k = told.starts, told.n_clusters
    grouped = problem.grouped(local_penalty, 0.0, told.prior_weight, k)
    opening = problem.whole.opening_costs(grouped.partition)
    if starts.search == "split-merge":
        # No cluster may save more than all groups pay for it.
        reward = 2.0 * grouped.local_penalty * problem.n_groups
        partition = replace(grouped.partition, penalty=-reward)
        grouped = replace(grouped, partition=partition)
        opening = opening - reward
    state = problem.state(grouped)
    order = VisitOrder.draw(starts.order, rng).rows(state.rows.n_rows)
    state.start(centres)
    state.refit()
    descent = GroupedDescent(state, grouped, opening, order, rng, lambda *step: report(0, *step))
    return descent.run(starts.search, starts.max_steps)
