"""Validation of data matrices.

Sparse matrices: indices within bounds, and conversion to canonical CSR.

Copies in parts: Python handles Ctrl-C only between two calls of NumPy.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, validate_data

from hardbayes.core.arrays import Matrix, is_sparse, refuse_lazy
from hardbayes.core.geometry import Geometry
from hardbayes.core.validation.cells import (
    column_names,
    missing_value,
    one_sentence,
    place,
    refuse_empty,
    refuse_other_things,
    refuse_text,
)


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


# Larger arrays are copied in parts.
PART_BYTES = 1 << 25


def reader_of(X: Any, dtypes: list[Any]) -> tuple[Any, Callable[[slice], Any]] | None:
    """Return the dtype of the converted X and a function that reads a slice of its rows, or None.

    None: X is small, needs no copy, or does not hold plain numbers. scikit-learn converts it in one
    call, which Ctrl-C cannot interrupt.
    """
    shape = getattr(X, "shape", ())
    if len(shape) != 2 or sparse.issparse(X) or len(parts(*shape)) < 2:
        return None
    columns = list(getattr(X, "dtypes", ())) if column_names(X) else []
    if columns and hasattr(X, "iloc") and all(is_plain(dtype) for dtype in columns):
        X = as_view(X)
        if not isinstance(X, np.ndarray):
            dtype = kept(np.result_type(*columns), dtypes)
            return dtype, lambda rows: X.iloc[rows].to_numpy(dtype=dtype)
    if len(columns) > 1 and hasattr(
        columns[0], "is_float"
    ):  # polars; a single column needs no copy
        plain = all(dtype.is_float() or dtype.is_integer() for dtype in columns)
        return (np.dtype(dtypes[0]), lambda rows: X[rows].to_numpy()) if plain else None
    if type(X) not in (np.ndarray, np.memmap) or not is_plain(X.dtype):
        return None
    dtype = kept(X.dtype, dtypes)
    ready = X.dtype == dtype and X.flags.c_contiguous and X.flags.aligned
    return None if ready else (dtype, lambda rows: X[rows])


def is_plain(dtype: Any) -> bool:
    """Whether a dtype is one of NumPy's real numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def kept(dtype: Any, dtypes: list[Any]) -> Any:
    """Return the dtype that scikit-learn converts to if ``dtypes`` are accepted."""
    return dtype if dtype in dtypes else np.dtype(dtypes[0])


def as_view(X: Any) -> Any:
    """Return the array of which a pandas frame is a view, or the frame if there is none."""
    first = X.iloc[:2]
    return X.to_numpy() if np.shares_memory(first.to_numpy(), first.to_numpy()) else X


