"""``cluster`` and ``predict`` for tables with categories: what columns are taken for, and words."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.messages import other_warnings, predict_or_save, say, typed, where_files_lie
from hardbayes.cli.preparation import is_missing
from hardbayes.cli.results import (
    csv_bytes,
    json_bytes,
    save_values,
    with_rows,
    write_centres,
    write_report,
    write_result,
)
from hardbayes.cli.rows import Roles, check_column, choose_columns, names_rows, weights_of
from hardbayes.cli.tables import Table, import_polars
from hardbayes.cli.terminal import CommandError, computed, listed, rounded, shown_name, working
from hardbayes.core.loop import counted

MAX_CLUSTERS = 20  # that are described


class MixedRows(NamedTuple):
    """A table with categories."""

    frame: Any  # of polars
    weights: np.ndarray | None
    ids: list[str | None] | None
    notes: list[str]


def said_kinds(text: str) -> dict[str, str]:
    """Return what ``--as`` says of columns: COLUMN=KIND, joined by commas."""
    found = {}
    for part in text.split(","):
        name, equals, kind = part.rpartition("=")
        if not equals or not name.strip():
            raise argparse.ArgumentTypeError(
                f"must be COLUMN=KIND, joined by commas, such as stars=ordered; not {part[:40]!r}"
            )
        found[name.strip()] = kind.strip()
    return found


def is_mixed(options: argparse.Namespace, table: Table) -> bool:
    """Whether a table is clustered as one with categories: it has some, or the options say so."""
    if options.divergence == "mixed" or options.said:
        return True
    plain = (
        options.model == "means"
        and options.divergence == "squared_euclidean"
        and options.search == "split-merge"
        and not options.encode
        and options.standardize is None
    )
    return plain and bool(categories_of(options, table))


def categories_of(options: argparse.Namespace, table: Table) -> list[str]:
    """Return the columns of text and of truth values that are categories."""
    kinds = table.kinds
    if not {"text", "boolean"} & set(kinds.values()):
        return []
    from hardbayes.mixed.coding import MAX_LEVELS, NAMES_LEVELS, NAMES_SHARE

    chosen = choose_columns(table, options.columns, options.exclude, True, _roles(options))
    text = [name for name in chosen.encoded if kinds[name] in ("text", "boolean")]
    texts = table.read([], text).texts if text else {}
    found = []
    for name in text:
        cells = [cell.strip() for cell in texts[name] if cell and not is_missing(cell)]
        n_levels = len(set(cells))
        few = n_levels <= max(NAMES_SHARE * len(texts[name]), NAMES_LEVELS)
        if 2 <= n_levels <= MAX_LEVELS and few:
            found.append(name)
    return found


def _roles(options: argparse.Namespace) -> Roles:
    return Roles(options.id_column, options.weight_column, None)


def read_mixed(options: argparse.Namespace, table: Table) -> MixedRows:
    """Read the columns of a table as they are."""
    roles = _roles(options)
    chosen = choose_columns(table, options.columns, options.exclude, True, roles)
    weight = [] if roles.weight is None else [roles.weight]
    ids = [] if roles.id is None else [roles.id]
    with working(f"reading {table.path}"):
        cells = table.read(chosen.numbers + weight, [*chosen.encoded, *ids])
    numbers, weights, notes = np.asarray(cells.numbers), None, list(chosen.notes)
    if weight:
        numbers, weights = numbers[:, :-1], weights_of(table, roles.weight, numbers[:, -1])
    naming = []
    if options.columns is None:
        naming = [
            name
            for j, name in enumerate(chosen.numbers)
            if name not in options.said and names_rows(name, numbers[:, j])
        ]
    if naming:
        notes.append(f"Left out (names or counts the rows): {listed(naming)}. To use: --columns.")
    columns: dict[str, Any] = {}
    for name in table.names:
        if name in chosen.encoded:
            columns[name] = _texts(cells.texts[name])
        elif name in chosen.numbers and name not in naming:
            columns[name] = numbers[:, chosen.numbers.index(name)]
    return MixedRows(
        import_polars(table.path).DataFrame(columns), weights,
        cells.texts[roles.id] if roles.id is not None else table.row_ids, notes,
    )  # fmt: skip


def _texts(cells: list[str | None]) -> list[str | None]:
    return [None if cell is None or is_missing(cell) else cell.strip() for cell in cells]


def run_mixed(options: argparse.Namespace, table: Table) -> None:
    """Read, fit, write, tell."""
    for name in options.said:
        check_column(table, name)
    rows = read_mixed(options, table)
    model, warned = computed(table.path, lambda: fit_mixed(options, rows))
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
    described = model.set_output(transform="default").summary(rows.frame)
    notes = [*rows.notes, *taken_lines(model)]
    if options.json:
        found = {
            "file": str(table.path),
            "columns": model.center_names_,
            "taken_as": model.column_kinds_,
            "n_rows": len(rows.frame),
            "objective": float(model.objective_),
            "converged": bool(model.converged_),
            "status": model.status_,
            "n_clusters": int(model.n_clusters_),
            "notes": notes + warned,
            "cluster_penalty": float(model.cluster_penalty_),
            "clusters": [
                {"cluster": k, "rows": int(sizes[k]), "center": centre, "apart": apart}
                for k, (centre, apart) in enumerate(
                    zip(model.cluster_centers_.tolist(), described["apart"], strict=True)
                )
            ],
            "ids": rows.ids,
            "labels": model.labels_.tolist(),
        }
        content = json_bytes(found)
    else:
        labels = {"cluster": model.labels_.tolist()}
        content = csv_bytes(with_rows(options, table, rows.ids, labels), options.output)
    write_centres(options, "cluster", sizes, model.center_names_, model.cluster_centers_)
    ids: list[Any] = rows.ids or [*range(1, len(rows.frame) + 1)]
    write_report(options, model, rows.frame, row_names=ids, sample_weight=rows.weights)
    if options.save is not None:
        save_values(options, model, None)
    write_result(options, content)
    n, d = rows.frame.shape
    say(
        "",
        f"{table.path}: {counted(n, 'row')}, {counted(d, 'column')}",
        *notes,
        "",
        *why_so_many(options, model),
        *other_warnings(model, warned),
        *(["", *cluster_lines(sizes, described["apart"])] if model.n_clusters_ > 1 else []),
        "",
        *where_files_lie(options, "labels"),
        predict_or_save(options),
    )


def fit_mixed(options: argparse.Namespace, rows: MixedRows) -> Any:
    """Return the fitted model."""
    from hardbayes import MixedDPMeans

    model = MixedDPMeans(
        options.penalty, n_clusters=options.k, columns=options.said,
        random_state=options.seed,
    )  # fmt: skip
    return model.fit(rows.frame, sample_weight=rows.weights)


def taken_lines(model: Any) -> list[str]:
    """Return what columns were taken for, and how to overrule it."""
    kinds: dict[str, list[str]] = {}
    for name, kind in model.column_kinds_.items():
        kinds.setdefault(kind, []).append(name)
    words = {
        "number": "numbers", "count": "counts", "ordered": "ordered", "date": "dates",
        "yes/no": "yes or no", "category": "categories",
    }  # fmt: skip
    taken = [f"{words[kind]}: {listed(kinds[kind])}" for kind in words if kind in kinds]
    lines = [f"Taken as {'; '.join(taken)}. To overrule: --as COLUMN=KIND."] if taken else []
    for kind, names in kinds.items():
        if kind not in words:
            why = kind.partition(": ")[2]
            lines.append(f"Left out ({shown_name(why, 60)}): {listed(names)}.")
    return lines


def why_so_many(options: argparse.Namespace, model: Any) -> list[str]:
    """Return the number of clusters, and why; with one, which number came nearest."""
    k = model.n_clusters_
    if options.k is not None:
        why = "as --k says" if k == options.k else "the most that were found"
        return [f"{counted(k, 'cluster')}, {why}."]
    head = f"Found {counted(k, 'cluster')}, at a penalty of {rounded(model.cluster_penalty_)} each."
    choice = getattr(model, "penalty_choice_", None)
    if choice is None or not len(choice["n_clusters"]):
        return [head]
    gaps = choice["evidence"] - choice["reference"]
    at = int(choice["chosen"].argmax() if choice["chosen"].any() else gaps.argmax())
    amounts = (
        f"{choice['evidence'][at]:.2f} nats a row, against {choice['reference'][at]:.2f} in tables "
        "with the same columns and dependences, but no clusters"
    )
    if k > 1:
        return [head, f"Why {k}: their evidence is {amounts}."]
    nearest = int(choice["n_clusters"][at])
    why = "Why 1: no number has more evidence than without clusters"
    _, found, associated = model.status_.partition(" Columns are associated:")
    return [
        head,
        f"{why}. Nearest came {nearest}: {amounts}.",
        *([f"Columns are associated:{associated}"] if found else []),
        f"To use {nearest} clusters: {typed(options)} --k {nearest}",
    ]


def cluster_lines(sizes: np.ndarray, apart: Any) -> list[str]:
    """Return a table of the clusters as lines of text."""
    lines = ["cluster     rows        what sets it apart (all rows)"]
    for k, size in enumerate(sizes[:MAX_CLUSTERS].tolist()):
        lines.append(f"{k:7d} {size:8,d} {100 * size / sizes.sum():5.1f} %  {apart[k]}".rstrip())
    if len(sizes) > MAX_CLUSTERS:
        lines.append(f"    ... and {len(sizes) - MAX_CLUSTERS} smaller ones")
    return lines


def mixed_frame(table: Table, model: Any, name: str) -> Any:
    """Return the columns of a new table as a model of mixed tables had them."""
    absent = [column for column in model.feature_names_in_ if column not in set(table.names)]
    if absent:
        raise CommandError(
            f"{table.path}: the model {name} needs columns that are not there: {listed(absent)}; "
            f"its columns are {listed(table.names)}"
        )
    wanted = [str(column) for column in model.feature_names_in_]
    kinds = model.column_kinds_
    as_text = [
        column
        for column in wanted
        if table.kinds[column] not in ("number", "empty") or kinds[column] in ("category", "yes/no")
    ]
    numbers = [column for column in wanted if column not in as_text]
    cells = table.read(numbers, as_text)
    columns = dict(zip(numbers, np.asarray(cells.numbers).T, strict=True))
    texts = {column: _texts(cells.texts[column]) for column in as_text}
    return import_polars(table.path).DataFrame(
        {column: texts[column] if column in texts else columns[column] for column in wanted},
        strict=False,
    )
