"""Cells of tables that are not numbers, reported by row, column and column name."""

from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

#: What is said where cells are not numbers.
TAKES_ALL = ", or fit MixedDPMeans, which takes categories and dates as they are"


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame; None for anything else."""
    columns = getattr(X, "columns", None)
    return None if columns is None or sparse.issparse(X) else [str(name) for name in columns]


def refuse_other_things(X: Any) -> None:
    """Raise if X cannot be a table of any kind."""
    is_other = isinstance(X, (str, bytes, dict, set)) and not sparse.issparse(X)  # one is a dict
    if X is None or is_other:
        # scikit-learn's estimator checks expect the first words.
        raise ValueError(
            "Expected 2D array, got scalar array instead: X must be a table of rows and columns. "
            f"Got {type(X).__name__}."
        )


def refuse_empty(names: list[str] | None) -> None:
    """Raise if X is a data frame without columns."""
    if names == []:
        raise ValueError(
            "X is a data frame with 0 feature(s), that is without columns. Pass at least one row "
            "and one column of numbers."
        )


def refuse_text(X: Any, names: list[str] | None) -> None:
    """Raise if X holds text, dates or other objects; digits written as text are text."""
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
                f"Drop or encode it first{TAKES_ALL}."
            )


def refuse_columns(X: Any, names: list[str]) -> None:
    """Raise at the first column of a data frame that does not hold real numbers."""
    for column, (name, dtype) in enumerate(zip(names, getattr(X, "dtypes", ()), strict=False)):
        if str(dtype) == "object" and hasattr(X, "iloc"):
            refuse_cells(X.iloc[:, column].to_numpy(), column, names)
        elif not holds_numbers(dtype):
            raise ValueError(
                f"Column {name!r} of X holds {dtype} values, not real numbers. "
                f"Drop it or encode it first{TAKES_ALL}."
            )


def holds_numbers(dtype: Any) -> bool:
    """Whether a column of this dtype, of pandas or polars, holds real numbers."""
    if hasattr(dtype, "is_numeric"):  # polars; columns of nulls are reported as missing values
        return dtype.is_numeric() or str(dtype) in ("Boolean", "Null")
    # Decimals of Arrow have another kind; scikit-learn checks dtypes without one.
    return getattr(dtype, "kind", "f") in "biuf" or str(dtype).startswith("decimal")


def refuse_cells(cells: Any, column: int, names: list[str]) -> None:
    """Raise at the first cell of an object column that is not a real number."""
    kinds = {kind for kind in set(map(type, cells)) if not is_number(kind)}
    if not kinds:
        return
    row, value = next((row, v) for row, v in enumerate(cells) if type(v) in kinds)
    if type(value).__name__ in ("NAType", "NaTType"):
        raise ValueError(missing_value(f"a missing value ({value!r})", row, column, names))
    what = "text" if isinstance(value, (str, bytes)) else f"{type(value).__name__} values"
    raise ValueError(
        f"Column {names[column]!r} of X holds {what}, for example at row {row}. "
        f"Drop it or encode it first{TAKES_ALL}."
    )


def is_number(kind: type) -> bool:
    """Whether objects of this type are real numbers, or None, which becomes NaN."""
    # All scalars of NumPy have __float__; that of pandas' NaT raises.
    others = (np.character, np.complexfloating, np.datetime64, np.timedelta64, np.ndarray)
    if issubclass(kind, others) or kind.__name__ == "NaTType":
        return False
    return kind is type(None) or hasattr(kind, "__float__") or hasattr(kind, "__index__")


def first_text(rows: Any) -> tuple[int, int] | None:
    """Return row and column of the first text cell in an array or a list of rows."""
    mixed = [(number, row) for number, row in enumerate(rows) if may_hold_text(row)]
    # Types first, which is fast: most tables hold no text.
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
    """Whether a row is a list, or an array of objects or strings."""
    if isinstance(row, np.ndarray):
        return row.ndim == 1 and row.dtype.kind in "OSU"
    return isinstance(row, (list, tuple))


def one_sentence(X: Any, error: Exception) -> Exception:
    """Return scikit-learn's error without quoted data, with the place of the offending cell."""
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
    """Return the cells of X as an array of objects; None where all are numbers."""
    if isinstance(X, np.ndarray):
        return X if X.dtype == object else None
    if hasattr(X, "iloc") and column_names(X) is not None:
        return X.to_numpy(dtype=object) if "object" in map(str, X.dtypes) else None
    try:
        return np.array(X, dtype=object) if isinstance(X, (list, tuple)) else None
    except ValueError:
        return None


def place(row: int, column: int, names: list[str] | None) -> str:
    """Return the words that name a cell in an error message."""
    name = f" ({names[column]!r})" if names is not None else ""
    return f"row {row}, column {column}{name}"


def missing_value(kind: str, row: int, column: int, names: list[str] | None) -> str:
    """Return the error message for a cell without a finite number."""
    return (
        f"Input X contains {kind} at {place(row, column, names)}. "
        "Remove that row or fill in the value, for example with sklearn.impute."
    )
