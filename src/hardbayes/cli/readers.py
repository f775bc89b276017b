"""Readers of Parquet files, sheets, arrays and folders of pictures, and which one a file needs."""

import atexit
import shutil
import sys
import tempfile
import zipfile
from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hardbayes.cli.notations import Notation, notation_of, numbers_of_times, sentences_on
from hardbayes.cli.tables import Cells, StackedTable, Table, import_polars, new_matrix, stripped
from hardbayes.cli.terminal import CommandError, cannot_read, one_line
from hardbayes.cli.text_tables import DelimitedTable, open_binary

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm", ".ppm")
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat")
_SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
STANDARD_INPUT = "-"
HEAD_ROWS = 10_000  # that say what a column of text holds


class ColumnTable(Table):
    """A table whose columns have types and are read one at a time."""

    def __init__(self, path: Path, schema: dict[str, Any], n_rows: int) -> None:
        super().__init__(path)
        self._pl = import_polars(path)
        self._schema = schema
        self.n_rows = n_rows
        self.names = list(schema)
        if n_rows == 0 or not schema:
            raise cannot_read(path, "it has no rows; add rows")

    @abstractmethod
    def column(self, name: str) -> Any:
        """Return one column."""

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What the columns hold, by their types; and by the first cells where these are text."""
        self.notes += sentences_on(self._notations)
        return {
            name: "number" if name in self._notations else self._kind(dtype)
            for name, dtype in self._schema.items()
        }

    def _kind(self, dtype: Any) -> str:
        if dtype.is_numeric():
            return "number"
        return {"Boolean": "boolean", "Null": "empty"}.get(str(dtype), "text")

    @cached_property
    def _notations(self) -> dict[str, Notation]:
        """How columns write numbers that are not of a type of numbers."""
        found = {name: self._notation(name, dtype) for name, dtype in self._schema.items()}
        return {name: notation for name, notation in found.items() if notation is not None}

    def _notation(self, name: str, dtype: Any) -> Notation | None:
        pl = self._pl
        if dtype.is_temporal():
            unit = "times, in hours" if dtype == pl.Time else "dates, in days"
            return Notation(unit, lambda column: numbers_of_times(pl, column))
        if dtype == pl.String:
            cells = stripped(pl, self.column(name).head(HEAD_ROWS)).drop_nulls()
            return notation_of(pl, cells)
        return None

    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return columns of numbers as an array, NaN where missing, and of text as lists."""
        matrix = new_matrix(self.n_rows, len(numbers))
        for j, name in enumerate(numbers):
            matrix[:, j] = self._numbers(name).to_numpy()
        found = {name: self.column(name).cast(self._pl.String).to_list() for name in texts}
        return Cells(matrix, found)

    def _numbers(self, name: str) -> Any:
        """Return a column as numbers, or raise at the first cell that is none."""
        pl, column = self._pl, self.column(name)
        if name not in self._notations:
            return column.cast(pl.Float64)
        cells = stripped(pl, column) if column.dtype == pl.String else column
        values = self._notations[name].read(cells)
        bad = values.is_null() & cells.is_not_null()
        if bad.any():
            row = int(bad.arg_max())
            raise CommandError(
                f"{self.path}: {self.row_name(row)}, column {name!r} holds "
                f"{one_line(str(cells[row]))[:40]!r}, and most others are "
                f"{self._notations[name].name}; correct it, or leave the column out: "
                f"--exclude {name!r}"
            )
        return values


class ParquetTable(ColumnTable):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        pl = self._pl = import_polars(path)
        open_binary(path).close()
        try:
            schema = dict(pl.read_parquet_schema(path))
            n_rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError) as error:
            raise cannot_read(path, "it is not a Parquet file, or damaged") from error
        super().__init__(path, schema, n_rows)

    def is_plain(self, name: str) -> bool:
        """Whether a column is of integers or of binary fractions, which need no conversion."""
        kind = self._schema[name]
        return bool(kind.is_integer() or kind.is_float())

    def column(self, name: str) -> Any:
        """Return one column."""
        try:
            return self._pl.scan_parquet(self.path).select(name).collect()[name]
        except (self._pl.exceptions.PolarsError, OSError) as error:
            raise cannot_read(self.path, f"its column {name!r} is damaged") from error


