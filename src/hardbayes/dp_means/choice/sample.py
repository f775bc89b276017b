"""The rows on which the number of clusters is chosen: a sample, in working coordinates.

Round numbers in its columns are noticed, because they are no clusters: people report their height
in whole inches, some give the exact number. So a few values are frequent, at equal distances,
whatever the rows are.

Of many columns a few directions are kept for the path. Those that separate the centres of clusters
are among those of the largest variance, which suffices to choose the number of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from scipy.sparse import csc_array, csr_array

from hardbayes.core.arrays import Floats, Matrix, is_sparse, row_lengths
from hardbayes.core.discrete import Dummies, categories_of, smooth_columns
from hardbayes.core.frame import Columns, Frame, frame_for, used_columns
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.pool import one_blas_thread
from hardbayes.dp_means.objective import Partition

# Rows on which a path is traced: at most so many, fewer where there are many columns.
MAX_ROWS = 1 << 14
MIN_ROWS = 1 << 11
MAX_ENTRIES = 1 << 19
FREQUENT = 3.0  # times the median number of occurrences of the values nearby
NEARBY = 11  # values
MIN_SHARE = 0.25  # of the rows have frequent values,
MIN_FREQUENT = 5  # of which there are so many: two or three may be clusters
COARSER = 2.0  # times the median step: frequent values so far apart are round numbers


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


def without_round_numbers(
    rows: NDArray[np.floating], rng: np.random.RandomState
) -> NDArray[np.floating]:
    """Return rows (n, d) in which round numbers have uniform noise as wide as the step to the next.

    The other entries of such columns have noise as wide as the step between all values. Columns
    without round numbers are unchanged; if there are no others, the rows themselves are returned.
    """
    widths = [_widths(column) for column in rows.T]
    if not any(width.any() for width in widths):
        return rows
    noise = (rng.random_sample(rows.shape) - 0.5) * np.column_stack(widths)
    return (rows + noise).astype(rows.dtype)


def _widths(column: NDArray[np.floating]) -> Floats:
    """Return how far the entries of a column are spread (n,): zeros without round numbers."""
    values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    is_frequent = counts >= FREQUENT * median_filter(counts, NEARBY)
    if is_frequent.sum() < MIN_FREQUENT or counts[is_frequent].sum() < MIN_SHARE * len(column):
        return np.zeros(len(column))
    step, coarse = (float(np.median(np.diff(v))) for v in (values, values[is_frequent]))
    if coarse < COARSER * step:
        return np.zeros(len(column))
    return np.where(is_frequent, coarse, step)[inverse]


# A path is traced on a quarter of the rows, but on so many at least, and on MAX_ROWS at most.
MIN_TRACED_ROWS = 1 << 12
PART_TRACED = 4
# With those that are only held out, there are so many rows at most, with so many entries.
MAX_HELD_OUT_ROWS = 1 << 14
MAX_HELD_OUT_ENTRIES = 1 << 22
# Columns: in more, the values of single columns do not show, and paths see projected rows.
WIDE = 256
MANY_DIFFERENT = 48  # rows, from which copies of them are no clusters
# Values of a single column are a grid if there are so many steps, half of them about equal.
MIN_STEPS = 4
EQUAL_STEPS = 1.01


@dataclass(frozen=True)
class Sample:
    """Rows (n, d) in working coordinates, weights (n,) > 0, and what they are clustered by."""

    rows: Matrix
    weights: Floats
    geometry: Geometry
    prior_weight: float

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @cached_property
    def partition(self) -> Partition:
        """The structure of partitions, at no penalty."""
        mean = np.asarray(self.weights @ self.rows) / self.weights.sum()
        return Partition(self.geometry, 0.0, self.prior_weight, mean, self.n_rows)

    def some(self, ids: NDArray[np.intp]) -> Sample:
        """Return some of the rows, as heavy as all: a prior weighs the same beside them."""
        factor = self.weights.sum() / self.weights[ids].sum()
        return replace(self, rows=self.rows[ids], weights=factor * self.weights[ids])

    def cost_of_one(self) -> float:
        """Return what all rows cost as one cluster, in working units."""
        centre = self.clusters(np.zeros(self.n_rows, np.int32), 1)[1][0]
        return float(self.weights @ self.geometry.divergence(self.rows, centre))

    def clusters(self, labels: NDArray[np.signedinteger], k: int) -> tuple[Floats, Floats]:
        """Return the weights (k,) and centres (k, d) of the clusters of all rows."""
        sizes, totals = cluster_totals(self.rows, self.weights, labels, k)
        return sizes, self.partition.centres(sizes, totals)


def cluster_totals(
    rows: Matrix, weights: Floats, labels: NDArray[np.signedinteger], k: int
) -> tuple[Floats, Floats]:
    """Return the weights (k,) of clusters, and the weighted sums of their rows (k, d)."""
    n = len(labels)
    # Built as it is stored: from triples it would take longer than the product, on small data.
    members = csc_array((weights, labels, np.arange(n + 1, dtype=np.int32)), (k, n))
    totals = members @ rows
    sizes = np.bincount(labels, weights, k).astype(np.float64, copy=False)
    return sizes, totals.toarray() if is_sparse(totals) else totals


class Drawn(NamedTuple):
    """A sample for paths, other rows that no path sees, and the way back to the user's units."""

    sample: Sample
    unseen: Sample
    exact: Sample  # the sample with its columns as they are, for centres and penalties
    values: Matrix  # the rows of the sample before anything was drawn
    left_out: list[Dummies]  # categories and discrete columns that the sample does not show
    frame: Frame
    columns: Columns  # those of the data that are not empty in the sample

    def in_user_coordinates(self, centres: Floats) -> Floats:
        """Return centres of the sample as centres in all columns of the data."""
        return self.frame.from_working(self.columns.spread(centres))


