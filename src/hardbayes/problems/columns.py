"""Columns without entries: a fit leaves them out, so that they cost neither time nor memory.

Hashed words have a million columns, most of them empty. All rows and centres are zero there, and
nothing of the fit depends on them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.geometry.base import Geometry
from hardbayes.matrices import Floats, Matrix, is_sparse


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
        used = _used(matrix)
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
    used = _used(matrix)
    if centres is not None:
        used |= _used(centres)
    if used.all() or not used.any():
        return Columns(None, n_columns)
    return Columns(np.flatnonzero(used), n_columns)


def _used(matrix: Matrix) -> NDArray[np.bool_]:
    """Return which columns (d,) hold entries other than zero, or stored ones."""
    if not is_sparse(matrix):
        return np.asarray((matrix != 0).any(axis=0))
    used = np.zeros(matrix.shape[1], bool)
    used[matrix.indices] = True
    return used
