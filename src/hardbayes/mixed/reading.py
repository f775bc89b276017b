"""From a frame or an array to numbers: what each column holds, and its levels.

A table becomes a matrix with one column for each of its own: numbers as they are, dates as days,
categories as the numbers of their levels. NaN stands for a missing cell, and UNSEEN for a level
that the fit has not seen. What comes after knows nothing of frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hardbayes.core.arrays import Floats, refuse_lazy

#: What a column may be said to hold.
KINDS = ("number", "count", "ordered", "date", "yes/no", "category", "ignore")
CATEGORIES = ("yes/no", "category")
LEFT_OUT = "left out"
UNSEEN = -1.0  # the number of a level that was not there at the fit
# From so many integer values on, a column is told as a count, and with fewer as ordered. It only
# changes the word: both are numbers in steps.
FEWEST_COUNTS = 11

_DAY = 86_400.0  # seconds
_EPOCH = datetime(1970, 1, 1)  # where days are counted from; any day would do


class Column(NamedTuple):
    """What a column holds."""

    name: str
    kind: str  # one of KINDS, or LEFT_OUT
    levels: tuple[str, ...] = ()  # of a category, sorted; of ordered text, from low to high
    why: str = ""  # it is left out

    @property
    def is_category(self) -> bool:
        """Whether entries are numbers of levels without an order."""
        return self.kind in CATEGORIES

    @property
    def is_number(self) -> bool:
        """Whether entries are numbers."""
        return self.kind in ("number", "count", "ordered", "date")


class Table(NamedTuple):
    """A table as numbers."""

    matrix: Floats  # (n, d): numbers, or levels of categories; NaN where missing
    columns: tuple[Column, ...]  # (d,)


class Cells(NamedTuple):
    """The cells of one column as they came."""

    numbers: Floats | None  # NaN where missing; None where they are text
    texts: list[str | None] | None = None
    order: tuple[str, ...] | None = None  # of the levels, where they have one
    is_date: bool = False


def read_table(X: Any, said: Mapping[Any, str]) -> Table:
    """Return a table for a fit; ``said``: kinds of columns by name or number."""
    names, cells = cells_of(X)
    kinds = _kinds_said(said, names)
    read = [_column(name, each, kinds.get(name)) for name, each in zip(names, cells, strict=True)]
    return Table(
        np.column_stack([values for values, _ in read]), tuple(column for _, column in read)
    )


def read_cells(cells: Sequence[Cells], columns: Sequence[Column]) -> Floats:
    """Return new rows as numbers (n, d), with the columns that a fit has seen."""
    read = [_as_known(each, column) for each, column in zip(cells, columns, strict=True)]
    return np.column_stack(read)


def cells_of(X: Any) -> tuple[list[str], list[Cells]]:
    """Return the names and the cells of the columns of a frame, an array or a list of rows."""
    if sparse.issparse(X):
        raise TypeError(
            "Sparse X was passed, but tables of mixed columns are dense. Pass X.toarray()."
        )
    refuse_lazy(X)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = [str(name) for name in X.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"X has two columns named {twice!r}. Rename one of them.")
        columns = [X.iloc[:, j] if hasattr(X, "iloc") else X[name] for j, name in enumerate(names)]
        _refuse_nothing((len(X), len(names)))
        return names, [_cells_of_series(series) for series in columns]
    rows = X if isinstance(X, np.ndarray) else _array_of(X)
    if rows.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {rows.ndim}D array instead: X must be a table of rows and "
            "columns. Reshape your data with X.reshape(-1, 1) if it is one column."
        )
    _refuse_nothing(rows.shape)
    return [f"x{j}" for j in range(rows.shape[1])], [_cells_of_array(each) for each in rows.T]


def _refuse_nothing(shape: tuple[int, ...]) -> None:
    """Raise if there are no rows, or no columns, in scikit-learn's words."""
    for number, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if not number:
            raise ValueError(
                f"Found array with {number} {what} (shape={shape}) while a minimum of 1 is "
                "required. Pass at least one row and one column."
            )


def _array_of(X: Any) -> Any:
    if X is None or isinstance(X, str | bytes | dict | set):
        raise ValueError(
            "Expected 2D array, got scalar array instead: X must be a table of rows and columns. "
            f"Got {type(X).__name__}."
        )
    if hasattr(X, "__array__"):
        return np.asarray(X)
    rows = np.array(list(X), dtype=object)
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return rows