def draw(
    matrix: Matrix,
    weights: Floats | None,
    geometry: Geometry,
    prior_weight: float,
    rng: np.random.RandomState,
    left_out: Sequence[Dummies] = (),
) -> Drawn:
    """Return all rows with weight, or a random sample as heavy as all, and some of the others.

    Columns that are left out, and categories, become noise.
    """
    n = matrix.shape[0]
    every = np.broadcast_to(1.0 if weights is None else weights, n)
    most = min(MAX_ROWS, max(MIN_TRACED_ROWS, n // PART_TRACED))
    some, _, ids = sample_rows(matrix, weights, rng, most)
    rest = np.empty(0, np.intp)
    if ids is None:
        ids = np.flatnonzero(every)
        some = some[ids] if len(ids) < n else some
    else:
        room = min(MAX_HELD_OUT_ROWS - len(ids), MAX_HELD_OUT_ENTRIES // entries_of_a_row(matrix))
        rest = _others(n, ids, max(0, room), rng)
        rest = rest[every[rest] > 0]
    frame = frame_for(some, geometry)[0]
    factor = every.sum() / every[ids].sum()
    sample, unseen = (
        Sample(_in_frame(rows, geometry, frame), factor * every[of], geometry, prior_weight)
        for rows, of in ((some, ids), (matrix[rest], rest))
    )
    columns = used_columns(some, geometry)
    if columns.kept is not None:
        sample = replace(sample, rows=columns.of(sample.rows))
        unseen = replace(unseen, rows=csr_array(unseen.rows[:, columns.kept]))
    if is_sparse(some):
        return Drawn(sample, unseen, sample, sample.rows, [], frame, columns)
    sample, unseen = merge_equal_rows(sample, unseen)
    rows = np.concatenate([sample.rows, unseen.rows])
    noise, smooth = list[Dummies](), rows
    if takes_noise(rows, geometry):
        noise = [*categories_of(rows), *left_out]
        smooth = smooth_columns(rows, noise, rng)
    parts = np.split(undo_rounding(smooth, geometry, rng), [sample.n_rows])
    seen, unseen = replace(sample, rows=parts[0]), replace(unseen, rows=parts[1])
    exact = seen if smooth is rows else sample
    return Drawn(seen, unseen, exact, sample.rows, noise, frame, columns)


def takes_noise(rows: Matrix, geometry: Geometry) -> bool:
    """Whether columns may have noise that shows: in many columns, single ones do not count."""
    outside = is_sparse(rows) or rows.shape[1] > WIDE
    return not (outside or geometry.nonnegative or geometry.unit_interval)


def undo_rounding(rows: Matrix, geometry: Geometry, rng: np.random.RandomState) -> Matrix:
    """Return rows in which round numbers are spread, where columns may have noise that shows."""
    return without_round_numbers(rows, rng) if takes_noise(rows, geometry) else rows


def cells_of_grid(rows: Matrix) -> int | None:
    """Return the number of different rows, where these are combinations of a few values a column.

    Each of them has copies by chance, and is no cluster. None for other rows.
    """
    if is_sparse(rows) or rows.shape[1] > WIDE:
        return None
    different = np.unique(rows, axis=0)
    if rows.shape[1] == 1:  # or equal steps in the only column
        steps = np.diff(different[:, 0])
        is_grid = len(steps) >= MIN_STEPS and np.median(steps) <= EQUAL_STEPS * steps.min()
    else:
        is_grid = _fill_grid(rows, len(different))
    return len(different) if is_grid else None


def _fill_grid(rows: NDArray[np.floating], n_different: int) -> bool:
    return 2 * max(len(np.unique(column)) for column in rows.T) < n_different


def merge_equal_rows(sample: Sample, unseen: Sample) -> tuple[Sample, Sample]:
    """Return dense samples with equal rows as one heavy row, in one of them.

    Otherwise copies of a row would be in both halves of the rows, as clusters of their own. A few
    rows with many copies are such clusters; rows of integers or codes are equal by chance.
    """
    rows = np.ascontiguousarray(np.concatenate([sample.rows, unseen.rows]))
    whole_rows = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    _, first, group = np.unique(whole_rows[:, 0], return_index=True, return_inverse=True)
    is_grid = rows.shape[1] == 1 or _fill_grid(rows, len(first))
    if len(first) == len(rows) or len(first) < MANY_DIFFERENT or is_grid:
        return sample, unseen
    n, found = sample.n_rows, []
    for part, of, is_in in ((sample, group[:n], first < n), (unseen, group[n:], first >= n)):
        weights: Floats = np.bincount(of, part.weights, len(first)).astype(np.float64)[is_in]
        order = np.argsort(first[is_in])
        found.append(replace(part, rows=rows[first[is_in][order]], weights=weights[order]))
    return found[0], found[1]


def normalise(matrix: Matrix, geometry: Geometry) -> Matrix:
    """Return rows divided by their sums or lengths, where the divergence divides them.

    Drawn rows that are empty become all alike: rows of the data never are.
    """
    if geometry.row_unit is None or not matrix.shape[0]:
        return matrix
    sizes = geometry.row_sizes(matrix)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        matrix, sizes = matrix.copy(), sizes.copy()
        matrix[empty] = 1.0
        sizes[empty] = geometry.row_sizes(np.ones((1, matrix.shape[1])))[0]
    if is_sparse(matrix):
        shares = matrix.data / np.repeat(sizes, np.diff(matrix.indptr))
        return csr_array((shares, matrix.indices, matrix.indptr), matrix.shape)
    return (matrix / sizes[:, np.newaxis]).astype(matrix.dtype)


def _in_frame(matrix: Matrix, geometry: Geometry, frame: Frame) -> Matrix:
    """Return rows in working coordinates, where nothing that is drawn like them overflows."""
    if geometry.row_unit is not None:
        return normalise(matrix, geometry)
    if is_sparse(matrix):
        return csr_array((matrix.data * frame.scale, matrix.indices, matrix.indptr), matrix.shape)
    return frame.to_working(matrix).astype(matrix.dtype)


def _others(
    n: int, ids: NDArray[np.intp], most: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Return up to ``most`` of n rows that are not among ``ids``."""
    if n > 8 * MAX_HELD_OUT_ROWS:  # a permutation of n would take more room
        return np.setdiff1d(rng.randint(n, size=most), ids)
    return np.sort(rng.permutation(np.setdiff1d(np.arange(n), ids))[:most])


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
    projected = _project(rows, weights, mean, rng)
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
    projected = _project(rows, weights, np.zeros(rows.shape[1]), rng)
    lengths = row_lengths(projected)
    units: Floats = projected / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    return units


def _project(rows: Matrix, weights: Floats, mean: Floats, rng: np.random.RandomState) -> Floats:
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
