"""Tables in files: names and kinds of columns, numbers as one array, text as lists.

Several tables with the same columns are read as one: their rows one file after the other.
"""

import os
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hardbayes.cli.terminal import CommandError, cannot_read, listed
from hardbayes.core.loop import counted

#: Cells that stand for a missing value, beside empty ones.
MISSING = (
    "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "?", "#N/A", "<NA>",
)  # fmt: skip
#: Where files hold different kinds in one column, the first of these that any holds.
KINDS = ("text", "number", "boolean", "empty")


class Cells(NamedTuple):
    """The cells of some columns."""

    numbers: Any  # (n, d), NaN where missing; or a sparse matrix without missing cells
    texts: dict[str, list[str | None]]  # by column, None where missing


class Table(ABC):
    """A table in a file. Nothing is read before it is needed."""

    names: list[str]
    n_rows: int = -1  # until `read`

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []  # what a user may not expect

    @property
    @abstractmethod
    def kinds(self) -> dict[str, str]:
        """What each column holds: "number", "boolean", "text" or "empty"."""

    @abstractmethod
    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return the cells of columns of numbers, and of columns taken as text."""

    @property
    def row_ids(self) -> list[str | None] | None:
        """Names of the rows, where they have any without a column of names."""
        return None

    def row_name(self, row: int) -> str:
        """Return the words for a row, which users count from 1."""
        return f"row {row + 1}"


class StackedTable(Table):
    """The rows of several tables. The columns of the first are matched by name in the others."""

    def __init__(self, tables: list[Table]) -> None:
        super().__init__(Path(", ".join(str(table.path) for table in tables)))
        self.tables = tables
        self.names = tables[0].names
        for table in tables[1:]:
            if sorted(table.names) != sorted(self.names):
                odd = sorted(set(table.names) ^ set(self.names))
                raise CommandError(
                    f"{table.path}: its columns are not those of {tables[0].path}: only one of the "
                    f"two has {listed(odd)}; give tables with the same columns"
                )
        for table in tables:
            self.notes += [f"{table.path}: {note}" for note in table.notes]

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds in all files."""
        held = {name: {table.kinds[name] for table in self.tables} for name in self.names}
        return {name: min(kinds, key=KINDS.index) for name, kinds in held.items()}

    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return the cells of all files."""
        parts = [table.read(numbers, texts) for table in self.tables]
        self.n_rows = sum(table.n_rows for table in self.tables)
        matrices = [part.numbers for part in parts]
        if any(sparse.issparse(matrix) for matrix in matrices):
            stacked = sparse.vstack([sparse.csr_array(matrix) for matrix in matrices], "csr")
        else:
            stacked = np.concatenate(matrices)
        cells = {name: [cell for part in parts for cell in part.texts[name]] for name in texts}
        return Cells(stacked, cells)

    @property
    def row_ids(self) -> list[str | None]:
        """The file and the number of each row, or its name there."""
        return [
            f"{table.path.name} {row + 1 if table.row_ids is None else table.row_ids[row]}"
            for table in self.tables
            for row in range(table.n_rows)
        ]

    def row_name(self, row: int) -> str:
        """Return the words for a row, by its number in its file."""
        for table in self.tables:
            if row < table.n_rows:
                return f"{table.row_name(row)} of {table.path}"
            row -= table.n_rows
        raise IndexError(f"there are {counted(self.n_rows, 'row')}")


def new_matrix(n_rows: int, n_columns: int) -> np.ndarray:
    """Return an array to fill: of more than half of the memory, in a temporary file."""
    if 8 * n_rows * n_columns <= memory_bytes() // 2:
        return np.empty((n_rows, n_columns))
    with tempfile.TemporaryFile() as file:  # the map outlives its name
        return np.memmap(file, np.float64, "w+", shape=(n_rows, n_columns))


def memory_bytes() -> int:
    """Return how much memory the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def import_polars(path: Path) -> Any:
    """Return polars; raise a CommandError with the command that installs it where it is missing."""
    try:
        import polars as pl
    except ImportError as error:
        raise cannot_read(
            path, 'polars is missing. Install it: pip install "hardbayes[app]"'
        ) from error
    return pl


def stripped(pl: Any, column: Any) -> Any:
    """Return text cells, a column or an expression, without blanks around; None where missing."""
    cells = column.cast(pl.String).str.strip_chars()
    return cells.replace(["", *MISSING], [None] * (1 + len(MISSING)))
