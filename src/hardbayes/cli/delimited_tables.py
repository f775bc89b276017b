"""CSV and TSV files, read block by block into one array."""

import io
import re
from functools import cached_property
from pathlib import Path
from typing import Any

from hardbayes.cli.errors import CommandError, one_line
from hardbayes.cli.tables import MISSING, Cells, Table, import_polars, new_matrix
from hardbayes.cli.text_layout import HEAD_BYTES, text_layout

# A column of text with this share of numbers is taken for numbers with mistakes.
MOSTLY_NUMBERS = 0.9
_BLANK_LINE = re.compile(rb"^[ \t]*\r?\n", re.MULTILINE)


class DelimitedTable(Table):
    """A CSV or TSV file."""

    def __init__(self, path: Path, header: bool | None = None) -> None:
        self._pl = import_polars(path)
        super().__init__(path)
        self.layout = text_layout(path, header=header)
        self.names = self.layout.names
        self._blank_lines = False
        if not self.layout.has_header:
            self.notes.append("No header: columns are column_1, column_2, ... (--header: there is)")
        if self.layout.decimal_comma:
            self.notes.append("Numbers are read with decimal commas.")

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What the columns hold, by the first rows."""
        pl = self._pl
        block, line = next(self.layout.blocks(HEAD_BYTES), (b"", self.layout.first_line))
        if not block.strip():
            raise CommandError(f"cannot read {str(self.path)!r}: it has no rows; add rows")
        cells = self._frame(block, line, dict.fromkeys(self.names, pl.String))
        cells = cells.select(stripped(pl, pl.all()))
        n_rows = len(cells)
        n_missing = cells.null_count().row(0)
        n_other = cells.select(self._as_numbers(pl.all())).null_count().row(0)
        kinds = {}
        for name, missing, other in zip(self.names, n_missing, n_other, strict=True):
            present, bad = n_rows - missing, other - missing
            if not present:
                kinds[name] = "empty"
            elif bad <= (1 - MOSTLY_NUMBERS) * present:
                kinds[name] = "number"  # `read` names cells that are none
            elif cells[name].str.to_lowercase().is_in(["true", "false"]).sum() == present:
                kinds[name] = "boolean"
            else:
                kinds[name] = "text"
        return kinds

    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return columns of numbers as an array, NaN where missing, and of text as lists."""
        pl = self._pl
        fast = {name: pl.Float64 for name in numbers if self.kinds[name] != "boolean"}
        fast |= {name: pl.String for name in (*numbers, *texts) if name not in fast}
        matrix = new_matrix(self.layout.n_lines, len(numbers))
        found: dict[str, list[str | None]] = {name: [] for name in texts}
        n_rows = 0
        for block, line in self.layout.blocks():
            frame = self._frame(block, line, fast)
            if numbers:
                schema = frame.schema
                text = [name for name in numbers if schema[name] == pl.String]
                checked = [self._numbers_or_error(frame[name], name, n_rows) for name in text]
                columns = frame.with_columns(checked).select(numbers)
                matrix[n_rows : n_rows + len(frame)] = columns.to_numpy()
            for name in texts:
                found[name] += frame[name].cast(pl.String).to_list()
            n_rows += len(frame)
        self.n_rows = n_rows
        return Cells(matrix[:n_rows], found)

    def row_name(self, row: int) -> str:
        """Return the words for a row, with its line where every row is one line."""
        layout = self.layout
        if self._blank_lines or self.n_rows != layout.n_lines - layout.first_line + 1:
            return f"row {row + 1}"
        return f"row {row + 1} (line {row + layout.first_line})"

    def _frame(self, block: bytes, line: int, schema: dict[str, Any]) -> Any:
        """Return the columns in `schema` of a block of rows; as text where a cell is no number."""
        if not self.layout.is_even(block):
            self._refuse_ragged(block, line)
            if len(self.names) > 1 and b'"' not in block:
                whole, block = block, _BLANK_LINE.sub(b"", block)
                self._blank_lines |= len(block) < len(whole)
        try:
            return self._parsed(block, schema)
        except self._pl.exceptions.PolarsError:
            self._refuse_ragged(block, line)
        try:
            return self._parsed(block, dict.fromkeys(schema, self._pl.String))
        except self._pl.exceptions.PolarsError as error:
            raise CommandError(
                f"{self.path}: a cell in line {line} or later has a quotation mark inside: double "
                'it and quote the cell, "like ""this"""'
            ) from error

    def _refuse_ragged(self, block: bytes, line: int) -> None:
        sentence = self.layout.ragged(block, line)
        if sentence:
            raise CommandError(f"{self.path}: {sentence}")

    def _parsed(self, block: bytes, schema: dict[str, Any]) -> Any:
        pl, layout = self._pl, self.layout
        # Columns get numbers for names: any text may stand in the header.
        chosen = [i for i, name in enumerate(self.names) if name in schema]
        frame = pl.read_csv(
            io.BytesIO(block),
            has_header=False,
            separator=layout.separator,
            decimal_comma=layout.decimal_comma,
            schema={str(i): schema.get(name, pl.String) for i, name in enumerate(self.names)},
            columns=chosen,
        )
        return frame.rename({str(i): self.names[i] for i in chosen})

    def _as_numbers(self, cells: Any) -> Any:
        if self.layout.decimal_comma:
            cells = cells.str.replace(",", ".", literal=True)
        return cells.cast(self._pl.Float64, strict=False)

    def _numbers_or_error(self, column: Any, name: str, before: int) -> Any:
        """Return a column of text as numbers, or raise at the first cell that is none."""
        pl = self._pl
        cells = stripped(pl, column)
        if self.kinds[name] == "boolean":
            lower = cells.str.to_lowercase()
            words, numbers = ["true", "false"], [1.0, 0.0]
            values = lower.replace_strict(words, numbers, default=None, return_dtype=pl.Float64)
        else:
            values = self._as_numbers(cells)
        bad = values.is_null() & cells.is_not_null()
        if bad.any():
            row = int(bad.arg_max())
            text = one_line(str(cells[row]))
            self.n_rows = before + row  # whether rows are lines is open here
            raise CommandError(
                f"{self.path}: row {before + row + 1}, column {name!r} holds "
                f"{text[:40]!r}, which is not a number; correct it, or leave the column "
                f"out: --exclude {name!r}"
            )
        return values


def stripped(pl: Any, column: Any) -> Any:
    """Return text cells, a column or an expression, without blanks around; None where missing."""
    cells = column.cast(pl.String).str.strip_chars()
    return cells.replace(["", *MISSING], [None] * (1 + len(MISSING)))
