"""Several tables with the same columns, read as one: their rows one file after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from hardbayes.cli.readers import open_table
from hardbayes.cli.tables import Cells, Table
from hardbayes.cli.terminal import CommandError, listed
from hardbayes.core.loop import counted

#: Where files hold different kinds in one column, the first of these that any holds.
KINDS = ("text", "number", "boolean", "empty")


def open_tables(names: list[str], header: bool | None = None) -> Table:
    """Return the table in a file, or the rows of several files as one table."""
    tables = [open_table(name, header) for name in names]
    return tables[0] if len(tables) == 1 else StackedTable(tables)


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
