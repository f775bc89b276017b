"""The files that commands write: results as CSV or JSON, reports, models, pictures.

Whether they can be written is checked before the work, and a file is written wholly or not at all.
"""

import argparse
import csv
import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.messages import Profiles, profile
from hardbayes.cli.readers import ArrayTable
from hardbayes.cli.rows import Rows
from hardbayes.cli.tables import Table
from hardbayes.cli.terminal import CommandError, cannot_write, computed, inputs_of
from hardbayes.cli.text_tables import unique_names
from hardbayes.core.html import harmless
from hardbayes.persistence.atomic import atomic_write

_NO_TEXT = (".parquet", ".pq", ".npy", ".npz", ".xlsx", ".xls", ".gz", ".zip")
DIGITS = 4  # of a certainty: there are some thousand draws
ENDINGS = (".png", ".pdf", ".svg")
ROWS_AT_ONCE = 1 << 16  # of a result that is written in parts


def report_rows(
    options: argparse.Namespace, model: Any, rows: Rows, certainty: Any = False
) -> None:
    """Write the report of a model of rows, in the units of the table."""
    if options.report is None:
        return
    scaled = rows.preparation.scale is not None
    ids = np.arange(1, rows.table.n_rows + 1) if rows.ids is None else np.array(rows.ids, object)
    shape = getattr(rows.table, "shape", None)
    write_report(
        options,
        model,
        rows.X,
        values=rows.preparation.in_own_units(rows.X) if scaled else None,
        feature_names=rows.names,
        row_names=(ids if rows.kept is None else ids[rows.kept]).tolist(),
        groups=rows.groups,
        sample_weight=rows.weights,
        image_shape=shape if shape and np.prod(shape) == rows.X.shape[1] else None,
        certainty=certainty,
    )


def write_report(options: argparse.Namespace, model: Any, X: Any, **described: Any) -> None:
    """Write the report of any model, if the option names a file."""
    if options.report is None:
        return
    from hardbayes import report

    inputs = inputs_of(options)
    title = ", ".join(Path(each).name for each in inputs)
    try:
        computed(
            ", ".join(inputs),
            lambda: report(
                model, X, options.report, title=title, overwrite=options.overwrite, **described
            ),
        )
    except OSError as error:
        raise cannot_write(options.report, error) from error


