"""What is accepted as data, and the sentences for what is not."""

import numbers
from collections.abc import Callable
from itertools import chain
from typing import Any, SupportsFloat, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, validate_data

from hardbayes.geometry import Geometry
from hardbayes.geometry.base import Floats
from hardbayes.matrices import Matrix, is_sparse

# Rows lighter than n times this share would be blurred in the sums of weights.
LIGHTEST_SHARE = 2.0**-72
SMALLEST_WEIGHT = 1e-250
# Larger arrays are gone through in parts: Python sees Ctrl-C only between two calls of NumPy.
PART_BYTES = 1 << 25
CHECKS = {
    "accept_sparse": "csr",
    "order": "C",
    "ensure_all_finite": False,  # checked below, where the row and column can be named
}


def check_matrix(X: Any, geometry: Geometry, estimator: Any = None, reset: bool = True) -> Matrix:
    """Return X as a C-contiguous or canonical CSR matrix of float32 or float64.

    With an estimator, number and names of features are recorded (``reset``) or compared.
    """
    if sparse.issparse(X) and estimator is not None and not get_tags(estimator).input_tags.sparse:
        raise TypeError(
            f"Sparse X was passed, but {type(estimator).__name__} takes dense rows only: "
            "covariances fill what is empty. Pass X.toarray(), or project X to few columns first."
        )
    if sparse.issparse(X):
        check_structure(X)
    refuse_lazy(X)
    names = column_names(X)
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
        return matrix.toarray()  # it has no zeros: full rows take less room so
    return matrix


def checked_array(X: Any, estimator: Any, reset: bool) -> Any:
    """Return X as scikit-learn checks and converts it, in parts where it is large."""
    dtypes = accepted_dtypes(X)
    checks = {**CHECKS, "dtype": dtypes}
    reader = reader_of(X, dtypes)
    if reader is not None and estimator is not None:
        # Names and numbers of columns, which the copy no longer tells.
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reader is not None:
        return check_array(copied_in_parts(X.shape, *reader), **checks)
    if estimator is None:
        return check_array(X, **checks)
    return validate_data(estimator, X, reset=reset, **checks)


def reader_of(X: Any, dtypes: list[Any]) -> tuple[Any, Callable[[slice], Any]] | None:
    """Return the dtype that X becomes and what reads some of its rows, or None.

    None stands for what is small, needs no copy, or is not plain numbers: scikit-learn copies that
    in one call, which Ctrl-C cannot stop.
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
    if len(columns) > 1 and hasattr(columns[0], "is_float"):  # polars gives one column as it lies
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
    """Return what scikit-learn makes of a dtype where these are accepted."""
    return dtype if dtype in dtypes else np.dtype(dtypes[0])


def as_view(X: Any) -> Any:
    """Return the array that a pandas frame is a view of, or the frame if it is none."""
    first = X.iloc[:2]
    return X.to_numpy() if np.shares_memory(first.to_numpy(), first.to_numpy()) else X


def parts(n: int, d: int) -> list[slice]:
    """Return slices of n rows, large enough to be worth a call and small enough to wait for."""
    size = max(1, PART_BYTES // (8 * max(d, 1)))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def copied_in_parts(shape: tuple[int, int], dtype: Any, read: Callable[[slice], Any]) -> Any:
    """Return the rows that ``read`` gives as one C-contiguous array."""
    copy = np.empty(shape, dtype)
    for rows in parts(*shape):
        copy[rows] = read(rows)
    return copy


def accepted_dtypes(X: Any) -> list[type[np.floating]]:
    """Return the dtypes X may keep; the first is what anything else becomes."""
    # scikit-learn looks at the dtypes of neither polars frames nor nullable or foreign-endian ones.
    kinds = {str(dtype) for dtype in getattr(X, "dtypes", ())} if column_names(X) else set()
    foreign = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.dtype.itemsize == 4
    if foreign or (kinds and kinds <= {"Float32", "float32"}):
        return [np.float32]
    return [np.float64, np.float32]


def check_structure(X: Any) -> None:
    """Raise where a sparse matrix points outside itself: compiled code would follow."""
    if X.ndim != 2:
        return  # scikit-learn's to refuse
    if X.format == "coo":
        for numbers, end, what in zip(X.coords, X.shape, ("row", "column"), strict=True):
            check_indices(numbers, end, what)
    if X.format not in ("csr", "csc", "bsr"):
        return  # kept as lists, mappings or diagonals: built anew, with checks
    blocks = X.blocksize if X.format == "bsr" else (1, 1)
    n_major, n_minor = (size // block for size, block in zip(X.shape, blocks, strict=True))
    if X.format == "csc":
        n_major, n_minor = n_minor, n_major
    check_starts(X, n_major)
    check_indices(X.indices[: X.indptr[-1]], n_minor, "row" if X.format == "csc" else "column")


def check_starts(X: Any, n_major: int) -> None:
    """Raise where ``indptr`` does not divide the stored entries among rows (or columns)."""
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
    """Raise where a row or column number is negative or not below ``end``."""
    if indices.dtype.kind != "i":
        raise ValueError(
            f"X is a malformed sparse matrix: {what} numbers must be integers. "
            f"Got {indices.dtype}. Build it anew."
        )
    # Read as unsigned, what is negative is large: one reduction finds both.
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


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame."""
    columns = getattr(X, "columns", None)
    return None if columns is None or sparse.issparse(X) else [str(name) for name in columns]


