"""The penalty that the data ask for: the middle of the widest plateau, if it stands out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.problem import pose
from hardbayes.selection.hull import Plateau, lower_hull, plateaus
from hardbayes.selection.references import structureless
from hardbayes.selection.tracing import (
    MOST_CLUSTERS,
    begin_path,
    most_clusters,
    sample_rows,
    trace,
)

if TYPE_CHECKING:
    from hardbayes.engine.path import Path
    from hardbayes.executors.pool import Pool
    from hardbayes.geometry.base import Floats, Geometry
    from hardbayes.matrices import Matrix

N_REFERENCES = 6
# Plateaus of structureless data are narrow beyond so many clusters: their path need not go farther.
REFERENCE_CLUSTERS = 12
# The data's plateau must be wider than theirs by this factor: theirs vary from draw to draw.
STANDS_OUT = 1.2
# Of many clusters there are many numbers, and more chances that one looks special.
FEW = 4
STANDS_OUT_OF_MANY = 1.5
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

    Where there is none, a penalty for one cluster, and the width that did not suffice.
    """
    matrix, weights, _ = sample_rows(matrix, weights, rng)
    path = _path(matrix, geometry, weights, prior_weight, max_clusters, MOST_CLUSTERS, rng, pool)
    found = plateaus(path.points, path.floor)
    references: list[Plateau] = []
    for number in range(N_REFERENCES if found else 0):
        rows = structureless(matrix, geometry, number, rng)
        # Where a prior ends the data's path it ends theirs, perhaps with more clusters.
        farthest = REFERENCE_CLUSTERS if path.floor is None else MOST_CLUSTERS
        other = _path(rows, geometry, weights, prior_weight, max_clusters, farthest, rng, pool)
        references += plateaus(other.points, other.floor)
    widths = {p: (_width(p), reference_width(p.k, references)) for p in found}
    standing_out = [p for p in found if stands_out(p.k, *widths[p])]
    chosen = max(standing_out or found, key=_width, default=None)
    width, reference = (0.0, 0.0) if chosen is None else widths[chosen]
    penalty = chosen.middle if chosen in standing_out else 2.0 * first_penalty(path)
    best = path.best_at(penalty)
    return Choice(
        penalty / path.problem.unit,
        len(best.centres),
        path.problem.frame.from_working(best.centres),
        width,
        reference,
    )


def stands_out(k: int, width: float, reference: float) -> bool:
    """Whether a plateau of k clusters is wider than structureless data's by more than chance."""
    return width > (STANDS_OUT if k <= FEW else STANDS_OUT_OF_MANY) * reference


def reference_width(k: int, references: list[Plateau]) -> float:
    """Return how wide plateaus of about k clusters are in structureless data.

    The widest of k / 2 clusters or more: without structure plateaus grow narrower with k, but not
    evenly so.
    """
    fewest = min(k, REFERENCE_CLUSTERS) / 2
    return max((_width(p) for p in references if p.k >= fewest), default=0.0)


def first_penalty(path: Path) -> float:
    """Return the penalty above which one cluster is best, in working units."""
    hull = lower_hull(path.points)
    if len(hull) > 1 and hull[1][1] < hull[0][1]:
        return (hull[0][1] - hull[1][1]) / (hull[1][0] - hull[0][0])
    return path.problem.unit  # nothing to gain at any penalty


def _path(
    matrix: Matrix,
    geometry: Geometry,
    weights: Floats | None,
    prior_weight: float,
    max_clusters: int | None,
    n_clusters: int,
    rng: np.random.RandomState,
    pool: Pool,
) -> Path:
    problem = pose(matrix, geometry, weights, pool)
    path = begin_path(problem, prior_weight, max_clusters, rng)
    trace(path, min(n_clusters, most_clusters(problem, max_clusters)))
    return path


def _width(plateau: Plateau) -> float:
    return min(plateau.width, LARGEST_WIDTH)
