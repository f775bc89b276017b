"""The automatic penalties of rows in groups.

A path of solutions with local penalties is followed. Its solution that describes the rows most
shortly is taken if groups tell its clusters apart: if the objective is clearly lower than with
groups that are dealt out anew among the rows nearest to the same centre. So it is where clusters
overlap, and groups say to which of two a row between them belongs.

Otherwise, and where more clusters than there may be are described more shortly, the answer is that
of `DPMeans`, without a local penalty; unless groups differ in more than these clusters. Then a
solution on the path is described clearly more shortly than any on the path of groups that are dealt
out anew among the rows of each cluster. Of the path, the solution is taken that is ahead of such
groups by most.

How shortly a solution of the hard HDP describes the rows.
"""

from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from hardbayes.core.arrays import Floats, Matrix, chunks
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.pool import Pool
from hardbayes.dp_means.choice.automatic import Choice, choose_penalty
from hardbayes.dp_means.choice.rule import Candidate
from hardbayes.dp_means.choice.sample import sample_rows, undo_rounding
from hardbayes.dp_means.starts import k_means_plus_plus
from hardbayes.groups.descent import GroupedSolution, rising_path
from hardbayes.groups.moves import regroup_rows
from hardbayes.groups.problem import GroupedPartition, GroupedProblem, pose_groups

# From so many rows, and entries of them, the effective number of columns is estimated.
SAMPLE = 256
SAMPLE_ENTRIES = 1 << 20
DISPERSIONS = 3  # times that the dispersion is estimated, each time from the one before
TINY = float(np.finfo(np.float64).tiny)  # instead of zero, against overflow


def description_length(problem: GroupedProblem, solution: GroupedSolution, columns: float) -> float:
    """Return the length of the description of the rows, in nats and up to a constant.

    It says which of the clusters each group uses; a row of a group is then drawn from any of them
    alike, at a distance with one dispersion for all, which is estimated. Centres cost nothing: the
    more there are, the longer it takes each group to say which it uses.
    """
    rows, k = problem.whole.rows, len(solution.centres)
    weights = np.broadcast_to(rows.weights, rows.n_rows)
    n = effective_rows(problem)
    shares = weights * (n / weights.sum())
    in_use = solution.ranks >= 0
    used = np.count_nonzero(in_use, axis=1)
    which = gammaln(k + 1) - gammaln(used + 1) - gammaln(k - used + 1)
    form = solution.partition.direct_form(solution.centres)
    dispersion = 2.0 * max(solution.terms.terms.fit / (float(weights.sum()) * columns), TINY)
    costs = []
    for part in chunks(rows.n_rows, k):
        ids = np.arange(part.start, part.stop)
        own = rows.take(ids).costs(form)
        costs.append(np.where(in_use[problem.groups[part]], own, np.inf))
    everything = np.concatenate(costs)
    for _ in range(DISPERSIONS):
        nearest = everything.min(axis=1, keepdims=True)
        with np.errstate(over="ignore"):  # minus infinity: no chance
            chances = np.exp((nearest - everything) / dispersion)
        total = chances.sum(axis=1)
        spread = np.where(chances > 0, everything, 0.0) * chances
        mean_cost = float(shares @ (spread.sum(axis=1) / total)) / n
        dispersion = 2.0 * max(mean_cost / columns, TINY)
    with np.errstate(over="ignore"):
        chances = np.exp((nearest - everything) / dispersion)
    logs = nearest[:, 0] / dispersion - np.log(chances.sum(axis=1))
    logs += np.log(np.maximum(used, 1))[problem.groups]
    return float(which.sum() + shares @ logs + 0.5 * n * columns * np.log(dispersion))


def effective_rows(problem: GroupedProblem) -> float:
    """Return how many rows of equal weight say as much as these."""
    weights = np.broadcast_to(problem.whole.rows.weights, problem.whole.rows.n_rows)
    return float(weights.sum() ** 2 / (weights**2).sum())


