"""What the commands say after their work: names of rows, files, and what to type next."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from hardbayes.cli.rows import Rows
from hardbayes.cli.tables import Table
from hardbayes.cli.text_layout import unique_names
from hardbayes.cli.wording import counted


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


def centre_names(rows: Rows, d: int) -> list[str]:
    """Return the names of the columns of centres."""
    names = rows.names
    return names if len(names) == d else [f"x{j}" for j in range(d)]


def about_rows(rows: Rows, of: str = "") -> list[str]:
    """Return the lines that tell what was read; ``of``: more about the number of rows."""
    n, d = rows.X.shape
    return [f"{rows.table.path}: {counted(n, 'row')}{of}, {counted(d, 'column')}", *rows.notes, ""]


def other_warnings(model: Any, warned: list[str]) -> list[str]:
    """Return warnings as lines, but for the one that `why_so_many` puts into other words."""
    is_told = hasattr(model, "penalty_choice_") and model.n_clusters_ == 1
    return [f"Note: {line}" for line in warned if not (is_told and line == model.status_)]


def where_files_lie(options: argparse.Namespace, what: str) -> list[str]:
    """Return the files that were written."""
    names = {"output": what, "centers": "centres", "plot": "picture", "report": "report"}
    names["save"] = "model"
    return [
        f"{word.capitalize()}: {getattr(options, name)}"
        for name, word in names.items()
        if getattr(options, name, None) is not None
    ]


def typed(options: argparse.Namespace) -> str:
    """Return the command as it was typed."""
    return f"hardbayes {shlex.join(options.typed)}"


def table_arguments(options: argparse.Namespace) -> str:
    """Return the table and what was said about its columns, for another command."""
    words = [options.table]
    for name in ("columns", "exclude"):
        if getattr(options, name):
            words += [f"--{name}", *getattr(options, name)]
    for name in ("id_column", "weight_column"):
        if getattr(options, name) is not None:
            words += [f"--{name.replace('_', '-')}", getattr(options, name)]
    if options.encode:
        words.append("--encode")
    if options.missing != "refuse":
        words += ["--missing", options.missing]
    for name in ("standardize", "header"):
        if getattr(options, name) is not None:
            words.append(f"--{name}" if getattr(options, name) else f"--no-{name}")
    if options.divergence != "squared_euclidean":
        words += ["--divergence", options.divergence]
    return shlex.join(words)


def same_command(options: argparse.Namespace, model: str) -> str:
    """Return the command with files for what it found."""
    output = "" if options.output is not None else " -o labels.csv"
    return f"Next: {typed(options)}{output} --save {shlex.quote(model)}"


def predict_or_save(options: argparse.Namespace, what: str = "NEW_TABLE") -> str:
    """Return what to type next: apply the model that was saved, or save it."""
    if options.save is not None:
        return f"Next: hardbayes predict {shlex.quote(options.save)} {what}"
    return same_command(options, model_name(options.table))


def model_name(table: str) -> str:
    """Return a name for the model of a table."""
    return f"{Path(table).stem or 'table'}.model"
