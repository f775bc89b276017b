"""New features grown from residuals where a fit has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.allocation_results import Joined
    from hardbayes.executors.allocator import Allocator
    from hardbayes.geometry.base import Floats

MOST_REFINEMENTS = 10
DRAWS = 2  # besides the worst row


def draw_row(chances: Floats, rng: np.random.RandomState) -> int:
    """Draw a row with the given chances (n,), not all zero."""
    cumulated = np.cumsum(chances)
    row = int(np.searchsorted(cumulated, rng.random_sample() * cumulated[-1], side="right"))
    return min(row, len(chances) - 1)


def with_feature(
    components: Floats,
    membership: NDArray[np.uint8],
    component: Floats,
    rows: NDArray[np.uint8],
) -> tuple[Floats, NDArray[np.uint8]]:
    """Return components and membership with one feature more."""
    return np.vstack([components, component]), np.column_stack([membership, rows])


def grow(
    rows: Allocator,
    components: Floats,
    membership: NDArray[np.uint8],
    candidate: Floats,
) -> tuple[Floats, Joined]:
    """Refine a candidate (d,): the mean residual of the rows that join it, until they repeat."""
    joined = rows.join(components, membership, candidate)
    for _ in range(MOST_REFINEMENTS):
        if not joined.weight > 0:
            break
        candidate = joined.total / joined.weight
        before, joined = joined, rows.join(components, membership, candidate)
        if (joined.rows == before.rows).all():
            break
    return candidate, joined


def best_new_feature(
    rows: Allocator,
    components: Floats,
    membership: NDArray[np.uint8],
    inverse: Floats,
    costs: Floats,
    rng: np.random.RandomState,
) -> tuple[float, Floats, NDArray[np.uint8]]:
    """Return the gain, component (d,) and rows (n,) of the best feature grown from residuals.

    ``inverse`` (k, k) of Z'WZ at least-squares components. The gain is what the fit term falls by
    when all components are refitted. Candidates are the residuals of the worst row and of some
    drawn by squared length.
    """
    chances = rows.weights * costs
    best: tuple[float, Floats, NDArray[np.uint8]] = (
        0.0,
        np.zeros(rows.n_columns),
        np.zeros(rows.n_rows, np.uint8),
    )
    if not chances.max() > rows.nothing:
        return best
    seeds = {int(np.argmax(chances)), *(draw_row(chances, rng) for _ in range(DRAWS))}
    for row in sorted(seeds):
        start = rows.residual(components, membership, row)
        candidate, joined = grow(rows, components, membership, start)
        overlap = (rows.weights * joined.rows) @ membership
        left = joined.weight - overlap @ inverse @ overlap
        if not left > 1e-9 * joined.weight:  # other columns span it: there is nothing to gain
            continue
        gain = float(joined.total @ joined.total / left)
        if gain > best[0]:
            best = (gain, candidate, joined.rows)
    return best
