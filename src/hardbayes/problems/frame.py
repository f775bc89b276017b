"""Working coordinates: where the arithmetic is safe from offsets and extreme scales.

Rows are shifted by round numbers, where costs do not change with a shift, and multiplied by a power
of two, where costs follow a power of the scale. Both happen without rounding: labels cannot change,
and neither an offset of 1e12 nor a scale of 1e19 can cancel or overflow. Histograms and directions
are divided by their own sums and lengths instead.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.geometry.base import Geometry
from hardbayes.matrices import Floats, Matrix, chunks, is_sparse

FOLD = 512
# A column is shifted only where its offset would cost more than three bits.
FAR = 8.0


class Frame(NamedTuple):
    """``working = (x - shift) * scale`` for every row, before rows are normalised."""

    shift: Floats  # (d,)
    scale: float  # a power of two
    degree: int  # costs grow as this power of the scale

    @property
    def unit(self) -> float:
        """Cost in working units of a cost of one in the user's: a power of two."""
        return float(self.scale**self.degree)

    def to_working(self, centres: Floats) -> Floats:
        """Return points (k, d) in working coordinates, float64."""
        points = np.asarray(centres, np.float64) - self.shift
        points *= self.scale  # in place: where columns are many, so are the numbers
        return points

    def from_working(self, centres: Floats) -> Floats:
        """Return points (k, d) in the user's coordinates."""
        points = centres / self.scale
        points += self.shift
        return points


def column_range(matrix: Matrix) -> tuple[Floats, Floats]:
    """Return each column's smallest and largest value."""
    n, d = matrix.shape
    if is_sparse(matrix):  # one range for all columns: telling them apart would take a sort
        return np.full(d, matrix.data.min(initial=0)), np.full(d, matrix.data.max(initial=0))
    if n < FOLD:
        return matrix.min(axis=0).astype(float), matrix.max(axis=0).astype(float)
    low = np.full(d, np.inf)
    high = np.full(d, -np.inf)
    fold = max(1, FOLD // d)  # several rows side by side, or NumPy's inner loop would be d long
    for rows in chunks(n, d):
        whole = (rows.stop - rows.start) // fold * fold + rows.start
        for part, width in ((slice(rows.start, whole), fold), (slice(whole, rows.stop), 1)):
            if part.start < part.stop:
                folded = matrix[part].reshape(-1, width * d)
                np.minimum(low, folded.min(axis=0).reshape(width, d).min(axis=0), out=low)
                np.maximum(high, folded.max(axis=0).reshape(width, d).max(axis=0), out=high)
    return low, high


def round_shift(low: Floats, high: Floats) -> Floats:
    """Return a shift for each column.

    It is a multiple of the column's width near its middle, or zero if that is near. A subtraction
    of such a number is exact, so shifted rows have exactly the distances they had.
    """
    # A width that overflows is refused by those who need the squares.
    with np.errstate(all="ignore"):
        middle = low / 2 + high / 2
        width = high - low
        grid = 2.0 ** np.ceil(np.log2(width))
        shift = np.where(width > 0, np.rint(middle / grid) * grid, low)
        return np.where(np.abs(middle) > FAR * width, shift, 0.0)


def frame_for(matrix: Matrix, geometry: Geometry) -> tuple[Frame, Floats]:
    """Return the frame of a data set, and each column's largest absolute shifted value."""
    low, high = column_range(matrix)
    fixed = is_sparse(matrix) or not geometry.translation_invariant
    shift = np.zeros(len(low)) if fixed else round_shift(low, high)
    largest = np.maximum(np.abs(low - shift), np.abs(high - shift))
    if geometry.degree is None:
        return Frame(shift, 1.0, 0), largest
    scale = power_of_two_scale(float(largest.max()))
    if not np.isfinite(scale):
        raise ValueError(
            f"X holds values near {largest.max():g}, too small to compute with in float64. "
            "Multiply X by a suitable power of ten."
        )
    return Frame(shift, scale, geometry.degree), largest


def power_of_two_scale(largest: float) -> float:
    """Return the power of two that brings ``largest`` below one and above a half.

    It is infinite where ``largest`` is subnormal: no float64 does that.
    """
    with np.errstate(over="ignore"):
        return float(np.ldexp(1.0, -np.frexp(largest)[1])) if largest > 0 else 1.0
