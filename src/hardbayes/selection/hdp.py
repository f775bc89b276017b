"""The automatic penalties of grouped rows: those whose solution is described most shortly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from hardbayes.engine.hdp.path import rising_path
from hardbayes.matrices import chunks
from hardbayes.moves.partition.seeding import k_means_plus_plus
from hardbayes.problems.hdp import pose_groups
from hardbayes.selection.tracing import sample_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hardbayes.engine.hdp.descent import GroupedSolution
    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.pool import Pool
    from hardbayes.problems.hdp import GroupedProblem

# The local penalty over the global one: a cluster that some groups share is worth a few local ones.
RATIO = 0.45
# So many clusters, or half the square root of the number of rows, are few. A path begins with some
# times as many.
FEW = 8
MORE = 2
# The path ends where the description has been longer than the shortest for so many penalties.
PATIENCE = 3
# Nats for each row by which descriptions may differ and are taken to be equally short.
TOLERANCE = 0.02
# From so many rows, and entries of them, the effective number of columns is estimated.
SAMPLE = 256
SAMPLE_ENTRIES = 1 << 20
DISPERSIONS = 3  # times that the dispersion is estimated, each time from the one before
TINY = float(np.finfo(np.float64).tiny)


class GroupedChoice(NamedTuple):
    """Penalties, and where a fit with them may begin."""

    local_penalty: float  # in the user's units
    global_penalty: float
    centres: Floats  # (k, d), in the user's coordinates
    labels: NDArray[np.int32] | None  # (n,), where all rows were used


class Described(NamedTuple):
    """A solution on a path, and how long its description is."""

    penalty: float  # the global one, in working units
    solution: GroupedSolution
    length: float  # in nats, up to a constant

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.solution.centres)


def choose_penalties(
    matrix: Matrix,
    geometry: Geometry,
    weights: Floats | None,
    groups: NDArray[np.intp],
    prior_weight: float,
    max_clusters: int | None,
    rng: np.random.RandomState,
    pool: Pool,
) -> GroupedChoice:
    """Return the penalties, on a path of rising ones, whose solution is described most shortly.

    Where rows fill a continuum, the more clusters the shorter the description. So more than a few
    clusters are considered only where the fit term falls faster with their number than it does in
    any continuum. With a cap, of the solutions that it allows.
    """
    sample, sample_weights, ids = sample_rows(matrix, weights, rng)
    own = groups if ids is None else groups[ids]
    numbers = np.unique(own, return_inverse=True)[1].astype(np.intp)
    problem = pose_groups(sample, geometry, sample_weights, numbers, int(numbers.max()) + 1, pool)
    rows = problem.whole.rows
    free = problem.grouped(0.0, 0.0, prior_weight, None)
    few = max(FEW, int(np.sqrt(rows.n_rows) / 2))
    most = min(MORE * few, rows.n_rows, max_clusters or rows.n_rows)
    seeding = replace(free.partition, max_clusters=most)
    start = k_means_plus_plus(rows, seeding, np.zeros(1), rng)
    state = problem.state(free)
    path: list[Described] = []
    columns = 0.0
    for grouped, solution in rising_path(state, free, RATIO, start, rng):
        columns = columns or effective_columns(problem, solution, rng)
        length = description_length(problem, solution, columns)
        path.append(Described(grouped.partition.penalty, solution, length))
        best = min(point.length for point in allowed(path, few))
        recent = path[-PATIENCE:]
        is_past = all(point.n_clusters <= few and point.length > best for point in recent)
        if is_past and len(path) > PATIENCE:
            break
    chosen = smallest_of_the_shortest(allowed(path, few), TOLERANCE * rows.n_rows)
    penalty = chosen.penalty / problem.whole.unit
    centres = problem.whole.frame.from_working(chosen.solution.centres)
    labels = chosen.solution.labels if ids is None else None
    return GroupedChoice(RATIO * penalty, penalty, centres, labels)


def smallest_of_the_shortest(points: list[Described], tolerance: float) -> Described:
    """Return the solution of the smallest penalty among those with about the least length."""
    enough = min(point.length for point in points) + tolerance
    return min(
        (point for point in points if point.length <= enough), key=lambda point: point.penalty
    )


def allowed(path: Iterable[Described], few: int) -> list[Described]:
    """Return the solutions with few clusters, and those whose fit is better than a continuum's.

    There k times as many clusters lower the fit term by k^2 at most: in one dimension, and less in
    more.
    """
    points = list(path)
    coarse = [point for point in points if point.n_clusters <= few]
    if not coarse:
        return points
    last = max(coarse, key=lambda point: point.n_clusters)
    bound = _fit(last.solution) * last.n_clusters**2
    fine = [point for point in points if point.n_clusters > few]
    return coarse + [point for point in fine if _fit(point.solution) * point.n_clusters**2 < bound]


def description_length(problem: GroupedProblem, solution: GroupedSolution, columns: float) -> float:
    """Return the length of the description of the rows, in nats and up to a constant.

    It says which of the clusters each group uses; a row of a group is then drawn from any of them
    alike, at a distance with one dispersion for all, which is estimated. Centres cost nothing: the
    more there are, the longer it takes each group to say which it uses.
    """
    rows, k = problem.whole.rows, len(solution.centres)
    weights = np.broadcast_to(rows.weights, rows.n_rows)
    n = float(weights.sum() ** 2 / (weights**2).sum())  # as many rows of equal weight say as much
    shares = weights * (n / weights.sum())
    in_use = solution.ranks >= 0
    used = np.count_nonzero(in_use, axis=1)
    which = gammaln(k + 1) - gammaln(used + 1) - gammaln(k - used + 1)
    form = solution.partition.direct_form(solution.centres)
    dispersion = 2.0 * max(_fit(solution) / (float(weights.sum()) * columns), TINY)
    costs = []
    for part in chunks(rows.n_rows, k):
        ids = np.arange(part.start, part.stop)
        own = rows.take(ids).costs(form)
        costs.append(np.where(in_use[problem.groups[part]], own, np.inf))
    everything = np.concatenate(costs)
    for _ in range(DISPERSIONS):
        nearest = everything.min(axis=1, keepdims=True)
        chances = np.exp((nearest - everything) / dispersion)
        total = chances.sum(axis=1)
        spread = np.where(chances > 0, everything, 0.0) * chances
        mean_cost = float(shares @ (spread.sum(axis=1) / total)) / n
        dispersion = 2.0 * max(mean_cost / columns, TINY)
    logs = nearest[:, 0] / dispersion - np.log(
        np.exp((nearest - everything) / dispersion).sum(axis=1)
    )
    logs += np.log(np.maximum(used, 1))[problem.groups]
    return float(which.sum() + shares @ logs + 0.5 * n * columns * np.log(dispersion))


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


def _fit(solution: GroupedSolution) -> float:
    return solution.terms.terms.fit
