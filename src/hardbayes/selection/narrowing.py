"""Projection of rows with many columns to their first principal directions.

The directions that separate the centres of clusters are among those of the largest variance, so
these suffice for a path that only serves to choose the number of clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.blas import one_blas_thread
from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from hardbayes.matrices import Floats, Matrix

# Rows with more than WIDE columns are projected to DIRECTIONS directions.
WIDE = 256
DIRECTIONS = 128
# Additional directions and rounds of the iteration, so that the last directions kept converge too.
SPARE = 16
ROUNDS = 4


class Narrowed(NamedTuple):
    """Projected rows, and the effect of the other directions."""

    rows: Matrix
    #: Mean saving of one more cluster in the directions left out, whatever its rows. Penalties for
    #: all columns are larger by this amount.
    left_out: float


@one_blas_thread()
def narrow(rows: Matrix, weights: Floats | None, rng: np.random.RandomState) -> Narrowed:
    """Return the rows projected to their principal directions, if they have many columns.

    Randomised subspace iteration (Halko, Martinsson & Tropp 2011).
    """
    n, d = rows.shape
    if d <= WIDE:
        return Narrowed(rows, 0.0)
    row_weights = np.broadcast_to(np.ones(1) if weights is None else weights, n)[:, np.newaxis]
    total = float(row_weights.sum())
    mean = np.asarray(rows.T @ row_weights[:, 0]) / total

    def along(directions: Floats) -> Floats:
        projected: Floats = rows @ directions - mean @ directions
        return projected

    kept = min(DIRECTIONS, n)
    directions = np.linalg.qr(rng.standard_normal((d, min(kept + SPARE, n))))[0]
    for _ in range(ROUNDS):
        weighted = row_weights * along(directions)
        directions = np.linalg.qr(rows.T @ weighted - np.outer(mean, weighted.sum(axis=0)))[0]
    projected = along(directions)
    axes = np.linalg.eigh(projected.T @ (row_weights * projected))[1]
    projected = projected @ axes[:, ::-1][:, :kept]
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    lengths = squares.sum(axis=1, dtype=np.float64) - 2.0 * (rows @ mean) + mean @ mean
    rest = np.maximum(lengths - np.einsum("nr,nr->n", projected, projected), 0.0)
    # The directions left out do not separate clusters: there the means of c clusters differ by
    # chance, and save c times this on average.
    left_out = float((row_weights[:, 0] ** 2 * rest).sum()) / total
    return Narrowed(projected.astype(rows.dtype), left_out)