def refuse_lazy(X: Any) -> None:
    """Raise where X is a query that has not run; to look at its columns would run part of it."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, which holds no rows yet. Call .collect() first.")


def refuse_text(X: Any, names: list[str] | None) -> None:
    """Raise where X holds text, dates or other objects, digits written as text included."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if names is not None:
        refuse_columns(X, names)
    elif kind in ("S", "U", "m", "M"):
        raise ValueError(f"X holds strings or dates ({X.dtype}), not numbers. Convert them first.")
    elif isinstance(X, (list, tuple)) or (kind == "O" and X.ndim == 2):
        cell = first_text(X)
        if cell is not None:
            raise ValueError(
                f"could not convert string to float: X holds text at {place(*cell, None)}. "
                "Drop or encode it first."
            )


def refuse_columns(X: Any, names: list[str]) -> None:
    """Raise at the first column of a data frame that does not hold real numbers."""
    for column, (name, dtype) in enumerate(zip(names, getattr(X, "dtypes", ()), strict=False)):
        if str(dtype) == "object" and hasattr(X, "iloc"):
            refuse_cells(X.iloc[:, column].to_numpy(), column, names)
        elif not holds_numbers(dtype):
            raise ValueError(
                f"Column {name!r} of X holds {dtype} values, not real numbers. "
                "Drop it or encode it first."
            )


def holds_numbers(dtype: Any) -> bool:
    """Whether a column of this dtype, of pandas or polars, holds real numbers."""
    if hasattr(dtype, "is_numeric"):  # polars; a column of nothing but nulls is named as missing
        return dtype.is_numeric() or str(dtype) in ("Boolean", "Null")
    # Decimals of Arrow have no kind of their own; a dtype without any is scikit-learn's to judge.
    return getattr(dtype, "kind", "f") in "biuf" or str(dtype).startswith("decimal")


def refuse_cells(cells: Any, column: int, names: list[str]) -> None:
    """Raise at the first cell of an object column that is not a real number."""
    strangers = {kind for kind in set(map(type, cells)) if not is_number(kind)}
    if not strangers:
        return
    row, value = next((row, v) for row, v in enumerate(cells) if type(v) in strangers)
    if type(value).__name__ in ("NAType", "NaTType"):
        raise ValueError(missing_value(f"a missing value ({value!r})", row, column, names))
    what = "text" if isinstance(value, (str, bytes)) else f"{type(value).__name__} values"
    raise ValueError(
        f"Column {names[column]!r} of X holds {what}, for example at row {row}. "
        "Drop it or encode it first."
    )


def is_number(kind: type) -> bool:
    """Whether objects of this type stand for real numbers, or for None, which becomes NaN."""
    # NumPy gives __float__ to all of its scalars, NaT among pandas' own has one that raises.
    strange = (np.character, np.complexfloating, np.datetime64, np.timedelta64, np.ndarray)
    if issubclass(kind, strange) or kind.__name__ == "NaTType":
        return False
    return kind is type(None) or hasattr(kind, "__float__") or hasattr(kind, "__index__")


