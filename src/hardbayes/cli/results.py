"""Results as CSV or JSON, to a file or to standard output."""

import argparse
import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hardbayes.cli.errors import CommandError, cannot_write
from hardbayes.cli.files import check_writable, write_atomically
from hardbayes.cli.tables import Table
from hardbayes.cli.text_layout import unique_names

_NO_TEXT = (".parquet", ".pq", ".npy", ".npz", ".xlsx", ".xls", ".gz", ".zip")
# A spreadsheet takes text that begins with these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def check_outputs(options: argparse.Namespace, *names: str) -> None:
    """Raise a CommandError if one of the files that options name cannot be written."""
    inputs = [getattr(options, name, None) for name in ("table", "model")]
    taken: set[str] = set()
    for name in names:
        value = getattr(options, name, None)
        if value is None:
            continue
        path = Path(value)
        check_writable(path)
        full = os.path.realpath(path)
        if full in {os.path.realpath(given) for given in inputs if given}:
            raise cannot_write(path, "it is what is read; name another file")
        if full in taken:
            raise cannot_write(path, "two options name it; name two files")
        if name in ("output", "centers") and path.suffix.lower() in _NO_TEXT:
            raise cannot_write(path, "results are text; end its name in .csv, .tsv or .json")
        if path.exists() and not options.overwrite:
            raise cannot_write(path, "it exists; add --overwrite to replace it, or name another")
        taken.add(full)


def write_result(options: argparse.Namespace, content: bytes) -> None:
    """Write to the file of ``-o``, or to standard output."""
    if options.output is not None:
        write_atomically(Path(options.output), content)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content)  # UTF-8, whatever the terminal has
    sys.stdout.buffer.flush()


def with_rows(
    options: argparse.Namespace, table: Table, ids: list[Any] | None, found: dict[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return columns of a result after those that tell the rows.

    These are the whole table with ``--append``, else the names of the rows, or their numbers
    counted from 1.
    """
    before: dict[str, list[Any]]
    n = len(ids) if ids is not None else table.n_rows
    if options.append:
        cells = table.read([], table.names)
        before = {name: _shown(cells.texts[name]) for name in table.names}
    elif ids is None:
        before = {"row": list(range(1, n + 1))}
    else:
        before = {options.id_column or "file": _shown(ids)}
    names = unique_names([*before, *found])
    return dict(zip(names, [*before.values(), *found.values()], strict=True))


def _shown(cells: list[Any]) -> list[Any]:
    return ["" if cell is None else cell for cell in cells]


def csv_bytes(columns: Mapping[str, Iterable[Any]], output: str | None) -> bytes:
    """Return columns as CSV, or as TSV where the file is one; text cannot act as a formula."""
    text = io.StringIO()
    tabs = output is not None and Path(output).suffix.lower() in (".tsv", ".tab")
    writer = csv.writer(text, delimiter="\t" if tabs else ",", lineterminator="\n")
    writer.writerow([harmless(name) for name in columns])
    safe = [
        [harmless(cell) if isinstance(cell, str) else cell for cell in column]
        for column in columns.values()
    ]
    writer.writerows(zip(*safe, strict=True))
    return text.getvalue().encode("utf-8", "backslashreplace")


def harmless(cell: str) -> str:
    """Return text that a spreadsheet shows as it is: in front of formulas goes an apostrophe."""
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell  # a number


def write_centres(
    options: argparse.Namespace, what: str, sizes: Any, names: list[str], centres: Any
) -> None:
    """Write the file of ``--centers``: a row for each cluster or feature."""
    if options.centers is None:
        return
    header = unique_names([what, "rows", *names])
    columns = [range(len(centres)), sizes.tolist(), *centres.T.tolist()]
    content = csv_bytes(dict(zip(header, columns, strict=True)), options.centers)
    write_atomically(Path(options.centers), content)


def json_bytes(found: dict[str, Any]) -> bytes:
    """Return a result as JSON, in which there are no infinite numbers."""
    try:
        text = json.dumps(found, allow_nan=False, ensure_ascii=True)
    except ValueError as error:
        raise CommandError(f"the result cannot be written as JSON: {error}") from error
    return text.encode() + b"\n"
