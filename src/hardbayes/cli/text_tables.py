"""CSV and TSV files, read block by block into one array.

First what a file looks like: checked bytes, its separator, whether it has a header.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hardbayes.cli.notations import MOSTLY_NUMBERS, Notation, notation_of, sentences_on
from hardbayes.cli.tables import Cells, Table, import_polars, new_matrix, stripped
from hardbayes.cli.terminal import CommandError, cannot_read, one_line
from hardbayes.core.row_sources import is_number

BLOCK_BYTES = 1 << 24
HEAD_BYTES = 1 << 20
MAX_COLUMNS = 100_000
SEPARATORS = (",", "\t", ";", "|")
_DECIMAL_COMMA = re.compile(rb"(?:^|;)\s*[+-]?\d+,\d+\s*(?:;|\r?\n|$)")

_BLANK_LINE = re.compile(rb"^[ \t]*\r?\n", re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """What is needed to read the rows of a text file."""

    path: Path
    separator: str
    decimal_comma: bool
    names: list[str]
    has_header: bool
    start: int  # byte at which the rows begin
    first_line: int  # line of the first row, counted from 1
    n_lines: int  # in the whole file

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[bytes, int]]:
        """Yield whole rows as bytes, and the line on which they begin."""
        line = self.first_line
        with open_binary(self.path) as file:
            file.seek(self.start)
            rest = b""
            while chunk := file.read(block_bytes):
                chunk = rest + chunk
                end = _end_of_rows(chunk)
                if end:
                    yield chunk[:end], line
                    line += chunk.count(b"\n", 0, end)
                rest = chunk[end:]
            if rest.count(b'"') % 2:
                raise CommandError(
                    f"{self.path}: a quotation mark opened in line {line} or later is never "
                    "closed; close it"
                )
            if rest:
                yield rest + b"\n", line

    def is_even(self, block: bytes) -> bool:
        """Whether a block has as many separators as its lines need: a quick check."""
        needed = block.count(b"\n") * (len(self.names) - 1)
        return block.count(self.separator.encode()) == needed

    def ragged(self, block: bytes, line: int) -> str | None:
        """Return the sentence on the first row with too few or too many cells; None without."""
        text = io.StringIO(block.decode(), newline="")
        for cells in (reader := csv.reader(text, delimiter=self.separator)):
            is_blank = len(cells) < 2 and not "".join(cells).strip()
            if len(cells) != len(self.names) and not is_blank:
                found = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
                header = "the header" if self.has_header else "the first row"
                return (
                    f"line {line + reader.line_num - 1} has {found} and {header} has "
                    f"{len(self.names)}; correct it, or quote cells that hold {self.separator!r}"
                )
        return None


def text_layout(path: Path, *, header: bool | None = None) -> Layout:
    """Check the bytes of a text table and find out how it is written.

    ``header=None``: the first line is a header unless all its cells are numbers.
    """
    n_lines = _checked_lines(path)
    with open_binary(path) as file:
        head = file.read(HEAD_BYTES)
    bom = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    first_end = _end_of_first_row(head, bom)
    first = head[bom:first_end].decode(errors="replace")
    separator = "\t" if path.suffix.lower() in (".tsv", ".tab") else _separator(first)
    if first.count(separator) >= MAX_COLUMNS:
        raise CommandError(
            f"{path}: it has more than {MAX_COLUMNS:,} columns, the most for a table in text; "
            "store the numbers as .npy, or as a sparse matrix in .npz"
        )
    cells = next(csv.reader([first], delimiter=separator, strict=False), [])
    rows = head[first_end:]
    decimal_comma = separator == ";" and _DECIMAL_COMMA.search(rows) is not None
    if not any(cell.strip() for cell in cells):
        raise cannot_read(path, "its first line is empty; begin with the names of the columns")
    if header is None:
        header = not all(is_number(cell) for cell in cells)
    names = unique_names(cells) if header else [f"column_{i + 1}" for i in range(len(cells))]
    start = first_end if header else bom
    if header and n_lines <= first.count("\n") and not rows.strip():
        raise cannot_read(path, "it has a header and no rows; add rows")
    lines_of_header = head[bom:first_end].count(b"\n") if header else 0
    return Layout(
        path, separator, decimal_comma, names, header, start, 1 + lines_of_header, n_lines
    )


def open_binary(path: Path) -> io.BufferedReader:
    """Open a file, or raise a CommandError with the reason."""
    try:
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "not a regular file"
            raise cannot_read(path, f"it is {kind}; name a file")
        return path.open("rb")
    except FileNotFoundError as error:
        raise cannot_read(path, "no such file or directory; check the path") from error
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from error


def unique_names(cells: list[str]) -> list[str]:
    """Return names without surrounding blanks, empty and repeated ones numbered."""
    names: list[str] = []
    seen: set[str] = set()
    for number, cell in enumerate(cells, start=1):
        name = stem = cell.strip() or f"column_{number}"
        again = 2
        while name in seen:
            name, again = f"{stem}_{again}", again + 1
        seen.add(name)
        names.append(name)
    return names


def _checked_lines(path: Path) -> int:
    """Return the number of lines; raise at NUL bytes and at text that is not UTF-8."""
    lines, last = 0, b"\n"
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_binary(path) as file:
        while block := file.read(BLOCK_BYTES):
            if lines == 0 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise cannot_read(path, "it is UTF-16; save it as UTF-8 (CSV UTF-8 in Excel)")
            nul = block.find(b"\0")
            if nul >= 0:
                line = 1 + lines + block.count(b"\n", 0, nul)
                raise cannot_read(
                    path, f"line {line} holds a NUL byte, so it is no text; save it as CSV in UTF-8"
                )
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                line = 1 + lines + block.count(b"\n", 0, max(error.start, 0))
                raise cannot_read(
                    path, f"line {line} is not UTF-8; save it as UTF-8 (CSV UTF-8 in Excel)"
                ) from error
            lines += block.count(b"\n")
            last = block[-1:]
    if lines == 0 and last == b"\n":
        raise cannot_read(path, "it is empty; name a table with a header and rows")
    if lines == 0 and last == b"\r":
        raise cannot_read(path, "its lines end as on old Macintoshes (CR); save it as CSV in UTF-8")
    return lines + (last != b"\n")


def _end_of_rows(chunk: bytes) -> int:
    """Return the end of the last whole row: a line break outside quotation marks; 0 if none."""
    end = chunk.rfind(b"\n") + 1
    while end and chunk.count(b'"', 0, end) % 2:
        end = chunk.rfind(b"\n", 0, end - 1) + 1
    return end


def _end_of_first_row(head: bytes, begin: int) -> int:
    end = head.find(b"\n", begin) + 1
    while end and head.count(b'"', begin, end) % 2:
        end = head.find(b"\n", end) + 1
    return end or len(head)


def _separator(first: str) -> str:
    """Return the separator that the first line has most often outside quotation marks."""
    bare = re.sub(r'"[^"]*"', "", first)
    counts = [bare.count(separator) for separator in SEPARATORS]
    return SEPARATORS[counts.index(max(counts))]


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
        kinds, notations = self._columns
        self.notes += sentences_on(notations)
        return kinds

    @cached_property
    def _columns(self) -> tuple[dict[str, str], dict[str, Notation]]:
        """What the columns hold, and how some write numbers."""
        pl = self._pl
        block, line = next(self.layout.blocks(HEAD_BYTES), (b"", self.layout.first_line))
        if not block.strip():
            raise CommandError(f"cannot read {str(self.path)!r}: it has no rows; add rows")
        cells = self._frame(block, line, dict.fromkeys(self.names, pl.String))
        cells = cells.select(stripped(pl, pl.all()))
        n_rows = len(cells)
        n_missing = cells.null_count().row(0)
        n_other = cells.select(self._as_numbers(pl.all())).null_count().row(0)
        kinds, notations = {}, {}
        for name, missing, other in zip(self.names, n_missing, n_other, strict=True):
            present, bad = n_rows - missing, other - missing
            if not present:
                kinds[name] = "empty"
            elif bad <= (1 - MOSTLY_NUMBERS) * present:
                kinds[name] = "number"  # `read` names cells that are none
            elif cells[name].str.to_lowercase().is_in(["true", "false"]).sum() == present:
                kinds[name] = "boolean"
            elif (notation := notation_of(pl, cells[name].drop_nulls())) is not None:
                kinds[name], notations[name] = "number", notation
            else:
                kinds[name] = "text"
        return kinds, notations

    @property
    def _notations(self) -> dict[str, Notation]:
        return self._columns[1]

    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return columns of numbers as an array, NaN where missing, and of text as lists."""
        matrix = new_matrix(self.layout.n_lines, len(numbers))
        found: dict[str, list[str | None]] = {name: [] for name in texts}
        n_rows = 0
        for part in self.parts(numbers, texts):
            m = len(part.numbers)
            matrix[n_rows : n_rows + m] = part.numbers
            for name in texts:
                found[name] += part.texts[name]
            n_rows += m
        return Cells(matrix[:n_rows], found)

    def parts(self, numbers: list[str], texts: Iterable[str] = ()) -> Iterator[Cells]:
        """Yield the same, a block of rows at a time."""
        pl = self._pl
        plain = [name for name in numbers if self.kinds[name] != "boolean"]
        fast = {name: pl.Float64 for name in plain if name not in self._notations}
        fast |= {name: pl.String for name in (*numbers, *texts) if name not in fast}
        n_rows = 0
        for block, line in self.layout.blocks(BLOCK_BYTES):
            frame = self._frame(block, line, fast)
            matrix = np.empty((len(frame), 0))
            if numbers:
                schema = frame.schema
                text = [name for name in numbers if schema[name] == pl.String]
                checked = [self._numbers_or_error(frame[name], name, n_rows) for name in text]
                matrix = frame.with_columns(checked).select(numbers).to_numpy()
            yield Cells(matrix, {name: frame[name].cast(pl.String).to_list() for name in texts})
            n_rows += len(frame)
        self.n_rows = n_rows

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
        elif name in self._notations:
            values = self._notations[name].read(cells)
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
        return values.alias(name)
