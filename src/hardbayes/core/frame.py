"""Working coordinates, in which arithmetic is safe from offsets and scales, and the columns used.

Rows are shifted by round numbers, where costs do not change with a shift, and multiplied by a power
of two, where costs follow a power of the scale. Both happen without rounding: labels cannot change,
and neither an offset of 1e12 nor a scale of 1e19 can cancel or overflow. Histograms and directions
are divided by their own sums and lengths instead.

A fit leaves out columns without entries, so that they cost neither time nor memory: hashed words
have a million columns, most of them empty, and nothing of the fit depends on these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.core.arrays import Floats, Matrix, chunks, is_sparse
from hardbayes.core.geometry.base import Geometry

FOLD = (
    512  # numbers compared at once: in shorter rows NumPy takes longer for calls than for numbers
)
# A column is shifted only where its offset would cost more than three bits.
FAR = 8.0

ALWAYS_ALLOWED = 64  # clusters, where the user sets no cap, however many columns there are
# A bound on k * d where the user sets no cap: four arrays of this many doubles are a gigabyte.
LARGEST_TABLE = 1 << 25
SMALLEST_PENALTY = 1e-290  # in working units: below, its products underflow


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
    return frame_of_range(*column_range(matrix), is_sparse(matrix), geometry)


def frame_of_range(
    low: Floats, high: Floats, sparse: bool, geometry: Geometry
) -> tuple[Frame, Floats]:
    """Return what `frame_for` does, from the smallest and largest value (d,) of each column."""
    fixed = sparse or not geometry.translation_invariant
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


def cluster_bound(n_columns: int) -> int:
    """Return the number of clusters at which a fit without a cap stops opening more."""
    return max(ALWAYS_ALLOWED, LARGEST_TABLE // n_columns)


def check_size(
    name: str,
    penalty: float,
    unit: float,
    squares: str,
    largest: float,
    least: float = SMALLEST_PENALTY,
) -> None:
    """Raise where a penalty is lost beside what it is compared with: below ``least`` times unit."""
    if 0 < penalty * unit < least or 0 == penalty * unit < penalty:
        raise ValueError(
            f"The '{name}' parameter, {penalty:g}, is too small to be compared in "
            f"float64 with {squares} values near {largest:g}. "
            "Remove rows with such values, or rescale X and the penalty."
        )


class Columns(NamedTuple):
    """Some of the columns of a matrix, in order."""

    kept: NDArray[np.intp] | None  # (m,); None for all of them
    number: int  # of all columns

    def of(self, matrix: Matrix) -> Matrix:
        """Return these columns of a matrix, which has no entries in others."""
        if self.kept is None:
            return matrix
        if not is_sparse(matrix):
            return np.ascontiguousarray(matrix[:, self.kept])
        places = np.zeros(self.number, matrix.indices.dtype)
        places[self.kept] = np.arange(len(self.kept))
        shape = (matrix.shape[0], len(self.kept))
        renamed = csr_array((matrix.data, places[matrix.indices], matrix.indptr), shape)
        renamed.has_sorted_indices = renamed.has_canonical_format = True
        return renamed

    def spread(self, values: Floats) -> Floats:
        """Return values (..., m) of these columns among all, zero in the others."""
        if self.kept is None:
            return values
        whole = np.zeros((*values.shape[:-1], self.number), values.dtype)
        whole[..., self.kept] = values
        return whole

    def with_entries_of(self, matrix: Matrix) -> Columns:
        """Return these columns and those in which a matrix has entries."""
        if self.kept is None:
            return self
        used = used_of(matrix)
        used[self.kept] = True
        return Columns(np.flatnonzero(used), self.number)

    def within(self, others: Columns) -> Columns:
        """Return these columns by their places among others, all of which hold them."""
        if self.kept is None or others.kept is None:
            return self
        return Columns(np.searchsorted(others.kept, self.kept), len(others.kept))


def used_columns(matrix: Matrix, geometry: Geometry, centres: Floats | None = None) -> Columns:
    """Return the columns of sparse rows that hold entries, or where given centres (k, d) do.

    All columns of dense rows, and where a divergence might not be a function of single entries.
    """
    n_columns = matrix.shape[1]
    entrywise = geometry.separable or geometry.formula is not None
    if not is_sparse(matrix) or not entrywise or geometry.n_columns is not None:
        return Columns(None, n_columns)
    used = used_of(matrix)
    if centres is not None:
        used |= used_of(centres)
    return columns_of(used)


def columns_of(used: NDArray[np.bool_]) -> Columns:
    """Return the columns that are used (d,); all, where all or none are."""
    n_columns = len(used)
    if used.all() or not used.any():
        return Columns(None, n_columns)
    return Columns(np.flatnonzero(used), n_columns)


def used_of(matrix: Matrix) -> NDArray[np.bool_]:
    """Return which columns (d,) hold entries other than zero, or stored ones."""
    if not is_sparse(matrix):
        return np.asarray((matrix != 0).any(axis=0))
    used = np.zeros(matrix.shape[1], bool)
    used[matrix.indices] = True
    return used