def check_writable(path: Path) -> None:
    """Raise a CommandError if a file cannot be written at `path`."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    if mode is not None and stat.S_ISDIR(mode):
        raise cannot_write(path, "it is a folder; name a file in it")
    # Replacing a device or a pipe by a file would destroy it.
    if mode is not None and not stat.S_ISREG(mode):
        raise cannot_write(path, "it is not a regular file; name another")
    if not path.parent.is_dir():
        raise cannot_write(path, f"there is no folder {str(path.parent)!r}; make it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise cannot_write(path, f"no permission to write in {str(path.parent)!r}; name another")


def write_atomically(path: Path, content: bytes) -> None:
    """Write all of `content` to `path`, or leave `path` as it was."""
    check_writable(path)
    try:
        with atomic_write(os.fspath(path), overwrite=True) as file:
            file.write(content)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def check_outputs(options: argparse.Namespace, *names: str) -> None:
    """Raise a CommandError if one of the files that options name cannot be written."""
    inputs = [*inputs_of(options), getattr(options, "model", None)]
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


def write_numbers(options: argparse.Namespace, name: str, numbers: Any) -> None:
    """Write the number of each row and one found for it, some rows at a time."""
    separator = "\t" if _is_tabbed(options.output) else ","

    def parts() -> Iterator[bytes]:
        yield f"row{separator}{name}\n".encode()
        for start in range(0, len(numbers), ROWS_AT_ONCE):
            some = numbers[start : start + ROWS_AT_ONCE].tolist()
            lines = [f"{row}{separator}{value}\n" for row, value in enumerate(some, start + 1)]
            yield "".join(lines).encode()

    if options.output is None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(parts())
        sys.stdout.buffer.flush()
        return
    path = Path(options.output)
    check_writable(path)
    try:
        with atomic_write(os.fspath(path), overwrite=True) as file:
            file.writelines(parts())
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def _is_tabbed(output: str | None) -> bool:
    return output is not None and Path(output).suffix.lower() in (".tsv", ".tab")


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
    delimiter = "\t" if _is_tabbed(output) else ","
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow([harmless(name) for name in columns])
    safe = [
        [harmless(cell) if isinstance(cell, str) else cell for cell in column]
        for column in columns.values()
    ]
    writer.writerows(zip(*safe, strict=True))
    return text.getvalue().encode("utf-8", "backslashreplace")


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


class RowResults(NamedTuple):
    """Values for each row of a table, and clusters or features in its units."""

    columns: dict[str, list[Any]]  # by name, for the rows of the table
    what: str  # "cluster" or "feature"
    sizes: Any  # (k,): numbers of rows
    names: list[str]  # (d,): of the columns of the centres
    centres: Any  # (k, d)
    certainty: Any = False  # of the report


def write_clusters(
    options: argparse.Namespace,
    model: Any,
    rows: Rows,
    warned: list[str],
    as_json: dict[str, Any],
    sure: Any = None,
) -> Profiles:
    """Write what was found; return what sets clusters apart.

    ``sure``: the `Certainty` of the model, where it is wanted.
    """
    name_columns(model, rows)
    profiles = profile(rows.X, model.labels_, model.n_clusters_, rows.preparation)
    labels = rows.in_table(model.labels_)
    centres = rows.preparation.in_own_units(centres_of(model, rows))
    clusters = [
        {"cluster": k, "rows": int(profiles.sizes[k]), "center": centre.tolist()}
        for k, centre in enumerate(centres)
    ]
    columns = {"cluster": labels}
    about = {"n_clusters": int(model.n_clusters_), "notes": rows.notes + warned}
    every = {"clusters": clusters, "ids": rows.ids, "labels": labels}
    if sure is not None:
        columns["certainty"] = every["certainty"] = rows.in_table(sure.certainty.round(DIGITS))
        about["n_clusters_posterior"] = sure.n_clusters_posterior
        about["certainty_limits"] = sure.limits
    found = RowResults(columns, "cluster", profiles.sizes, rows.names, centres, sure or False)
    write_row_results(options, model, rows, found, about | as_json | every)
    return profiles


def centres_of(model: Any, rows: Rows) -> np.ndarray:
    """Return the centres of clusters (k, d); of clusters by a kernel the means of their rows."""
    if hasattr(model, "cluster_centers_"):
        return np.asarray(model.cluster_centers_)
    k, n = model.n_clusters_, len(model.labels_)
    weights = np.ones(n) if rows.weights is None else rows.weights
    member = np.zeros((k, n))
    member[model.labels_, np.arange(n)] = weights
    return np.asarray(member @ rows.X) / member.sum(axis=1, keepdims=True)


def write_row_results(
    options: argparse.Namespace,
    model: Any,
    rows: Rows,
    found: RowResults,
    as_json: dict[str, Any],
) -> None:
    """Write all files that the options name; the result itself last, where it may be printed."""
    if options.json:
        about = {
            "file": str(rows.table.path),
            "columns": found.names,
            "standardized": rows.preparation.scale is not None,
            "n_rows": int(rows.X.shape[0]),
            "objective": float(model.objective_),
            "converged": bool(model.converged_),
            "status": model.status_,
        }
        content = json_bytes(about | as_json)
    else:
        columns = with_rows(options, rows.table, rows.ids, found.columns)
        content = csv_bytes(columns, options.output)
    write_centres(options, found.what, found.sizes, found.names, found.centres)
    report_rows(options, model, rows, found.certainty)
    save_rows_model(options, model, rows)
    write_result(options, content)


def save_rows_model(options: argparse.Namespace, model: Any, rows: Rows) -> None:
    """Write the file of ``--save``, with the preparation unless the rows are as in the table."""
    if options.save is None:
        return
    preparation = rows.preparation
    plain = not preparation.levels and preparation.scale is None and preparation.fill is None
    if plain and preparation.missing == "refuse":
        save_values(options, model, None)
    else:
        save_values(options, model, preparation.to_values())


def name_columns(model: Any, rows: Rows) -> None:
    """Give a model the names of its columns, as a fit to a data frame would have.

    Not where it was fitted to a whole array, which has no names.
    """
    if not (isinstance(rows.table, ArrayTable) and len(rows.table.names) == rows.X.shape[1]):
        model.feature_names_in_ = np.array(rows.names, dtype=object)


def save_values(options: argparse.Namespace, model: Any, values: dict[str, Any] | None) -> None:
    """Write a model with the values that prepare new data for it."""
    from hardbayes.persistence.model import save_prepared

    try:
        save_prepared(model, options.save, values, overwrite=options.overwrite)
    except (OSError, ValueError) as error:
        raise cannot_write(Path(options.save), error) from error


def check_ending(name: Path | str) -> None:
    """Raise a CommandError unless the name of a picture tells its format."""
    if Path(name).suffix.lower() not in ENDINGS:
        raise cannot_write(name, f"a picture's name ends in {', '.join(ENDINGS)}")


def check_picture(name: str) -> None:
    """Raise a CommandError unless pictures of this kind can be drawn."""
    check_ending(name)
    from hardbayes.plot._drawing import check_matplotlib

    try:
        check_matplotlib("--plot")
    except ImportError as error:
        raise CommandError(str(error)) from error


def write_figure(figure: Any, name: Path | str) -> None:
    """Write a figure of matplotlib."""
    picture = io.BytesIO()
    figure.savefig(picture, format=Path(name).suffix[1:].lower(), dpi=150)
    write_atomically(Path(name), picture.getvalue())
