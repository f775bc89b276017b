"""Validation of data matrices."""

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, validate_data

from hardbayes.geometry import Geometry
from hardbayes.matrices import Matrix, is_sparse
from hardbayes.validation.cells import (
    column_names,
    missing_value,
    one_sentence,
    place,
    refuse_empty,
    refuse_lazy,
    refuse_other_things,
    refuse_text,
)
from hardbayes.validation.copying import accepted_dtypes, copied_in_parts, parts, reader_of
from hardbayes.validation.sparse_structure import canonical, check_structure

CHECKS = {
    "accept_sparse": "csr",
    "order": "C",
    "ensure_all_finite": False,  # checked below, where the row and column can be named
}


def check_matrix(X: Any, geometry: Geometry, estimator: Any = None, reset: bool = True) -> Matrix:
    """Return X as a C-contiguous array or a canonical CSR matrix of float32 or float64.

    With an estimator, the number and names of its features are set (``reset``) or compared.
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
    names = column_names(X)
    refuse_empty(names)
    refuse_text(X, names)
    try:
        matrix = checked_array(X, estimator, reset)
    except (TypeError, ValueError, OverflowError) as error:
        raise one_sentence(X, error) from None
    if sparse.issparse(matrix):
        matrix = canonical(matrix)
    elif not matrix.flags.aligned:
        matrix = matrix.copy()
    check_finite(matrix, names)
    matrix = geometry.statistic(matrix)
    check_domain(matrix, geometry, names)
    if is_sparse(matrix) and not geometry.takes_zeros:
        return matrix.toarray()  # without zeros a dense array takes less memory
    return matrix


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


def check_finite(matrix: Matrix, names: list[str] | None) -> None:
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
        raise ValueError(missing_value(kind, *cell, names))


def check_domain(matrix: Matrix, geometry: Geometry, names: list[str] | None) -> None:
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
            negative, remedy = "", " Correct it, or choose another divergence."
            if matrix[cell] < 0:
                negative = f"Negative values in data passed to {kind}. "
                if is_sparse(matrix):
                    remedy = " HashingVectorizer makes none with alternate_sign=False."
            raise ValueError(
                f"{negative}X must hold {geometry.domain}. "
                f"Got {matrix[cell]} at {place(*cell, names)}.{remedy}"
            )
    if is_sparse(matrix) and not geometry.takes_zeros:
        cell = first_missing(matrix)
        if cell is not None:
            raise ValueError(
                f"X must hold {geometry.domain}, and a sparse matrix holds zeros. "
                f"Got 0 at {place(*cell, names)}."
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
                f"Row {row} of X {what}, so {kind} cannot normalise it. Remove or rescale that row."
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
