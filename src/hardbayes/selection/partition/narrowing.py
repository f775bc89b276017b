"""Rows with many columns, projected to a few directions for a path.

The directions that separate the centres of clusters are among those of the largest variance, so
these suffice for a path that only serves to choose the number of clusters.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.blas import one_blas_thread
from hardbayes.geometry.base import Geometry
from hardbayes.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.matrices import Floats, Matrix, is_sparse, row_lengths
from hardbayes.selection.partition.sampling import WIDE, Sample

DIRECTIONS = 128  # to which rows with more than WIDE columns are projected
# Additional directions and rounds of the iteration, so that the last directions kept converge too.
SPARE = 16
ROUNDS = 4


class View(NamedTuple):
    """Rows as a path sees them, with the divergence and the prior that go with them."""

    rows: Matrix
    geometry: Geometry
    prior_weight: float
    #: Mean saving of one more cluster in the directions left out, whatever its rows. Penalties for
    #: all columns are larger by this amount.
    left_out: float


def view(sample: Sample, rng: np.random.RandomState) -> View:
    """Return rows as they are, or projected if they have many columns.

    Where the divergence resembles squared distances of unit vectors, those are projected: a path of
    squared distances takes far less time. It serves for its partitions; penalties are found by the
    divergence itself.
    """
    rows, geometry = sample.rows, sample.geometry
    if rows.shape[1] > WIDE:
        if geometry.rotation_invariant:
            rows, left_out = narrow(rows, sample.weights, rng)
            return View(rows, geometry, sample.prior_weight, left_out)
        vectors = geometry.unit_vectors(rows)
        if vectors is not None:
            units = narrow_vectors(vectors, sample.weights, rng)
            return View(units, SquaredEuclidean(), 0.0, 0.0)
    return View(rows, geometry, sample.prior_weight, 0.0)


@one_blas_thread()
def narrow(rows: Matrix, weights: Floats, rng: np.random.RandomState) -> tuple[Matrix, float]:
    """Return rows projected to their principal directions, and what `View` has as ``left_out``."""
    total = float(weights.sum())
    mean = np.asarray(rows.T @ weights) / total
    projected = _projected(rows, weights, mean, rng)
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    lengths = squares.sum(axis=1, dtype=np.float64) - 2.0 * (rows @ mean) + mean @ mean
    rest = np.maximum(lengths - np.einsum("nr,nr->n", projected, projected), 0.0)
    # The directions left out do not separate clusters: there the means of c clusters differ by
    # chance, and save c times this on average.
    left_out = float((weights**2 * rest).sum()) / total
    return projected.astype(rows.dtype), left_out


@one_blas_thread()
def narrow_vectors(rows: Matrix, weights: Floats, rng: np.random.RandomState) -> Floats:
    """Return vectors projected to their leading directions from the origin, of length one again."""
    projected = _projected(rows, weights, np.zeros(rows.shape[1]), rng)
    lengths = row_lengths(projected)
    units: Floats = projected / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    return units


def _projected(rows: Matrix, weights: Floats, mean: Floats, rng: np.random.RandomState) -> Floats:
    """Return the coordinates of rows along their leading directions from ``mean``.

    Randomised subspace iteration (Halko, Martinsson & Tropp 2011), of columns or of rows, whichever
    are fewer: bases are orthogonalised in every round.
    """
    n, d = rows.shape
    root = np.sqrt(weights)[:, np.newaxis]

    def along(directions: Floats) -> Floats:
        projected: Floats = rows @ directions - mean @ directions
        return root * projected

    def back(coordinates: Floats) -> Floats:
        weighted = root * coordinates
        totals: Floats = rows.T @ weighted - np.outer(mean, weighted.sum(axis=0))
        return totals

    kept = min(DIRECTIONS, n)
    basis = np.linalg.qr(rng.standard_normal((min(n, d), min(kept + SPARE, n))))[0]
    for _ in range(ROUNDS):
        basis = np.linalg.qr(along(back(basis)) if n < d else back(along(basis)))[0]
    if n < d:
        other = back(basis)
        squares, axes = np.linalg.eigh(other.T @ other)
        found = (basis @ axes) * np.sqrt(np.maximum(squares, 0.0))
    else:
        found = along(basis)
        found = found @ np.linalg.eigh(found.T @ found)[1]
    coordinates: Floats = found[:, ::-1][:, :kept] / root
    return coordinates
