"""Sparse matrices: indices within bounds, and conversion to canonical CSR."""

from typing import Any

import numpy as np
from scipy import sparse


def check_structure(X: Any) -> None:
    """Raise if indices of a sparse matrix are out of bounds, which compiled code does not check."""
    if X.ndim != 2:
        return  # scikit-learn raises
    if X.format == "coo":
        for numbers, end, what in zip(X.coords, X.shape, ("row", "column"), strict=True):
            check_indices(numbers, end, what)
    if X.format not in ("csr", "csc", "bsr"):
        return  # lists, mappings, diagonals: the conversion to CSR checks them
    blocks = X.blocksize if X.format == "bsr" else (1, 1)
    n_major, n_minor = (size // block for size, block in zip(X.shape, blocks, strict=True))
    if X.format == "csc":
        n_major, n_minor = n_minor, n_major
    check_starts(X, n_major)
    check_indices(X.indices[: X.indptr[-1]], n_minor, "row" if X.format == "csc" else "column")


def check_starts(X: Any, n_major: int) -> None:
    """Raise if ``indptr`` does not divide the stored entries among rows (or columns)."""
    starts, stored = X.indptr, min(len(X.indices), len(X.data))
    if starts.dtype.kind != "i" or starts.shape != (n_major + 1,):
        trouble = f"must be {n_major + 1} integers. Got {starts.dtype} of shape {starts.shape}"
    elif starts[0] != 0:
        trouble = f"must begin with 0. Got {starts[0]}"
    elif (starts[1:] < starts[:-1]).any():
        at = int(np.argmax(starts[1:] < starts[:-1]))
        trouble = f"must not decrease. Got {starts[at + 1]} after {starts[at]} at {at + 1}"
    elif starts[-1] > stored:
        trouble = f"must end within the {stored} stored entries. Got {starts[-1]}"
    else:
        return
    raise ValueError(f"X is a malformed sparse matrix: its indptr {trouble}. Build it anew.")


def check_indices(indices: Any, end: int, what: str) -> None:
    """Raise if a row or column number is negative or not below ``end``."""
    if indices.dtype.kind != "i":
        raise ValueError(
            f"X is a malformed sparse matrix: {what} numbers must be integers. "
            f"Got {indices.dtype}. Build it anew."
        )
    # As unsigned integers negative numbers are large: one reduction finds both.
    if not len(indices) or indices.view(f"u{indices.itemsize}").max() < end:
        return
    at = int(np.argmax((indices < 0) | (indices >= end)))
    raise ValueError(
        f"X is a malformed sparse matrix: {what} numbers must be from 0 to {end - 1}. "
        f"Got {indices[at]} in stored entry {at}. Build it anew."
    )


def canonical(matrix: Any) -> sparse.csr_array:
    """Return a CSR matrix with sorted, unique entries and int32 indices where they suffice."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    index = np.int32 if matrix.nnz < 2**31 and matrix.shape[1] < 2**31 else np.int64
    parts = (
        matrix.data,
        matrix.indices.astype(index, copy=False),
        matrix.indptr.astype(index, copy=False),
    )
    return sparse.csr_array(parts, shape=matrix.shape, copy=False)