def effective_columns(
    problem: GroupedProblem, solution: GroupedSolution, rng: np.random.RandomState
) -> float:
    """Return how many columns of equal variance and no correlation would say as much of rows.

    ``(sum of eigenvalues)^2 / sum of their squares`` of the scatter of rows around their centres,
    from a sample.
    """
    rows = problem.whole.rows
    size = min(SAMPLE, max(2, SAMPLE_ENTRIES // rows.n_columns))
    n = rows.n_rows
    ids = np.arange(n) if n <= size else rng.randint(n, size=size)
    local = rows.take(ids)
    away = local.dense() - solution.centres[solution.labels[ids]]
    away *= np.sqrt(local.weights_at())[:, np.newaxis]
    products = np.einsum("id,jd->ij", away, away)  # not BLAS: the same bits anywhere
    squares = float((products**2).sum())
    return max(1.0, float(np.trace(products)) ** 2 / squares) if squares > 0 else 1.0


Groups = NDArray[np.intp]
Labels = NDArray[np.int32]

# The local penalty over the global one: a cluster that some groups share is worth a few local ones
# (benchmarks.groups).
RATIO = 0.45
# So many clusters at most, or this part of the square root of the number of rows, or twice as many
# as all rows show: where rows fill a continuum, the more clusters the shorter the description.
MIN_LIMIT = 8
PART = 0.6  # of that square root: more finds more clusters in a continuum (benchmarks.groups)
# The path begins with so many times as many.
MORE = 2
# Nats for each row, over the number of columns, by which descriptions that are taken to be equally
# short may differ: more gives fewer clusters (benchmarks.groups, benchmarks.choosing_groups).
TOLERANCE = 0.04
# Nats by which real groups must be better than groups dealt out anew, over the square root of rows
# times columns: where groups say nothing they differ by up to one such root, rarely by more
# (benchmarks.choosing_groups).
CLEARLY = 1.5
DEALS = 4  # times that groups are dealt out anew at the same centres
NEARLY = 0.95  # part of the largest lead that is as good


class GroupedChoice(NamedTuple):
    """Penalties, and where a fit with them may begin."""

    local_penalty: float  # in the user's units; 0 where groups show no more than all rows
    global_penalty: float
    centres: Floats  # (k, d), in the user's coordinates
    labels: Labels | None = None  # (n,), where all rows were used
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
    everything = matrix, geometry, weights, prior_weight, max_clusters
    if len(np.unique(groups)) == 1:
        return _without_groups(choose_penalty(*everything, rng, pool))
    own_rng = deepcopy(rng)  # so that what follows without groups draws what `DPMeans` draws
    sample, sample_weights, ids = sample_rows(matrix, weights, own_rng)
    sample = undo_rounding(sample, geometry, own_rng)
    own = groups if ids is None else groups[ids]
    numbers = np.unique(own, return_inverse=True)[1].astype(np.intp)
    problem = pose_groups(sample, geometry, sample_weights, numbers, int(numbers.max()) + 1, pool)
    limit = min(max_clusters or len(numbers), len(numbers))
    most = min(max(MIN_LIMIT, int(PART * np.sqrt(len(numbers)))), limit)
    path = GroupedPath(problem, prior_weight, most, own_rng)
    chosen = path.shortest
    if not path.tells_groups_apart():
        pooled = choose_penalty(*everything, rng, pool)
        if most < min(2 * pooled.n_clusters, limit):
            most = min(2 * pooled.n_clusters, limit)
            path = GroupedPath(problem, prior_weight, most, own_rng)
        cells = path.nearest(problem.whole.frame.to_working(pooled.centres))
        if not path.tells_more_than(cells):
            return _without_groups(pooled)
        chosen = path.most_telling(cells)
    penalty = chosen.penalty / problem.whole.unit
    centres = problem.whole.frame.from_working(chosen.solution.centres)
    labels = chosen.solution.labels if ids is None else None
    return GroupedChoice(RATIO * penalty, penalty, centres, labels)


def _without_groups(pooled: Choice) -> GroupedChoice:
    nearest = pooled.shown if pooled.n_clusters == 1 else None
    penalty = pooled.penalties[nearest.k] if nearest else 0.0
    return GroupedChoice(
        0.0, pooled.penalty, pooled.centres, nearest=nearest, nearest_penalty=penalty
    )


class GroupedPath:
    """A path of rising penalties, and what it tells of the groups.

    Parameters
    ----------
    problem : GroupedProblem
    prior_weight : float
    most : int
        How many clusters there may be. The path begins with more.
    rng : RandomState
    """

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
        self.points = self.trace(problem.groups)
        self.shortest = smallest_of_the_shortest(
            self._allowed(self.points), TOLERANCE * rows.n_rows / self.columns
        )

    def trace(self, groups: Groups) -> list[Described]:
        """Return the solutions for any groups (n,) of the rows, and their descriptions."""
        problem = replace(self.problem, groups=groups)
        points: list[Described] = []
        state = problem.state(self.free)
        for grouped, solution in rising_path(state, self.free, RATIO, self.start, self.rng):
            self.columns = self.columns or effective_columns(problem, solution, self.rng)
            length = description_length(problem, solution, self.columns)
            points.append(Described(grouped.partition.penalty, solution, length))
        return points

    def tells_groups_apart(self) -> bool:
        """Whether groups differ from those dealt out anew among rows nearest to the same centre.

        Where more clusters than there may be are described more shortly, this is not clear.
        """
        if len(min(self.points, key=lambda point: point.length).solution.centres) > self.most:
            return False
        return self.is_told(self.shortest)

    def is_told(self, point: Described) -> bool:
        """Whether the same is true of the clusters of this solution."""
        return self._lead(point, self.nearest(point.solution.centres)) > self._clearly

    def tells_more_than(self, cells: Labels) -> bool:
        """Whether groups are described more shortly than those dealt out anew in each cell (n,)."""
        dealt = self.trace(dealt_anew(self.problem.groups, cells, self.rng))
        first, second = (
            min(point.length for point in self._allowed(points)) for points in (self.points, dealt)
        )
        return second - first >= self._clearly

    def most_telling(self, cells: Labels) -> Described:
        """Return the solution that is ahead of groups dealt out anew in each cell (n,) by most.

        Of those that are nearly as far ahead, the one with the largest penalties.
        """
        leads = {point.penalty: self._lead(point, cells) for point in self._allowed(self.points)}
        enough = NEARLY * max(leads.values())
        return max(
            (point for point in self.points if leads.get(point.penalty, -np.inf) >= enough),
            key=lambda point: point.penalty,
        )

    def nearest(self, centres: Floats) -> Labels:
        """Return the nearest centre of each row (n,)."""
        return self.problem.state(self.free).nearest(centres)

    @property
    def _clearly(self) -> float:
        return CLEARLY * float(np.sqrt(effective_rows(self.problem) * self.columns))

    def _allowed(self, points: list[Described]) -> list[Described]:
        return [point for point in points if len(point.solution.centres) <= self.most]

    def _lead(self, point: Described, cells: Labels) -> float:
        """Return how much lower the objective is than with groups dealt out anew, in nats.

        At the same centres, of which groups choose those that they use; groups are dealt out among
        the rows of each cell (n,).
        """
        centres, local_penalty = point.solution.centres, RATIO * point.penalty
        nearest = self.nearest(centres)
        grouped = GroupedPartition(self.free.partition, local_penalty)

        def value(groups: Groups) -> float:
            state = replace(self.problem, groups=groups).state(self.free)
            labels = regroup_rows(state, grouped, centres, nearest)
            fit = float(np.sum(state.base.costs_at(centres, labels) * state.rows.weights))
            return fit + local_penalty * np.count_nonzero(state.pairs(labels, len(centres)))

        groups = self.problem.groups
        dealt = [value(dealt_anew(groups, cells, self.rng)) for _ in range(DEALS)]
        # The fit term is half a nat for each row and effective column. A difference of zero stays
        # zero where each row is a cluster, and nats are without bound.
        nats = 0.5 * effective_rows(self.problem) * self.columns
        rise = float(np.mean(dealt)) - value(groups)
        return nats * (rise / max(float(point.solution.terms.cost), TINY))


def dealt_anew(groups: Groups, labels: Labels, rng: np.random.RandomState) -> Groups:
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
