"""The path of solutions that tells which numbers of clusters are worth their penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, VisitOrder, is_sparse
from hardbayes.core.plateaus import Plateau, plateaus
from hardbayes.core.pool import Pool
from hardbayes.dp_means.passes import passes_for, path_type
from hardbayes.dp_means.path import Path
from hardbayes.dp_means.problem import Problem, pose

if TYPE_CHECKING:
    from hardbayes.dp_means.choice.sample import View


MAX_CLUSTERS = 160  # at the end of the path: larger numbers are not found, but cost time
ROWS_A_CLUSTER = 8  # on average, at the end of the path
MIN_CLUSTERS = 16  # up to which that does not count, where rows are few
# Entries of the centres, at the end of the path; but so many clusters at least, however wide.
MAX_CENTRE_ENTRIES = 1 << 20
WIDE_CLUSTERS = 32
# Rows on which a path is traced: at most so many, fewer where there are many columns.
MAX_ROWS = 1 << 14
MIN_ROWS = 1 << 11
MAX_ENTRIES = 1 << 19
MAX_WIDTH = 30.0  # stands for infinity, where clusters fit without any remainder


class Traced(NamedTuple):
    """A path, the problem that it solves, and its plateaus at penalties for all columns."""

    problem: Problem
    path: Path
    plateaus: list[Plateau]  # in working units

    @property
    def widths(self) -> dict[int, float]:
        """How wide the plateau of each number of clusters is."""
        return {p.k: min(p.width, MAX_WIDTH) for p in self.plateaus}


def sample_rows(
    matrix: Matrix,
    weights: Floats | None,
    rng: np.random.RandomState,
    most_rows: int | None = None,
) -> tuple[Matrix, Floats | None, NDArray[np.intp] | None]:
    """Return rows to trace a path on: all of them, or a sample that weighs as much.

    So a penalty found on the sample is one for all rows: what a cluster saves grows with the
    weight of its rows. The third is the numbers of the sampled rows, None for all.
    """
    n = matrix.shape[0]
    size = min(most_rows or MAX_ROWS, max(MIN_ROWS, MAX_ENTRIES // entries_of_a_row(matrix)))
    if n <= size:
        return matrix, weights, None
    if weights is None or len(weights) == 1:
        ids = np.unique(rng.randint(n, size=size))  # a permutation of n would take more room
        weight = 1.0 if weights is None else float(weights[0])
        return matrix[ids], np.full(len(ids), weight * (n / len(ids))), ids
    weighted = np.flatnonzero(weights)  # the others say nothing
    ids = weighted
    if len(weighted) > size:
        ids = weighted[np.unique(rng.randint(len(weighted), size=size))]
    return matrix[ids], weights[ids] * (weights.sum() / weights[ids].sum()), ids


def entries_of_a_row(matrix: Matrix) -> int:
    """Return how many entries a row holds, in the mean."""
    return max(1, matrix.nnz // matrix.shape[0]) if is_sparse(matrix) else matrix.shape[1]


@dataclass(frozen=True)
class Tracer:
    """Traces paths with one stream of random numbers."""

    rng: np.random.RandomState
    pool: Pool

    def trace(self, seen: View, weights: Floats, n_clusters: int) -> Traced:
        """Return a path as far as so many clusters; weights (n,) of the rows."""
        problem = pose(seen.rows, seen.geometry, weights, self.pool)
        path = begin_path(problem, seen.prior_weight, None, self.rng)
        # Where every row is a cluster nothing is left of the fit, in whatever data.
        path.trace(min(n_clusters, most_clusters(problem), problem.rows.n_rows // 2))
        more = seen.left_out * problem.unit
        return Traced(problem, path, [p.with_prices(1.0, more) for p in path_plateaus(path)])


def begin_path(
    problem: Problem,
    prior_weight: float,
    max_clusters: int | None,
    rng: np.random.RandomState,
    order: str = "random",
    max_steps: int = 300,
) -> Path:
    """Return a path at its one cluster."""
    partition = problem.partition(0.0, prior_weight, max_clusters)
    return path_type(partition)(
        problem.state(partition),
        partition,
        passes_for(partition),
        problem.opening_costs,
        problem.mean,
        VisitOrder.draw(order, rng),
        max_steps,
        rng,
        problem.unit,
    )


def most_clusters(problem: Problem) -> int:
    """Return at how many clusters a path may end."""
    n_rows, n_columns = problem.rows.n_rows, problem.rows.n_columns
    return min(
        MAX_CLUSTERS,
        max(n_rows // ROWS_A_CLUSTER, min(n_rows, MIN_CLUSTERS)),
        max(MAX_CENTRE_ENTRIES // n_columns, WIDE_CLUSTERS),
    )


def path_plateaus(path: Path) -> list[Plateau]:
    """Return the plateaus of a path, in working units.

    With a prior the penalty is only a part of what a cluster costs, and a range of penalties down
    to zero may be a narrow one of prices: those between which the number would be best without the
    prior. Where there are none, the number is best by the prior's doing alone.
    """
    found = [p for p in plateaus(path.points, path.floor) if p.k <= path.most]
    if not path.partition.prior_weight:
        return found
    prices = {p.k: (p.low, p.high) for p in plateaus(path.fits)}
    return [p._replace(prices=prices.get(p.k, (p.high, p.high))) for p in found]


def trace_on(path: Path, penalties: Floats) -> None:
    """Go on to those of these penalties, falling, that a path has not come down to yet."""
    for penalty in penalties:
        if penalty < path.lowest:
            path.jump_to(float(penalty))