class SheetTable(ColumnTable):
    """The first sheet of a file of Excel or OpenOffice."""

    def __init__(self, path: Path, header: bool | None) -> None:
        pl = import_polars(path)
        open_binary(path).close()
        try:
            import fastexcel
        except ImportError as error:
            raise cannot_read(
                path, 'fastexcel is missing. Install it: pip install "hardbayes[app]"'
            ) from error
        try:
            names = fastexcel.read_excel(path).sheet_names
            self._frame = pl.read_excel(
                path, sheet_id=1, engine="calamine", has_header=header is not False,
                infer_schema_length=None, raise_if_empty=False,
            )  # fmt: skip
        except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError) as error:
            raise cannot_read(path, "it is not a table of Excel, or damaged") from error
        super().__init__(path, dict(self._frame.schema), len(self._frame))
        if len(names) > 1:
            self.notes.append(
                f"Read the first sheet, {names[0]!r}; save others as files of their own."
            )

    def column(self, name: str) -> Any:
        """Return one column."""
        return self._frame[name]


class ArrayTable(Table):
    """A dense or sparse matrix; columns are named x0, x1, ..."""

    def __init__(self, path: Path, matrix: Any) -> None:
        super().__init__(path)
        if matrix.ndim == 1:
            matrix = matrix[:, np.newaxis]
        if matrix.ndim != 2 or 0 in matrix.shape:
            shape = " x ".join(map(str, matrix.shape))
            raise cannot_read(path, f"its array is {shape}; store rows x columns, one at least")
        if matrix.dtype.kind not in "biuf":
            raise cannot_read(
                path, f"its array holds {matrix.dtype}, not numbers; store real numbers"
            )
        self.matrix = matrix
        self.n_rows = matrix.shape[0]
        self.is_sparse = sparse.issparse(matrix)

    @cached_property
    def names(self) -> list[str]:  # type: ignore[override]
        """The columns."""
        return [f"x{j}" for j in range(self.matrix.shape[1])]

    @cached_property
    def kinds(self) -> dict[str, str]:
        """All numbers."""
        return dict.fromkeys(self.names, "number")

    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return the whole array as it is, or the chosen columns."""
        chosen = self.matrix
        if numbers != self.names:
            where = {name: j for j, name in enumerate(self.names)}
            chosen = chosen[:, [where[name] for name in numbers]]
        if not self.is_sparse and chosen.dtype not in (np.float32, np.float64):
            chosen = chosen.astype(np.float64)
        found = {name: self._texts(name) for name in texts}
        return Cells(chosen, found)

    def _texts(self, name: str) -> list[str | None]:
        column = self.matrix[:, [self.names.index(name)]]
        values = (column.toarray() if self.is_sparse else np.asarray(column)).ravel()
        return [f"{value:.17g}" if value == value else None for value in values.tolist()]


def npy_table(path: Path) -> ArrayTable:
    """Return the table of an .npy file, which stays on disk."""
    open_binary(path).close()
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise cannot_read(path, "it is not an .npy file of numbers, or damaged") from error
    if not isinstance(matrix, np.ndarray):
        raise cannot_read(path, "it is not an .npy file; name it .npz if it is one")
    return ArrayTable(path, matrix)


def npz_table(path: Path) -> ArrayTable:
    """Return the table of an .npz file: a sparse matrix of SciPy, the array "X" or the only one."""
    open_binary(path).close()
    damaged = "it is not an .npz file of numbers, or damaged"
    try:
        with np.load(path, allow_pickle=False) as file:
            if not hasattr(file, "files"):
                raise cannot_read(path, "it is not an .npz file; name it .npy if it is one")
            names = list(file.files)
            if "format" not in names:
                if "X" not in names and len(names) != 1:
                    listed = ", ".join(map(repr, names[:8])) or "nothing"
                    raise cannot_read(path, f"it holds {listed}; name one array 'X'")
                return ArrayTable(path, file["X" if "X" in names else names[0]])
        return ArrayTable(path, sparse.csr_array(sparse.load_npz(path)))
    except CommandError:
        raise
    except (OSError, ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise cannot_read(path, damaged) from error


class PictureTable(Table):
    """Pictures in a folder, in shades of grey from 0 to 1."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.files = sorted(f for f in path.iterdir() if f.suffix.lower() in ENDINGS)
        if not self.files:
            raise cannot_read(path, "it is a folder without pictures; name a table")
        self.n_rows = len(self.files)
        self.shape = self._pixels(self.files[0]).shape

    @cached_property
    def names(self) -> list[str]:  # type: ignore[override]
        """The pixels, by row and column."""
        height, width = self.shape
        return [f"r{i}c{j}" for i in range(height) for j in range(width)]

    @cached_property
    def kinds(self) -> dict[str, str]:
        """All numbers."""
        return dict.fromkeys(self.names, "number")

    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return the pixels of all pictures."""
        where = {name: j for j, name in enumerate(self.names)}
        columns = [where[name] for name in numbers]
        matrix = new_matrix(self.n_rows, len(columns))
        for row, file in enumerate(self.files):
            pixels = self._pixels(file)
            if pixels.shape != self.shape:
                sizes = [f"{width} x {height}" for height, width in (pixels.shape, self.shape)]
                raise CommandError(
                    f"{file}: it is {sizes[0]} and {self.files[0].name} is {sizes[1]}; make all "
                    "pictures of one size"
                )
            matrix[row] = pixels.ravel()[columns]
        return Cells(matrix, {name: [None] * self.n_rows for name in texts})

    @property
    def row_ids(self) -> list[str | None]:
        """Names of the pictures."""
        return [file.name for file in self.files]

    def row_name(self, row: int) -> str:
        """Return the name of a picture."""
        return self.files[row].name

    def _pixels(self, file: Path) -> np.ndarray:
        try:
            from PIL import Image
        except ImportError as error:
            raise cannot_read(
                file, 'pillow is missing. Install it: pip install "hardbayes[app]"'
            ) from error
        try:
            with Image.open(file) as picture:
                return np.asarray(picture.convert("L"), np.float64) / 255
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise cannot_read(file, "it is not a picture, or damaged") from error


_OTHERS = {".parquet": ParquetTable, ".pq": ParquetTable, ".npy": npy_table, ".npz": npz_table}


def open_tables(names: list[str], header: bool | None = None) -> Table:
    """Return the table in a file, or the rows of several files as one table."""
    tables = [open_table(name, header) for name in names]
    return tables[0] if len(tables) == 1 else StackedTable(tables)


def open_table(name: str, header: bool | None = None) -> Table:
    """Return the table in a file, or on standard input; raise a CommandError where it is none."""
    if name == STANDARD_INPUT:
        return _standard_input(header)
    path = Path(name)
    suffix = path.suffix.lower()
    if path.is_dir():
        return PictureTable(path)
    if suffix in _OTHERS:
        return _OTHERS[suffix](path)
    if suffix in _SHEETS:
        return SheetTable(path, header)
    if suffix in _TEXT:
        return DelimitedTable(path, header)
    open_binary(path).close()
    known = ", ".join([".csv", ".tsv", ".xlsx", ".parquet", ".npy", ".npz"])
    raise cannot_read(path, f"tables end in {known}; save it as one of these")


def _standard_input(header: bool | None) -> DelimitedTable:
    """Return the text table on standard input, which is read twice: so it is copied first."""
    if sys.stdin is None or sys.stdin.isatty():
        raise CommandError("'-' reads a table from standard input, but nothing is sent to it")
    folder = Path(tempfile.mkdtemp(prefix="hardbayes-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copied = folder / "standard-input.csv"
    with copied.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    table = DelimitedTable(copied, header)
    table.path = Path(STANDARD_INPUT)
    return table
