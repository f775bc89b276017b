"""Rows with many columns, seen along the few directions in which they differ most.

The directions that part the centres of clusters are among those in which the rows differ most, so a
path that only asks how many clusters there are need not look at the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.blas import one_blas_thread
from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from hardbayes.matrices import Floats, Matrix

# More columns than this are narrowed to so many directions.
WIDE = 256
DIRECTIONS = 128
# Directions that are followed besides, and rounds: the last ones kept are then right as well.
SPARE = 16
ROUNDS = 4


class Narrowed(NamedTuple):
    """Rows along some directions, and what the others have to do with it."""

    rows: Matrix
    #: What one more cluster saves in the directions left out, on average and whatever its rows:
    #: penalties for all columns are larger by this.
    left_out: float


@one_blas_thread()
def narrow(rows: Matrix, weights: Floats | None, rng: np.random.RandomState) -> Narrowed:
    """Return the rows along the directions in which they differ most, where they are wide.

    Halko, Martinsson & Tropp 2011: random directions, drawn out by power iteration.
    """
    n, d = rows.shape
    if d <= WIDE:
        return Narrowed(rows, 0.0)
    heavy = np.broadcast_to(np.ones(1) if weights is None else weights, n)[:, np.newaxis]
    weight = float(heavy.sum())
    mean = np.asarray(rows.T @ heavy[:, 0]) / weight

    def along(directions: Floats) -> Floats:
        seen: Floats = rows @ directions - mean @ directions
        return seen

    kept = min(DIRECTIONS, n)
    directions = np.linalg.qr(rng.standard_normal((d, min(kept + SPARE, n))))[0]
    for _ in range(ROUNDS):
        pulled = heavy * along(directions)
        directions = np.linalg.qr(rows.T @ pulled - np.outer(mean, pulled.sum(axis=0)))[0]
    seen = along(directions)
    turn = np.linalg.eigh(seen.T @ (heavy * seen))[1]
    seen = seen @ turn[:, ::-1][:, :kept]
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    lengths = squares.sum(axis=1, dtype=np.float64) - 2.0 * (rows @ mean) + mean @ mean
    rest = np.maximum(lengths - np.einsum("nr,nr->n", seen, seen), 0.0)
    # Directions left out do not part clusters: means of c clusters have there what chance gives
    # them, on average c times this.
    left_out = float((heavy[:, 0] ** 2 * rest).sum()) / weight
    return Narrowed(seen.astype(rows.dtype), left_out)
