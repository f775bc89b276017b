"""The first pass over rows that are read by block: is every cell valid, and what is in them all.

What is found of a block is added to what was found of others, in any order, so the result does not
depend on how rows are cut into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import ExactSum, Floats, is_sparse
from hardbayes.core.frame import column_range, used_of
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.validation import check_matrix, read_weights, touches_border
from hardbayes.core.validation.cells import column_names


@dataclass
class Facts:
    """What rows hold."""

    n_rows: int
    dtype: np.dtype
    names: list[str] | None
    sparse: bool
    low: Floats  # (d,)
    high: Floats  # (d,)
    used: NDArray[np.bool_]  # (d,): columns with entries; of sparse rows alone
    n_entries: int
    at_border: bool  # some entry is at the border of the divergence's domain
    weight: ExactSum | None  # of all rows, like all that follows; None where rows have no weights
    lightest: float  # the smallest positive one
    heaviest: float
    least: float  # the smallest one, zero or not
    n_weighted: int

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.low)

    def add(self, other: Facts) -> None:
        """Add what other rows hold."""
        self.n_rows += other.n_rows
        self.dtype = np.result_type(self.dtype, other.dtype)
        # One range for all columns of sparse rows: a column may lack entries in some blocks.
        self.low = np.minimum(self.low, other.low)
        self.high = np.maximum(self.high, other.high)
        self.used = self.used | other.used
        self.n_entries += other.n_entries
        self.at_border |= other.at_border
        if self.weight is not None and other.weight is not None:
            self.weight.merge(other.weight)
        self.lightest = min(self.lightest, other.lightest)
        self.heaviest = max(self.heaviest, other.heaviest)
        self.least = min(self.least, other.least)
        self.n_weighted += other.n_weighted


def scan(
    X: Any, weights: Any, geometry: Geometry, first_row: int = 0
) -> tuple[Facts, NDArray[np.uint8] | None]:
    """Return what a block holds, and which rows weigh more than nothing, as packed bits.

    None instead of bits where all do. Raises ValueError or TypeError at the first invalid cell,
    counting rows from ``first_row``.
    """
    names = column_names(X)
    if type(X).__name__ == "NamedRows":
        X = X.values
    matrix = check_matrix(X, geometry, first_row=first_row, names=names)
    low, high = column_range(matrix)
    n_rows, n_columns = matrix.shape
    sizes = None
    if weights is not None:
        sizes = read_weights(weights, matrix, first_row)
    if geometry.length_as_weight:
        lengths = geometry.row_sizes(matrix)
        sizes = lengths if sizes is None else lengths * sizes
    total, heavy = None, None
    lightest, heaviest, least, n_weighted = np.inf, 1.0, 1.0, n_rows
    if sizes is not None:
        total = ExactSum()
        total.add(sizes)
        positive = sizes > 0
        lightest = float(sizes[positive].min(initial=np.inf))
        heaviest, least = float(sizes.max()), float(sizes.min())
        n_weighted = int(np.count_nonzero(positive))
        heavy = None if n_weighted == n_rows else np.packbits(positive)
    facts = Facts(
        n_rows, matrix.dtype, names, is_sparse(matrix), low, high,
        used_of(matrix) if is_sparse(matrix) else np.ones(n_columns, bool),
        int(matrix.nnz) if is_sparse(matrix) else int(matrix.size),
        _border_matters(geometry) and touches_border(matrix, geometry),
        total, lightest, heaviest, least, n_weighted,
    )  # fmt: skip
    return facts, heavy


def _border_matters(geometry: Geometry) -> bool:
    """Whether entries at the border of the domain change the prior."""
    inside, at_border = (geometry.default_prior_weight(border) for border in (False, True))
    return inside != at_border


def refuse_difference(facts: Facts, other: Facts, number: int) -> None:
    """Raise where a block cannot be more rows of the same table."""
    if facts.n_columns != other.n_columns:
        raise ValueError(
            f"All blocks of X must have the same columns. Block {number} has {other.n_columns} "
            f"columns, the first one {facts.n_columns}."
        )
    if facts.names != other.names:
        raise ValueError(
            f"All blocks of X must have the same columns. Block {number} has {other.names}, the "
            f"first one {facts.names}."
        )
    if facts.sparse != other.sparse:
        kinds = ["dense", "sparse"]
        raise ValueError(
            f"All blocks of X must be dense, or all sparse. Block {number} is "
            f"{kinds[other.sparse]}, the first one {kinds[facts.sparse]}."
        )