def _cells_of_series(series: Any) -> Cells:
    """Return the cells of a column of pandas or polars."""
    dtype = series.dtype
    if hasattr(dtype, "is_numeric"):
        return _cells_of_polars(series, dtype)
    if hasattr(series, "cat") and hasattr(dtype, "categories"):
        levels = [_text(level) for level in dtype.categories]
        texts = [None if code < 0 else levels[code] for code in series.cat.codes]
        return Cells(None, texts, tuple(levels) if dtype.ordered else None)
    kind = getattr(dtype, "kind", "O")
    if kind == "M" or str(dtype).startswith(("timestamp", "date")):
        values = series.to_numpy(dtype="datetime64[us]")
        return Cells(_in_days(values), is_date=True)
    if kind == "m":
        return Cells(_in_days(series.to_numpy(dtype="timedelta64[us]")))
    if kind in "iuf" and str(dtype) not in ("boolean", "bool"):
        return Cells(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return _cells_of_objects(series.astype(object).to_numpy())


def _cells_of_polars(series: Any, dtype: Any) -> Cells:
    name = str(dtype)
    if dtype.is_numeric():
        return Cells(np.array([*series.to_list(), None], np.float64)[:-1])
    if name.startswith("Enum"):
        return Cells(None, series.to_list(), tuple(dtype.categories))
    return _cells_of_objects(np.array([*series.to_list(), None], dtype=object)[:-1])


def _cells_of_array(column: Any) -> Cells:
    """Return the cells of a column of an array."""
    if column.dtype.kind in "iuf":
        return Cells(column.astype(np.float64))
    if column.dtype.kind == "M":
        return Cells(_in_days(column.astype("datetime64[us]")), is_date=True)
    if column.dtype.kind == "m":
        return Cells(_in_days(column.astype("timedelta64[us]")))
    if column.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers. Pass real ones.")
    return _cells_of_objects(column.astype(object))


def _cells_of_objects(column: Any) -> Cells:
    """Return the cells of a column of Python's objects: numbers, dates, or else text."""
    cells = [None if _is_missing(cell) else cell for cell in column.tolist()]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and all(
        issubclass(kind, int | float | np.number | Decimal) for kind in kinds - {bool}
    ):
        if bool not in kinds:
            return Cells(np.array([np.nan if c is None else float(c) for c in cells], np.float64))
    elif kinds and all(issubclass(kind, date) for kind in kinds):
        return Cells(np.array([_days(cell) for cell in cells], np.float64), is_date=True)
    elif kinds and all(issubclass(kind, time | timedelta) for kind in kinds):
        return Cells(np.array([_days(cell) for cell in cells], np.float64))
    for kind in kinds:
        if issubclass(kind, list | tuple | dict | set | np.ndarray | complex):
            raise TypeError(
                f"X holds a cell of type {kind.__name__}; the argument must be a string or a real "
                "number, a date or a truth value. Leave that column out."
            )
    if not kinds:  # nothing but missing cells
        return Cells(np.full(len(cells), np.nan))
    return Cells(None, [None if cell is None else _text(cell) for cell in cells])


def _is_missing(cell: Any) -> bool:
    """Whether an object is None, NaN, or pandas' NA or NaT."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, Number | np.generic) and bool(cell != cell)


def _days(cell: Any) -> float:
    """Return a date as days since 1970, a duration in days, a time of the day in hours."""
    if cell is None:
        return np.nan
    if isinstance(cell, time):
        return cell.hour + cell.minute / 60 + (cell.second + cell.microsecond / 1e6) / 3600
    if isinstance(cell, timedelta):
        return cell.total_seconds() / _DAY
    if isinstance(cell, datetime):
        local = cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
        return (local - _EPOCH).total_seconds() / _DAY
    return float((cell - _EPOCH.date()).days)


def _in_days(values: Any) -> Floats:
    days = values.astype(np.int64) / (1e6 * _DAY)
    return np.where(np.isnat(values), np.nan, days)


def _text(cell: Any) -> str:
    """Return what a level is called: 1, 1.0 and "1" are one level."""
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def _kinds_said(said: Mapping[Any, str], names: list[str]) -> dict[str, str]:
    """Return kinds by name; raise at a column that is not there."""
    found = {}
    for given, kind in said.items():
        # Frames may name columns by numbers.
        key: Any = str(given) if str(given) in names else given
        is_number = isinstance(key, int | np.integer)
        if key not in names and not (is_number and -len(names) <= key < len(names)):
            raise ValueError(
                f"The 'columns' parameter names column {key!r}, which X has not. Its columns are "
                f"{', '.join(names[:12])}{' ...' if len(names) > 12 else ''}."
            )
        found[names[key] if is_number else key] = kind
    return found


def _column(name: str, cells: Cells, said: str | None) -> tuple[Floats, Column]:
    """Return a column as numbers, and what it holds: what was said, or what its cells are."""
    if said == "ignore":
        n = len(cells.texts if cells.numbers is None else cells.numbers)  # type: ignore[arg-type]
        return np.full(n, np.nan), Column(name, LEFT_OUT, why="as it was said")
    if cells.numbers is not None and said not in CATEGORIES:
        return _number(name, cells.numbers, said, cells.is_date)
    if said in ("number", "count", "date"):
        return _number(name, _numbers_in(name, cells.texts or [], said), said, said == "date")
    texts = cells.texts
    if texts is None:
        assert cells.numbers is not None
        texts = [None if np.isnan(each) else _text(each) for each in cells.numbers.tolist()]
    present = {text for text in texts if text is not None}
    in_order = cells.order
    if said == "ordered" and in_order is None:
        in_order = tuple(sorted(present, key=_rank_of_text))
    if in_order is not None and said not in CATEGORIES and len(present) > 2 - (said is not None):
        return _codes(texts, in_order), Column(name, "ordered", in_order)
    levels = tuple(sorted(present, key=_rank_of_text))
    if len(levels) < 2:
        why = "one value" if levels else "no values"
        return _codes(texts, levels), Column(name, LEFT_OUT, levels, why)
    if said == "yes/no" and len(levels) > 2:
        raise ValueError(
            f"Column {name!r} of X was said to be yes/no, but it has {len(levels)} values: "
            f"{', '.join(levels[:4])}{' ...' if len(levels) > 4 else ''}. Make it a category."
        )
    return _codes(texts, levels), Column(name, "yes/no" if len(levels) == 2 else "category", levels)


def _number(name: str, values: Floats, said: str | None, is_date: bool) -> tuple[Floats, Column]:
    """Return a column of numbers; two values are yes and no."""
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity at row {int(infinite.argmax())} of column {name!r}. "
            "Remove that row, or make the cell a missing one."
        )
    present = np.unique(values[~np.isnan(values)])
    if len(present) < 2:
        return values, Column(name, LEFT_OUT, why="one value" if len(present) else "no values")
    if said is not None:
        return values, Column(name, said)
    if len(present) == 2:
        levels = tuple(_text(value) for value in present.tolist())
        codes = np.where(np.isnan(values), np.nan, (values == present[1]).astype(np.float64))
        return codes, Column(name, "yes/no", levels)
    if is_date:
        return values, Column(name, "date")
    if present[0] >= 0 and (present == np.floor(present)).all():
        return values, Column(name, "ordered" if len(present) < FEWEST_COUNTS else "count")
    return values, Column(name, "number")


def _numbers_in(name: str, texts: list[str | None], said: str) -> Floats:
    """Return text as numbers or, as is said, as dates; raise at the first cell that is none."""
    values = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        try:
            if text is not None:
                values[row] = _days(datetime.fromisoformat(text)) if said == "date" else float(text)
        except ValueError:
            raise ValueError(
                f"Column {name!r} of X was said to be a {said}, but row {row} holds {text!r}. "
                "Correct it, or make the column a category."
            ) from None
    return values


def _rank_of_text(text: str) -> tuple[int, float, str]:
    """Return a key that sorts numbers by size, before text."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _codes(texts: list[str | None], levels: Sequence[str]) -> Floats:
    """Return the numbers of levels (n,); NaN where missing, UNSEEN where a level is none."""
    where: dict[str | None, float] = {level: float(code) for code, level in enumerate(levels)}
    where[None] = np.nan
    return np.array([where.get(text, UNSEEN) for text in texts], np.float64)


def _as_known(cells: Cells, column: Column) -> Floats:
    """Return the cells of new rows as the fit has read this column."""
    if column.levels and column.kind != LEFT_OUT:
        texts = cells.texts
        if texts is None:
            assert cells.numbers is not None
            texts = [None if np.isnan(each) else _text(each) for each in cells.numbers.tolist()]
        codes = _codes(texts, column.levels)
        # An order has no place for a new level: its cell counts as missing.
        return np.where(codes == UNSEEN, np.nan, codes) if column.is_number else codes
    if cells.numbers is not None:
        if np.isinf(cells.numbers).any() and column.is_number:
            _number(column.name, cells.numbers, None, False)  # raises
        return cells.numbers
    if column.kind == LEFT_OUT:
        return np.full(len(cells.texts or []), np.nan)
    return _numbers_in(column.name, cells.texts or [], column.kind)