def parts(n: int, d: int) -> list[slice]:
    """Return slices of n rows, each copied in a fraction of a second."""
    size = max(1, PART_BYTES // (8 * max(d, 1)))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def copied_in_parts(shape: tuple[int, int], dtype: Any, read: Callable[[slice], Any]) -> Any:
    """Return all rows, read slice by slice, as one C-contiguous array."""
    copy = np.empty(shape, dtype)
    for rows in parts(*shape):
        copy[rows] = read(rows)
    return copy


def accepted_dtypes(X: Any) -> list[type[np.floating]]:
    """Return the dtypes that are kept; all others are converted to the first."""
    # scikit-learn does not recognise float32 in polars, nullable or byte-swapped columns.
    kinds = {str(dtype) for dtype in getattr(X, "dtypes", ())} if column_names(X) else set()
    foreign = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.dtype.itemsize == 4
    if foreign or (kinds and kinds <= {"Float32", "float32"}):
        return [np.float32]
    return [np.float64, np.float32]


CHECKS = {
    "accept_sparse": "csr",
    "order": "C",
    "ensure_all_finite": False,  # checked below, where the row and column can be named
}


def check_matrix(
    X: Any,
    geometry: Geometry,
    estimator: Any = None,
    reset: bool = True,
    first_row: int = 0,
    names: list[str] | None = None,
) -> Matrix:
    """Return X as a C-contiguous array or a canonical CSR matrix of float32 or float64.

    With an estimator, the number and names of its features are set (``reset``) or compared. Errors
    count rows from ``first_row``; ``names`` are those of columns of an array.
    """
    if sparse.issparse(X) and estimator is not None and not get_tags(estimator).input_tags.sparse:
        raise TypeError(
            f"Sparse X was passed, but {type(estimator).__name__} takes dense rows only: "
            "covariances fill what is empty. Pass X.toarray(), or project X to few columns first."
        )
    if sparse.issparse(X):
        check_structure(X)
    refuse_other_things(X)
    refuse_lazy(X)
    refuse_empty(column_names(X))
    refuse_text(X, column_names(X))
    names = column_names(X) or names
    matrix = as_matrix(X, estimator, reset)
    check_finite(matrix, names, first_row)
    matrix = geometry.statistic(matrix)
    check_domain(matrix, geometry, names, first_row)
    return stored(matrix, geometry)


def as_matrix(X: Any, estimator: Any = None, reset: bool = True) -> Matrix:
    """Return X as an array or a canonical CSR matrix of float32 or float64, whatever it holds."""
    try:
        matrix = checked_array(X, estimator, reset)
    except (TypeError, ValueError, OverflowError) as error:
        raise one_sentence(X, error) from None
    if sparse.issparse(matrix):
        return canonical(matrix)
    return matrix if matrix.flags.aligned else matrix.copy()


def stored(matrix: Matrix, geometry: Geometry) -> Matrix:
    """Return rows as a fit holds them: without zeros a dense array takes less memory."""
    return matrix.toarray() if is_sparse(matrix) and not geometry.takes_zeros else matrix


def checked_array(X: Any, estimator: Any, reset: bool) -> Any:
    """Return X checked and converted by scikit-learn, in parts where it is large."""
    dtypes = accepted_dtypes(X)
    checks = {**CHECKS, "dtype": dtypes}
    reader = reader_of(X, dtypes)
    if reader is not None and estimator is not None:
        # Number and names of columns: the copy has lost the names.
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reader is not None:
        return check_array(copied_in_parts(X.shape, *reader), **checks)
    if estimator is None:
        return check_array(X, **checks)
    return validate_data(estimator, X, reset=reset, **checks)


def first_cell(matrix: Matrix, found: Any) -> tuple[int, int] | None:
    """Return row and column of the first stored entry for which ``found(values)`` holds."""
    if is_sparse(matrix):
        hits = np.flatnonzero(found(matrix.data))
        if not len(hits):
            return None
        row = int(np.searchsorted(matrix.indptr, hits[0], side="right")) - 1
        return row, int(matrix.indices[hits[0]])
    size = max(1, (1 << 18) // matrix.shape[1])
    for start in range(0, matrix.shape[0], size):
        mask = found(matrix[start : start + size])
        if mask.any():
            row_in_part, column = np.unravel_index(np.argmax(mask), mask.shape)
            return start + int(row_in_part), int(column)
    return None


def check_finite(matrix: Matrix, names: list[str] | None, first_row: int = 0) -> None:
    """Raise at the first NaN or infinite entry."""
    values = matrix.data[:, np.newaxis] if is_sparse(matrix) else matrix
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum(float(values[rows].sum()) for rows in parts(*values.shape))
    if math.isfinite(total):  # one pass, unless a sum of finite numbers overflows
        return
    cell = first_cell(matrix, lambda values: ~np.isfinite(values))
    if cell is not None:
        value = matrix[cell]
        kind = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(missing_value(kind, first_row + cell[0], cell[1], names))


def check_domain(
    matrix: Matrix, geometry: Geometry, names: list[str] | None, first_row: int = 0
) -> None:
    """Raise at the first entry or row for which the divergence is not defined."""
    kind = type(geometry).__name__
    if geometry.n_columns not in (None, matrix.shape[1]):
        raise ValueError(
            f"The divergence {kind} is made for {geometry.n_columns} columns. "
            f"X has {matrix.shape[1]}: pass rows or a divergence that fit each other."
        )
    if geometry.domain is not None:
        cell = first_cell(matrix, geometry.outside)
        if cell is not None:
            # scikit-learn's estimator checks expect its own words for negative entries.
            negative, remedy = "", f" {geometry.remedy}"
            if matrix[cell] < 0:
                negative = f"Negative values in data passed to {kind}. "
                if is_sparse(matrix):
                    remedy = " HashingVectorizer makes none with alternate_sign=False."
            raise ValueError(
                f"{negative}X must hold {geometry.domain}. "
                f"Got {matrix[cell]} at {place(first_row + cell[0], cell[1], names)}.{remedy}"
            )
    if np.isfinite(geometry.max_ratio):
        values = matrix.data if is_sparse(matrix) else matrix
        least, most = float(values.min(initial=np.inf)), float(values.max(initial=0.0))
        if most / geometry.max_ratio > least:
            raise ValueError(
                f"X holds values from {least:g} to {most:g}. Beside such a ratio no others count "
                "in float64. Divide each column by its median, which changes no cost, or remove "
                "rows with extreme values."
            )
    if is_sparse(matrix) and not geometry.takes_zeros:
        cell = first_missing(matrix)
        if cell is not None:
            raise ValueError(
                f"X must hold {geometry.domain}, and a sparse matrix holds zeros. "
                f"Got 0 at {place(first_row + cell[0], cell[1], names)}."
            )
    if geometry.row_unit is not None:
        with np.errstate(over="ignore", divide="ignore"):
            sizes = geometry.row_sizes(matrix)
            # Rows are multiplied by one over their size, which overflows for subnormal sizes.
            bad = np.flatnonzero(~(np.isfinite(1.0 / sizes) & np.isfinite(sizes)))
        if len(bad):
            row = int(bad[0])
            what = (
                f"is empty (its {geometry.row_unit} is zero)"
                if sizes[row] == 0
                else f"has a {geometry.row_unit} beyond the range of float64"
            )
            raise ValueError(
                f"Row {first_row + row} of X {what}, so {kind} cannot normalise it. "
                "Remove or rescale that row."
            )


def touches_border(matrix: Matrix, geometry: Geometry) -> bool:
    """Whether any entry, stored or not, is at the border of the divergence's domain."""
    if is_sparse(matrix) and geometry.at_border(np.zeros(1))[0]:
        n_cells = int(matrix.shape[0]) * int(matrix.shape[1])
        if matrix.nnz < n_cells:
            return True
    return first_cell(matrix, geometry.at_border) is not None


def first_missing(matrix: sparse.csr_array) -> tuple[int, int] | None:
    """Return row and column of the first entry that is not stored."""
    short = np.flatnonzero(np.diff(matrix.indptr) < matrix.shape[1])
    if not len(short):
        return None
    row = int(short[0])
    stored = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    gaps = np.flatnonzero(stored != np.arange(len(stored)))
    return row, int(gaps[0]) if len(gaps) else len(stored)
