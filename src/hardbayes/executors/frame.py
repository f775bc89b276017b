"""Working coordinates: where the arithmetic is safe from offsets and extreme scales.

For squared distances rows are shifted by round numbers and multiplied by a power of two, both without rounding: labels cannot
change, and neither an offset of 1e12 nor a scale of 1e19 can cancel or overflow. Histograms are divided by their sums instead.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.geometry.base import Floats, Geometry
from hardbayes.kernels.rows import DenseRows, SparseRows

CHUNK_BYTES = 1 << 21
# A column is shifted only where its offset would cost more than three bits.
FAR = 8.0


class Frame(NamedTuple):
    """``working = (x - shift) * scale`` for every row, before rows are normalised."""

    shift: Floats  # (d,)
    scale: float  # a power of two

    @property
    def unit(self) -> float:
        """Cost in working units of a cost of one in the user's: a power of two."""
        return self.scale**2

    def to_working(self, centres: Floats) -> Floats:
        """Return points (k, d) in working coordinates, float64."""
        return (np.asarray(centres, np.float64) - self.shift) * self.scale

    def from_working(self, centres: Floats) -> Floats:
        """Return points (k, d) in the user's coordinates."""
        return centres / self.scale + self.shift


def chunks(matrix: Floats | sparse.csr_array) -> list[slice]:
    """Return slices of rows small enough to stay in cache."""
    n, d = matrix.shape
    size = max(1, CHUNK_BYTES // (8 * d))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def column_range(matrix: Floats) -> tuple[Floats, Floats]:
    """Return each column's smallest and largest value."""
    low = np.full(matrix.shape[1], np.inf)
    high = np.full(matrix.shape[1], -np.inf)
    for rows in chunks(matrix):
        np.minimum(low, matrix[rows].min(axis=0), out=low)
        np.maximum(high, matrix[rows].max(axis=0), out=high)
    return low, high


def frame_for(matrix: Floats | sparse.csr_array, geometry: Geometry) -> tuple[Frame, float]:
    """Return the frame of a data set and the largest absolute entry within it."""
    d = matrix.shape[1]
    shift = np.zeros(d)
    if not geometry.squared_distance:
        largest = 1.0 if geometry.normalise_rows else float(np.abs(matrix.data).max(initial=0))
        return Frame(shift, 1.0), largest
    if sparse.issparse(matrix):
        largest = float(np.abs(matrix.data).max(initial=0))
    else:
        low, high = column_range(matrix)
        middle = low / 2 + high / 2
        width = high - low
        grid = 2.0 ** np.ceil(np.log2(np.where(width > 0, width, 1.0)))
        grid = np.where(width > 0, grid, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rounded = np.where(width > 0, np.rint(middle / grid) * grid, low)
        shift = np.where(np.abs(middle) > FAR * width, rounded, 0.0)
        largest = float(np.max(np.maximum(np.abs(low - shift), np.abs(high - shift))))
    scale = float(2.0 ** -np.frexp(largest)[1]) if largest > 0 else 1.0
    return Frame(shift, scale), largest * scale


def read_only(array: NDArray) -> NDArray:
    """Return a read-only view, so that every kernel compiles for one kind of array."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def framed_rows(
    matrix: Floats | sparse.csr_array, geometry: Geometry, frame: Frame
) -> DenseRows | SparseRows:
    """Return the rows of a matrix as the kernels read them."""
    if geometry.normalise_rows:
        scale = 1.0 / row_sums(matrix)
    else:
        scale = np.array([frame.scale])
    if sparse.issparse(matrix):
        return SparseRows(
            read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr), scale
        )
    return DenseRows(read_only(matrix), frame.shift.astype(matrix.dtype), scale)


def row_sums(matrix: Floats | sparse.csr_array) -> Floats:
    """Return the sum of each row in float64."""
    if sparse.issparse(matrix):
        return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    return np.concatenate([matrix[rows].sum(axis=1, dtype=np.float64) for rows in chunks(matrix)])


def row_constants(rows: DenseRows | SparseRows, geometry: Geometry) -> Floats:
    """Return ``sum_j phi(x_j)`` of each row, or one zero where costs are squared distances."""
    if geometry.squared_distance:
        return np.zeros(1)
    if isinstance(rows, SparseRows):
        n = len(rows.starts) - 1
        owner = np.repeat(np.arange(n), np.diff(rows.starts))
        values = rows.values * np.broadcast_to(rows.scale, n)[owner]
        return np.bincount(owner, geometry.generator(values), n)
    scale = np.broadcast_to(rows.scale, len(rows.values))[:, np.newaxis]
    return np.concatenate(
        [geometry.potential(rows.values[part] * scale[part]) for part in chunks(rows.values)]
    )
