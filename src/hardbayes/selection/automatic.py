"""The penalty that the data ask for: the middle of the widest plateau, if it stands out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hardbayes.matrices import is_sparse
from hardbayes.problems.columns import used_columns
from hardbayes.problems.frame import frame_for
from hardbayes.problems.partition import pose
from hardbayes.selection.hull import Plateau
from hardbayes.selection.narrowing import Narrowed, narrow
from hardbayes.selection.references import Structureless
from hardbayes.selection.tracing import (
    MOST_CLUSTERS,
    begin_path,
    most_clusters,
    path_plateaus,
    sample_rows,
)

if TYPE_CHECKING:
    from hardbayes.engine.partition.descent import Solution
    from hardbayes.engine.partition.path import Path
    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.pool import Pool
    from hardbayes.problems.frame import Frame
    from hardbayes.problems.partition import Problem

N_REFERENCES = 6
# Plateaus of structureless data are narrow beyond so many clusters: their path need not go farther.
REFERENCE_CLUSTERS = 12
# The data's plateau must be wider than theirs by this factor: theirs vary from draw to draw.
STANDS_OUT = 1.2
# Of many clusters there are many numbers, and more chances that one looks special.
FEW = 4
STANDS_OUT_OF_MANY = 1.5
# And by so much in any case: of narrow plateaus some are twice as wide as others by chance.
MARGIN = 0.25
LARGEST_WIDTH = 30.0  # stands for infinity, where clusters fit without any remainder


class Choice(NamedTuple):
    """A penalty, and why."""

    penalty: float  # in the user's units
    n_clusters: int
    centres: Floats  # (k, d), in the user's coordinates
    width: float  # of the widest plateau, in the logarithm of the penalty
    reference: float  # the same, of data without structure


def choose_penalty(
    matrix: Matrix,
    geometry: Geometry,
    weights: Floats | None,
    prior_weight: float,
    max_clusters: int | None,
    rng: np.random.RandomState,
    pool: Pool,
) -> Choice:
    """Return the middle of the widest plateau that structureless data would not have.

    Where there is none, a penalty for one cluster, and the width that did not suffice. The penalty
    is chosen as if there were no cap, which only counts for the clusters that come with it.
    """
    matrix, weights, _ = sample_rows(matrix, weights, rng)
    if weights is not None and not weights.all():
        matrix, weights = matrix[np.flatnonzero(weights)], weights[weights > 0]
    columns = used_columns(matrix, geometry)  # a sample has fewer
    matrix = columns.of(matrix)
    frame = frame_for(matrix, geometry)[0]
    rows = _in_frame(matrix, geometry, frame)
    trace_rows = partial(_trace, geometry, weights, prior_weight, rng, pool)
    narrowed = narrow(rows, weights, rng) if geometry.rotation_invariant else Narrowed(rows, 0.0)
    problem, path, found = trace_rows(narrowed, MOST_CLUSTERS)
    references: list[Plateau] = []
    if found:
        # Sparse rows are drawn with all their columns: along a few directions they are not sparse.
        wide = is_sparse(rows) and narrowed.rows is not rows
        source = Structureless(rows if wide else narrowed.rows, geometry, weights)
        # Where clusters fit without any remainder, so may those of structureless data.
        perfect = max((p.k + 1 for p in found if _width(p) == LARGEST_WIDTH), default=0)
        n_clusters = max(REFERENCE_CLUSTERS, perfect)
        for number in range(N_REFERENCES):
            pool.report.stage(f"reference {number + 1} of {N_REFERENCES}")
            drawn = source.draw(number, rng)
            seen = narrow(drawn, weights, rng) if wide else Narrowed(drawn, narrowed.left_out)
            references += trace_rows(seen, n_clusters)[2]
    widths = {p: (_width(p), reference_width(p.k, references)) for p in found}
    standing_out = [p for p in found if stands_out(p.k, *widths[p])]
    chosen = max(standing_out or found, key=_width, default=None)
    width, reference = (0.0, 0.0) if chosen is None else widths[chosen]
    unit = problem.unit
    left_out = narrowed.left_out * unit
    penalty = chosen.middle if chosen in standing_out else 2.0 * (path.first_penalty + left_out)
    best = path.best_at(max(penalty - left_out, 0.0), max_clusters)
    centres = problem.frame.from_working(best.centres)
    if narrowed.rows is not rows:
        centres = _means(rows, weights, best)
    return Choice(
        penalty / (unit * frame.unit),
        len(best.centres),
        columns.spread(frame.from_working(centres)),
        width,
        reference,
    )


def stands_out(k: int, width: float, reference: float) -> bool:
    """Whether a plateau of k clusters is wider than structureless data's by more than chance."""
    factor = STANDS_OUT if k <= FEW else STANDS_OUT_OF_MANY
    return width > max(factor * reference, reference + MARGIN)


def reference_width(k: int, references: list[Plateau]) -> float:
    """Return how wide plateaus of about k clusters are in structureless data.

    The widest of k / 2 clusters or more: without structure plateaus grow narrower with k, but not
    evenly so.
    """
    fewest = min(k, REFERENCE_CLUSTERS) / 2
    return max((_width(p) for p in references if p.k >= fewest), default=0.0)


def _in_frame(matrix: Matrix, geometry: Geometry, frame: Frame) -> Matrix:
    """Return rows in working coordinates, where nothing that is drawn like them overflows."""
    if geometry.row_unit is not None:
        sizes = geometry.row_sizes(matrix)
        if is_sparse(matrix):
            shares = matrix.data / np.repeat(sizes, np.diff(matrix.indptr))
            return csr_array((shares, matrix.indices, matrix.indptr), matrix.shape)
        return (matrix / sizes[:, np.newaxis]).astype(matrix.dtype)
    if is_sparse(matrix):
        return csr_array((matrix.data * frame.scale, matrix.indices, matrix.indptr), matrix.shape)
    return frame.to_working(matrix).astype(matrix.dtype)


def _trace(
    geometry: Geometry,
    weights: Floats | None,
    prior_weight: float,
    rng: np.random.RandomState,
    pool: Pool,
    narrowed: Narrowed,
    n_clusters: int,
) -> tuple[Problem, Path, list[Plateau]]:
    """Return a path as far as so many clusters, and its plateaus at penalties for all columns."""
    problem = pose(narrowed.rows, geometry, weights, pool)
    path = begin_path(problem, prior_weight, None, rng)
    # Where every row is a cluster nothing is left of the fit, in whatever data.
    path.trace(min(n_clusters, most_clusters(problem), problem.rows.n_rows // 2))
    more = narrowed.left_out * problem.unit
    return problem, path, [p.with_prices(1.0, more) for p in path_plateaus(path)]


def _means(rows: Matrix, weights: Floats | None, solution: Solution) -> Floats:
    """Return the means (k, d) of the clusters of a solution."""
    n, k = rows.shape[0], len(solution.centres)
    heavy = np.broadcast_to(np.ones(1) if weights is None else weights, n)
    members = csr_array((heavy, (solution.labels, np.arange(n))), (k, n))
    totals = members @ rows
    return (totals.toarray() if is_sparse(totals) else totals) / members.sum(axis=1)[:, np.newaxis]


def _width(plateau: Plateau) -> float:
    return min(plateau.width, LARGEST_WIDTH)
