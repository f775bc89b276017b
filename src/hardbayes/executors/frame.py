"""Working coordinates: where the arithmetic is safe from offsets and extreme scales.

For squared distances rows are shifted by round numbers and multiplied by a power of two, both without rounding: labels cannot
change, and neither an offset of 1e12 nor a scale of 1e19 can cancel or overflow. Histograms are divided by their sums instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from hardbayes.geometry.base import Floats, Geometry
    from hardbayes.validation import Matrix

CHUNK_BYTES = 1 << 21
# A column is shifted only where its offset would cost more than three bits.
FAR = 8.0


class Frame(NamedTuple):
    """``working = (x - shift) * scale`` for every row, before rows are normalised."""

    shift: Floats  # (d,)
    scale: float  # a power of two
    largest: float  # largest absolute value of a shifted entry, in the user's units

    @property
    def unit(self) -> float:
        """Cost in working units of a cost of one in the user's: a power of two."""
        return self.scale * self.scale

    def to_working(self, centres: Floats) -> Floats:
        """Return points (k, d) in working coordinates, float64."""
        return (np.asarray(centres, np.float64) - self.shift) * self.scale

    def from_working(self, centres: Floats) -> Floats:
        """Return points (k, d) in the user's coordinates."""
        return centres / self.scale + self.shift


def chunks(n: int, d: int) -> list[slice]:
    """Return slices of n rows, each small enough to stay in cache as (rows, d) doubles."""
    size = max(1, CHUNK_BYTES // (8 * d))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def column_range(matrix: Floats) -> tuple[Floats, Floats]:
    """Return each column's smallest and largest value."""
    low = np.full(matrix.shape[1], np.inf)
    high = np.full(matrix.shape[1], -np.inf)
    for rows in chunks(*matrix.shape):
        np.minimum(low, matrix[rows].min(axis=0), out=low)
        np.maximum(high, matrix[rows].max(axis=0), out=high)
    return low, high


def round_shift(low: Floats, high: Floats) -> Floats:
    """Return a shift for each column: a multiple of its width near its middle, or zero if that is near.

    A subtraction of such a number is exact, so shifted rows have exactly the distances they had.
    """
    with np.errstate(all="ignore"):  # a width that overflows is refused by those who need the squares
        middle = low / 2 + high / 2
        width = high - low
        grid = 2.0 ** np.ceil(np.log2(width))
        shift = np.where(width > 0, np.rint(middle / grid) * grid, low)
        return np.where(np.abs(middle) > FAR * width, shift, 0.0)


def frame_for(matrix: Matrix, geometry: Geometry) -> Frame:
    """Return the frame of a data set."""
    shift = np.zeros(matrix.shape[1])
    if not geometry.squared_distance:
        values = matrix.data if sparse.issparse(matrix) else matrix
        return Frame(shift, 1.0, float(max(values.max(initial=0), -values.min(initial=0))))
    if sparse.issparse(matrix):
        largest = float(np.abs(matrix.data).max(initial=0))
    else:
        low, high = column_range(matrix)
        shift = round_shift(low, high)
        largest = float(np.max(np.maximum(np.abs(low - shift), np.abs(high - shift))))
    scale = float(np.ldexp(1.0, -np.frexp(largest)[1])) if largest > 0 else 1.0
    return Frame(shift, scale, largest)


def row_sums(matrix: Matrix) -> Floats:
    """Return the sum of each row in float64."""
    if sparse.issparse(matrix):
        return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    return np.concatenate([matrix[rows].sum(axis=1, dtype=np.float64) for rows in chunks(*matrix.shape)])
