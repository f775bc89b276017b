"""Tables in files: names and kinds of columns, numbers as one array, text as lists."""

import os
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.terminal import cannot_read

#: Cells that stand for a missing value, beside empty ones.
MISSING = (
    "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "?", "#N/A", "<NA>",
)  # fmt: skip


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