def first_text(rows: Any) -> tuple[int, int] | None:
    """Return row and column of the first cell that is text, in an array or a list of rows."""
    mixed = [(number, row) for number, row in enumerate(rows) if may_hold_text(row)]
    # First the types alone, at C's speed: most tables hold no text.
    kinds = set(map(type, chain.from_iterable(row for _, row in mixed)))
    if not any(issubclass(kind, (str, bytes)) for kind in kinds):
        return None
    return next(
        (number, column)
        for number, row in mixed
        for column, value in enumerate(row)
        if isinstance(value, (str, bytes))
    )


def may_hold_text(row: Any) -> bool:
    """Whether a row is a list or an array that has cells of any type."""
    if isinstance(row, np.ndarray):
        return row.ndim == 1 and row.dtype.kind in "OSU"
    return isinstance(row, (list, tuple))


def one_sentence(X: Any, error: Exception) -> Exception:
    """Return scikit-learn's error without the data it quotes, with the place of a stray cell."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    quoted = ("array", "[", " [")
    lines = [line for line in str(error).split("\n") if not line.startswith(quoted)]
    sentence = " ".join(lines)
    cells = object_cells(X)
    if cells is not None and cells.ndim == 2:
        for (row, column), value in np.ndenumerate(cells):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return kind(f"{sentence}, at {place(row, column, column_names(X))} of X.")
    return kind(sentence)


def object_cells(X: Any) -> Any:
    """Return the cells of X as they are, or None where all are numbers or rows differ in length."""
    if isinstance(X, np.ndarray):
        return X if X.dtype == object else None
    if hasattr(X, "iloc") and column_names(X) is not None:
        return X.to_numpy(dtype=object) if "object" in map(str, X.dtypes) else None
    try:
        return np.array(X, dtype=object) if isinstance(X, (list, tuple)) else None
    except ValueError:
        return None


def place(row: int, column: int, names: list[str] | None) -> str:
    """Return a sentence part that names a cell."""
    name = f" ({names[column]!r})" if names is not None else ""
    return f"row {row}, column {column}{name}"


def missing_value(kind: str, row: int, column: int, names: list[str] | None) -> str:
    """Return the sentences for a cell without a finite number."""
    return (
        f"Input X contains {kind} at {place(row, column, names)}. "
        "Remove that row or fill in the value, for example with sklearn.impute."
    )


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
        totals = [np.sum(values[rows]) for rows in parts(*values.shape)]
    if np.isfinite(totals).all():  # one pass, unless a sum overflows and asks for a closer look
        return
    cell = first_cell(matrix, lambda values: ~np.isfinite(values))
    if cell is not None:
        value = matrix[cell]
        kind = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(missing_value(kind, *cell, names))


def check_domain(matrix: Matrix, geometry: Geometry, names: list[str] | None) -> None:
    """Raise at the first entry, or empty row, that the divergence is not defined for."""
    kind = type(geometry).__name__
    if geometry.n_columns not in (None, matrix.shape[1]):
        raise ValueError(
            f"The divergence {kind} is made for {geometry.n_columns} columns. "
            f"X has {matrix.shape[1]}: pass rows or a divergence that fit each other."
        )
    if geometry.domain is not None:
        cell = first_cell(matrix, geometry.outside)
        if cell is not None:
            # scikit-learn's own words come first where that is the trouble.
            negative = f"Negative values in data passed to {kind}. " if matrix[cell] < 0 else ""
            raise ValueError(
                f"{negative}X must hold {geometry.domain}. "
                f"Got {matrix[cell]} at {place(*cell, names)}."
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
            # Rows are multiplied by one over their size, which overflows where that is subnormal.
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


def check_weights(
    sample_weight: Any, matrix: Matrix, geometry: Geometry | None = None
) -> Floats | None:
    """Return weights as float64 (n,), (1,) where all are equal, or None."""
    if geometry is not None and geometry.length_as_weight:
        given = check_weights(sample_weight, matrix)
        lengths = geometry.row_sizes(matrix)
        return check_weights(lengths if given is None else lengths * given, matrix)
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
        if weights.shape != matrix.shape[:1]:
            raise ValueError(
                f"The 'sample_weight' parameter must have one weight for each of the "
                f"{matrix.shape[0]} rows. Got shape {weights.shape} instead."
            )
        weights = weights.astype(np.float64)
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
    lightest = weights[weights > 0].min()
    if total < SMALLEST_WEIGHT or lightest < len(weights) * LIGHTEST_SHARE * total:
        raise ValueError(
            f"The 'sample_weight' parameter spans too wide a range: from {lightest:g} to a sum of "
            f"{total:g}. Scale the weights, or set those that do not matter to zero."
        )
    return weights[:1] if (weights == weights[0]).all() else weights


def check_labels(labels: Any, n_rows: int, name: str = "labels") -> NDArray[np.intp]:
    """Return labels, the parameter ``name``, as cluster numbers 0..k-1."""
    try:
        labels = np.asarray(labels)
    except ValueError:
        raise ValueError(f"The '{name}' parameter must be a list of labels, one a row.") from None
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = int(np.flatnonzero(np.isnan(labels))[0])
        raise ValueError(f"The '{name}' parameter holds NaN at row {row}. Give every row a label.")
    if labels.shape != (n_rows,):
        raise ValueError(
            f"The '{name}' parameter must have one label for each of the {n_rows} rows. "
            f"Got shape {labels.shape}."
        )
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError:
        raise ValueError(f"The '{name}' parameter must hold labels of one kind.") from None


def first_missing(matrix: sparse.csr_array) -> tuple[int, int] | None:
    """Return row and column of the first entry that is not stored."""
    short = np.flatnonzero(np.diff(matrix.indptr) < matrix.shape[1])
    if not len(short):
        return None
    row = int(short[0])
    stored = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    gaps = np.flatnonzero(stored != np.arange(len(stored)))
    return row, int(gaps[0]) if len(gaps) else len(stored)


def touches_border(matrix: Matrix, geometry: Geometry) -> bool:
    """Whether any entry, stored or not, lies at the border of the divergence's domain."""
    if is_sparse(matrix) and geometry.at_border(np.zeros(1))[0]:
        n_cells = int(matrix.shape[0]) * int(matrix.shape[1])
        if matrix.nnz < n_cells:
            return True
    return first_cell(matrix, geometry.at_border) is not None


