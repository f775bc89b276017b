"""What is accepted as data, and the sentences for what is not."""

import numbers
from typing import Any, SupportsFloat, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from hardbayes.geometry import Geometry
from hardbayes.geometry.base import Floats
from hardbayes.matrices import Matrix, is_sparse, row_sums

CHECKS = {
    "accept_sparse": "csr",
    "order": "C",
    "ensure_all_finite": False,  # checked below, where the row and column can be named
}


def check_matrix(X: Any, geometry: Geometry, estimator: Any = None, reset: bool = True) -> Matrix:
    """Return X as a C-contiguous or canonical CSR matrix of float32 or float64.

    With an estimator, number and names of features are recorded (``reset``) or compared.
    """
    names = column_names(X)
    refuse_text_columns(X, names)
    try:
        checks = {**CHECKS, "dtype": accepted_dtypes(X)}
        if estimator is None:
            matrix = check_array(X, **checks)
        else:
            matrix = validate_data(estimator, X, reset=reset, **checks)
    except ValueError as error:
        raise text_error(X, error) from None
    if sparse.issparse(matrix):
        matrix = canonical(matrix)
    elif not matrix.flags.aligned:
        matrix = matrix.copy()
    check_finite(matrix, names)
    check_domain(matrix, geometry, names)
    return matrix


def accepted_dtypes(X: Any) -> list[type[np.floating]]:
    """Return the dtypes X may keep; the first is what anything else becomes."""
    schema = getattr(X, "schema", None)  # a polars frame: scikit-learn does not look at its dtypes
    if schema is not None and {str(dtype) for dtype in schema.values()} == {"Float32"}:
        return [np.float32]
    return [np.float64, np.float32]


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


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame."""
    columns = getattr(X, "columns", None)
    return None if columns is None or sparse.issparse(X) else [str(name) for name in columns]


def refuse_text_columns(X: Any, names: list[str] | None) -> None:
    """Raise where a column of a data frame holds something other than numbers."""
    if names is None:
        return
    for name, dtype in zip(names, X.dtypes, strict=False):
        text = str(dtype).lower()
        if text.startswith(("str", "utf8", "categ", "enum", "date", "time", "period", "list")):
            raise ValueError(
                f"Column {name!r} of X holds {dtype} values, not numbers. "
                "Drop it or encode it first."
            )
        if text == "object":
            for row, value in enumerate(X[name] if hasattr(X, "iloc") else ()):
                if isinstance(value, str):
                    raise ValueError(
                        f"Column {name!r} of X holds text ({value!r} at row {row}), not numbers. "
                        "Drop it or encode it first."
                    )


def text_error(X: Any, error: ValueError) -> ValueError:
    """Return the error with the place of the first text cell, where that was the cause."""
    cells = X if isinstance(X, np.ndarray) else np.empty(0)
    if "could not convert string" in str(error) and cells.ndim == 2:
        for (row, column), value in np.ndenumerate(cells):
            try:
                float(value)
            except (TypeError, ValueError):
                return ValueError(
                    f"{error} X holds {value!r} at {place(row, column, None)}; "
                    "only numbers can be clustered."
                )
    return error


def place(row: int, column: int, names: list[str] | None) -> str:
    """Return a sentence part that names a cell."""
    name = f" ({names[column]!r})" if names is not None else ""
    return f"row {row}, column {column}{name}"


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


def check_finite(matrix: Matrix, names: list[str] | None = None) -> None:
    """Raise at the first NaN or infinite entry."""
    cell = first_cell(matrix, lambda values: ~np.isfinite(values))
    if cell is not None:
        value = matrix[cell]
        kind = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(
            f"Input X contains {kind} at {place(*cell, names)}. "
            "Remove that row or fill in the value, for example with sklearn.impute."
        )


def check_domain(matrix: Matrix, geometry: Geometry, names: list[str] | None = None) -> None:
    """Raise at the first entry, or empty row, that the divergence is not defined for."""
    kind = type(geometry).__name__
    if geometry.domain is not None:
        cell = first_cell(matrix, geometry.outside)
        if cell is not None:
            # scikit-learn's own words come first where that is the trouble.
            negative = f"Negative values in data passed to {kind}. " if matrix[cell] < 0 else ""
            raise ValueError(
                f"{negative}X must hold {geometry.domain}. "
                f"Got {matrix[cell]} at {place(*cell, names)}."
            )
    if geometry.normalise_rows:
        with np.errstate(over="ignore"):
            sums = row_sums(matrix)
        bad = np.flatnonzero(~((sums > 0) & np.isfinite(sums)))
        if len(bad):
            row = int(bad[0])
            what = "is empty (it sums to zero)" if sums[row] == 0 else "sums to infinity"
            raise ValueError(
                f"Row {row} of X {what}, so {kind} cannot normalise it. Remove or rescale that row."
            )


def check_weights(sample_weight: Any, matrix: Matrix) -> Floats | None:
    """Return weights as float64 (n,), (1,) where all are equal, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        weights = np.full(matrix.shape[0], float(cast(SupportsFloat, sample_weight)))
    else:
        weights = np.asarray(sample_weight)
        if weights.dtype.kind not in "buif":
            raise ValueError(
                f"The 'sample_weight' parameter must hold real numbers. Got dtype {weights.dtype}."
            )
        if weights.ndim == 1 and len(weights) == matrix.shape[0]:
            weights = weights.astype(np.float64)
        else:  # scikit-learn's own sentences for wrong shapes
            weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(
            f"The 'sample_weight' parameter must hold finite numbers >= 0. "
            f"Got {weights[bad[0]]} at row {bad[0]}."
        )
    total = weights.sum()
    if not total > 0:
        raise ValueError(
            "The 'sample_weight' parameter must hold at least one number > 0. All are zero."
        )
    if not np.isfinite(total):
        raise ValueError("The 'sample_weight' parameter sums to infinity. Scale the weights down.")
    return weights[:1] if (weights == weights[0]).all() else weights


def check_labels(labels: Any, n_rows: int) -> NDArray[np.intp]:
    """Return labels as cluster numbers 0..k-1."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = int(np.flatnonzero(np.isnan(labels))[0])
        raise ValueError(f"The 'labels' parameter holds NaN at row {row}. Give every row a label.")
    if labels.shape != (n_rows,):
        raise ValueError(
            f"The 'labels' parameter must have one label for each of the {n_rows} rows. "
            f"Got shape {labels.shape}."
        )
    return np.unique(labels, return_inverse=True)[1]


def holds_zeros(matrix: Matrix) -> bool:
    """Whether any entry is zero, stored or not."""
    if is_sparse(matrix):
        n_cells = int(matrix.shape[0]) * int(matrix.shape[1])
        return bool(np.count_nonzero(matrix.data) < n_cells)
    return first_cell(matrix, lambda values: values == 0) is not None


def check_centres(
    init: Any, geometry: Geometry, n_columns: int, max_clusters: int | None
) -> Floats:
    """Return the centres of an ``init`` array (k, d)."""
    must = "The 'init' parameter must be an array of centres (k, n_features) like rows of X"
    try:
        centres = check_matrix(init, geometry)
    except ValueError as error:
        raise ValueError(f"{must}. As such: {error}") from None
    if centres.shape[1] != n_columns:
        raise ValueError(
            f"{must}, which has {n_columns} columns. Got {centres.shape[1]} columns instead."
        )
    if max_clusters is not None and centres.shape[0] > max_clusters:
        raise ValueError(
            f"{must}, at most max_clusters={max_clusters}. Got {centres.shape[0]} centres instead."
        )
    return centres.toarray() if is_sparse(centres) else centres
