"""The automatic penalties of rows in groups.

Two things are tried. All rows together, without regard to groups, by the rule of `DPMeans`. And a
path of solutions with local penalties, of which the one that describes the rows most shortly is
taken. It counts only if the groups show more than all rows do: if it is described clearly more
shortly than the best on the same path where groups are dealt out anew among the rows of each of the
clusters that all rows show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.hdp.path import rising_path
from hardbayes.moves.partition.seeding import k_means_plus_plus
from hardbayes.problems.hdp import pose_groups
from hardbayes.selection.automatic import choose_penalty
from hardbayes.selection.hdp.description import (
    description_length,
    effective_columns,
    effective_rows,
)
from hardbayes.selection.tracing import sample_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.engine.hdp.descent import GroupedSolution
    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.pool import Pool
    from hardbayes.problems.hdp import GroupedProblem
    from hardbayes.selection.choice import Candidate

    Groups = NDArray[np.intp]

# The local penalty over the global one: a cluster that some groups share is worth a few local ones.
RATIO = 0.45
# So many clusters at most, or this part of the square root of the number of rows, or twice as many
# as all rows show: where rows fill a continuum, the more clusters the shorter the description.
FEW = 8
PART = 0.6
# The path begins with so many times as many.
MORE = 2
# It ends where the description has been longer than the shortest for so many penalties.
PATIENCE = 3
# Nats for each row, over the number of columns, by which descriptions that are taken to be equally
# short may differ.
TOLERANCE = 0.04
# Nats by which the description must be shorter than with groups dealt out anew, over the square
# root of rows times columns: where groups say nothing it differs by one such root, rarely by two.
CLEARLY = 1.5


class GroupedChoice(NamedTuple):
    """Penalties, and where a fit with them may begin."""

    local_penalty: float  # in the user's units; 0 where groups show no more than all rows
    global_penalty: float
    centres: Floats  # (k, d), in the user's coordinates
    labels: NDArray[np.int32] | None = None  # (n,), where all rows were used
    # Where there is one cluster: the number that came nearest to be chosen, and its penalty.
    nearest: Candidate | None = None
    nearest_penalty: float = 0.0


class Described(NamedTuple):
    """A solution on a path, and how long its description is."""

    penalty: float  # the global one, in working units
    solution: GroupedSolution
    length: float  # in nats, up to a constant


def choose_penalties(
    matrix: Matrix,
    geometry: Geometry,
    weights: Floats | None,
    groups: Groups,
    prior_weight: float,
    max_clusters: int | None,
    rng: np.random.RandomState,
    pool: Pool,
) -> GroupedChoice:
    """Return the penalties of `DPMeans`, or those that suit the groups where they show more.

    With a cap, of the solutions that it allows.
    """
    if weights is not None and not weights.all():  # rows without weight say nothing
        kept = np.flatnonzero(weights)
        some = matrix[kept], geometry, weights[kept], groups[kept]
        choice = choose_penalties(*some, prior_weight, max_clusters, rng, pool)
        return choice._replace(labels=None)
    pooled = choose_penalty(matrix, geometry, weights, prior_weight, max_clusters, rng, pool)
    nearest = pooled.shown if pooled.n_clusters == 1 else None
    penalty = pooled.penalties[nearest.k] if nearest else 0.0
    without_groups = GroupedChoice(
        0.0, pooled.penalty, pooled.centres, nearest=nearest, nearest_penalty=penalty
    )
    if len(np.unique(groups)) == 1:
        return without_groups
    sample, sample_weights, ids = sample_rows(matrix, weights, rng)
    own = groups if ids is None else groups[ids]
    numbers = np.unique(own, return_inverse=True)[1].astype(np.intp)
    problem = pose_groups(sample, geometry, sample_weights, numbers, int(numbers.max()) + 1, pool)
    most = max(FEW, int(PART * np.sqrt(len(numbers))), 2 * pooled.n_clusters)
    most = min(most, max_clusters or most, len(numbers))
    path = GroupedPath(problem, prior_weight, most, rng)
    described = path.trace(numbers)
    least = min(point.length for point in described)
    clearly = CLEARLY * np.sqrt(effective_rows(problem) * path.columns)
    shown = path.nearest(problem.whole.frame.to_working(pooled.centres))
    dealt = path.trace(dealt_anew(numbers, shown, rng))
    if min(point.length for point in dealt) - least < clearly:
        return without_groups
    chosen = smallest_of_the_shortest(described, TOLERANCE * len(numbers) / path.columns)
    penalty = chosen.penalty / problem.whole.unit
    centres = problem.whole.frame.from_working(chosen.solution.centres)
    labels = chosen.solution.labels if ids is None else None
    return GroupedChoice(RATIO * penalty, penalty, centres, labels)


class GroupedPath:
    """Paths of rising penalties from the same centres, for any groups of the same rows."""

    def __init__(
        self, problem: GroupedProblem, prior_weight: float, most: int, rng: np.random.RandomState
    ) -> None:
        rows = problem.whole.rows
        self.problem = problem
        self.most = most
        self.rng = rng
        self.free = problem.grouped(0.0, 0.0, prior_weight, None)
        seeding = replace(self.free.partition, max_clusters=min(MORE * most, rows.n_rows))
        self.start = k_means_plus_plus(rows, seeding, np.zeros(1), rng)
        self.columns = 0.0  # effective, around the centres of the first solution

    def trace(self, groups: Groups) -> list[Described]:
        """Return the solutions with no more clusters than there may be, and their descriptions."""
        problem = replace(self.problem, groups=groups)
        path: list[Described] = []
        state = problem.state(self.free)
        for grouped, solution in rising_path(state, self.free, RATIO, self.start, self.rng):
            self.columns = self.columns or effective_columns(problem, solution, self.rng)
            if len(solution.centres) > self.most:
                continue
            length = description_length(problem, solution, self.columns)
            path.append(Described(grouped.partition.penalty, solution, length))
            least = min(point.length for point in path)
            if len(path) > PATIENCE and all(p.length > least for p in path[-PATIENCE:]):
                break
        return path

    def nearest(self, centres: Floats) -> NDArray[np.int32]:
        """Return the nearest centre of each row (n,)."""
        state = self.problem.state(self.free)
        state.start(centres)
        return state.base.numbers()


def dealt_anew(groups: Groups, labels: NDArray[np.int32], rng: np.random.RandomState) -> Groups:
    """Return groups (n,) permuted among the rows of each cluster: each has as many of each."""
    order = np.argsort(labels, kind="stable")
    anew = np.lexsort((rng.random_sample(len(groups)), labels))
    result = np.empty_like(groups)
    result[order] = groups[anew]
    return result


def smallest_of_the_shortest(points: list[Described], tolerance: float) -> Described:
    """Return the solution of the smallest penalty among those with about the least length."""
    enough = min(point.length for point in points) + tolerance
    return min(
        (point for point in points if point.length <= enough), key=lambda point: point.penalty
    )