def check_centres(
    init: Any, geometry: Geometry, n_columns: int, max_clusters: int | None
) -> Floats:
    """Return the centres of an ``init`` array (k, d)."""
    must = "The 'init' parameter must be an array of centres (k, n_features) like rows of X"
    try:
        centres = check_matrix(init, geometry)
    except ValueError as error:
        trouble = str(error).replace("Input X", "It").replace("of X", "of it")
        raise ValueError(f"{must}. {trouble}") from None
    if centres.shape[1] != n_columns:
        raise ValueError(
            f"{must}, which has {n_columns} columns. Got {centres.shape[1]} columns instead."
        )
    if max_clusters is not None and centres.shape[0] > max_clusters:
        raise ValueError(
            f"{must}, at most max_clusters={max_clusters}. Got {centres.shape[0]} centres instead."
        )
    return centres.toarray() if is_sparse(centres) else centres


def check_membership(membership: Any, n_components: int) -> NDArray[np.bool_]:
    """Return memberships (n, n_components) of zeros and ones as booleans."""
    try:
        numbers = check_array(membership, dtype=np.float64, ensure_min_features=0)
    except (TypeError, ValueError, OverflowError) as error:
        raise one_sentence(membership, error) from None
    if numbers.shape[1] != n_components:
        raise ValueError(
            f"X must have one column for each of the {n_components} features. "
            f"Got {numbers.shape[1]} columns instead."
        )
    cell = (
        first_cell(numbers, lambda values: (values != 0) & (values != 1)) if n_components else None
    )
    if cell is not None:
        raise ValueError(
            f"X must hold memberships: zeros and ones. "
            f"Got {numbers[cell]:g} at {place(*cell, None)} instead."
        )
    return np.asarray(numbers, np.bool_)
