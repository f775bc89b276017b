"""``hardbayes predict``: a saved model applied to new rows, documents or vertices."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from hardbayes.cli import options as shared
from hardbayes.cli.by_block import holds_plain_numbers, may_not_fit, prepared
from hardbayes.cli.graph import links_of_new, read_edges
from hardbayes.cli.messages import say
from hardbayes.cli.mixed import mixed_frame
from hardbayes.cli.preparation import Preparation, assembled, complete, is_missing
from hardbayes.cli.readers import open_table
from hardbayes.cli.results import (
    check_outputs,
    csv_bytes,
    json_bytes,
    with_rows,
    write_numbers,
    write_result,
)
from hardbayes.cli.rows import check_column
from hardbayes.cli.tables import Table
from hardbayes.cli.terminal import CommandError, cannot_read, computed, listed
from hardbayes.cli.text_tables import DelimitedTable
from hardbayes.cli.topics import count_known_words, read_counts, read_texts, shares_bytes
from hardbayes.core.loop import counted
from hardbayes.core.row_blocks import row_blocks

Values = dict[str, Any]


def add_parser(commands: Any) -> None:
    """Add ``predict`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "predict",
        help="apply a saved model to a new table",
        description="Apply a model written by --save to new rows, documents or vertices. Columns "
        "are matched by name, and prepared as they were for the model.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file written by --save")
    parser.add_argument(
        "table", metavar="TABLE", help="a table, a corpus or an edge list, as the model had"
    )
    parser.add_argument("--id-column", metavar="COLUMN", help="names the rows in the result")
    parser.add_argument("--group-column", metavar="COLUMN", help="the groups, of `groups`")
    parser.add_argument("--text-column", metavar="COLUMN", help="the texts, of `topics`")
    parser.add_argument("--missing", choices=("refuse", "drop", "mean"), help="as for `cluster`")
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a text table holds names",
    )
    parser.add_argument(
        "--novelty",
        type=shared.share,
        metavar="SHARE",
        help="mark with -1 rows that lie farther out than all but this share of their cluster",
    )
    group = parser.add_argument_group("results")
    group.add_argument("-o", "--output", metavar="FILE", help="(default: standard output)")
    group.add_argument("--json", action="store_true", help="write the result as JSON")
    shared.add_append(group)
    shared.add_overwrite(group)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Load, read, predict, write, tell."""
    check_outputs(options, "output")
    model, values = load_model(options.model)
    kind = type(model).__name__
    if not hasattr(model, "n_features_in_"):
        raise CommandError(f"{options.model}: the model is not fitted; save it after a fit")
    if options.group_column is not None and kind != "HDPMeans":
        raise CommandError(f"--group-column is for models of `groups`; {options.model} is none")
    if options.append and kind in ("GraphDPMeans", "HDPTopics"):
        raise CommandError(f"--append is for models of tables; {options.model} is none")
    if kind == "GraphDPMeans":
        predict_vertices(options, model)
    elif kind == "HDPTopics":
        predict_documents(options, model, values)
    else:
        predict_rows(options, model, values, kind)


def load_model(name: str) -> tuple[Any, Values | None]:
    """Return a model and the values that prepare data for it, None for a plain table."""
    from hardbayes.persistence.model import load_prepared

    try:
        return load_prepared(name)
    except OSError as error:
        raise cannot_read(name, error) from error
    except ValueError as error:
        raise CommandError(str(error)[:1].lower() + str(error)[1:].rstrip(".")) from error


def table_preparation(name: str, model: Any, values: Values | None) -> Preparation | None:
    """Return how tables are prepared for a model; None where columns count by their position."""
    if values is not None:
        try:
            return Preparation.from_values(values, model.n_features_in_)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise cannot_read(name, "its preparation of columns contradicts itself") from error
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else Preparation([str(name) for name in names], {})


def predict_vertices(options: argparse.Namespace, model: Any) -> None:
    """Write the clusters of new vertices."""
    names, links = links_of_new(model, read_edges(options.table), options.table)
    labels, warned = computed(
        options.table, lambda: model.predict(links, novelty=options.novelty is not None)
    )
    found = {"vertex": names, "cluster": labels.tolist()}
    write_result(options, json_bytes(found) if options.json else csv_bytes(found, options.output))
    tell(options, counted(len(labels), "vertex", "vertices"), labels, warned)


def predict_documents(options: argparse.Namespace, model: Any, values: Values | None) -> None:
    """Write the topics of new documents."""
    if Path(options.table).suffix.lower() == ".npz":
        corpus = read_counts(options.table, None)
    elif values is None or not isinstance(values.get("words"), list):
        raise CommandError(f"{options.model}: the model has no words; give counts in an .npz file")
    else:
        column = options.text_column or values.get("text_column")
        texts = read_texts(options.table, column, options.id_column)
        corpus, _ = computed(options.model, lambda: count_known_words(texts, values["words"]))
    shares, warned = computed(options.table, lambda: model.transform(corpus.counts))
    labels = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
    if options.json:
        found = {"documents": corpus.ids, "labels": labels.tolist(), "shares": shares.tolist()}
        write_result(options, json_bytes(found))
    else:
        write_result(options, shares_bytes(corpus.ids, labels, shares, options.output))
    tell(options, counted(len(labels), "document"), labels, [*corpus.notes, *warned])


def predict_rows(options: argparse.Namespace, model: Any, values: Values | None, kind: str) -> None:
    """Write the clusters or features of new rows."""
    table = open_table(options.table, options.header)
    if hasattr(model, "column_kinds_"):
        predict_mixed(options, table, model)
        return
    preparation = table_preparation(options.model, model, values)
    texts = [name for name in (options.id_column, options.group_column) if name is not None]
    for name in texts:
        check_column(table, name)
    preparation = preparation or Preparation(table.names, {})
    refuse_missing(options, table, preparation)
    if kind == "DPMeans" and goes_by_block(options, table, preparation):
        predict_by_block(options, table, model, preparation)
        return
    cells = table.read(preparation.columns, list(dict.fromkeys([*preparation.levels, *texts])))
    X = assembled(preparation, cells.numbers, cells.texts)
    notes = new_levels(preparation, cells.texts)
    missing = options.missing or preparation.missing
    X, kept, _, more = complete(table, X, preparation.names, missing, preparation.fill)
    X = preparation.scaled(X)
    arguments: dict[str, Any] = {}
    if options.group_column is not None:
        groups = cells.texts[options.group_column]
        arguments["groups"] = [g for i, g in enumerate(groups) if kept is None or kept[i]]
    features = kind in ("BPMeans", "KFeatures")
    if features:
        found, warned = computed(table.path, lambda: model.transform(X).astype(np.int8))
    else:
        if options.novelty is not None:
            arguments["novelty"] = options.novelty
        found, warned = computed(table.path, lambda: model.predict(X, **arguments))
    every = found
    if kept is not None:
        every = np.full((len(kept), *found.shape[1:]), None, dtype=object)
        every[kept] = found
    named = {"cluster": every.tolist()}
    if features:
        named = {f"feature_{k}": column.tolist() for k, column in enumerate(every.T)}
    ids = cells.texts[options.id_column] if options.id_column is not None else table.row_ids
    if options.json:
        key = "membership" if features else "labels"
        write_result(options, json_bytes({"ids": ids, key: every.tolist()}))
    else:
        write_result(options, csv_bytes(with_rows(options, table, ids, named), options.output))
    labels = None if features else found
    tell(options, counted(len(found), "row"), labels, [*notes, *more, *warned])


def goes_by_block(options: argparse.Namespace, table: Table, preparation: Preparation) -> bool:
    """Whether rows are read block by block: those of files of numbers that are used as they are."""
    asked = (options.id_column, options.group_column, options.json, options.append)
    missing = options.missing or preparation.missing
    plain = not preparation.levels and missing == "refuse" and not any(asked)
    if isinstance(table, DelimitedTable) and not may_not_fit(table):
        return False  # parsing takes longer than the rest, and is done once in memory
    return plain and holds_plain_numbers(table, preparation.columns)


def predict_by_block(
    options: argparse.Namespace, table: Table, model: Any, preparation: Preparation
) -> None:
    """Write the clusters of new rows, of which no more than a block is in memory."""
    blocks = row_blocks(lambda: prepared(table, preparation))
    novelty = False if options.novelty is None else options.novelty
    labels, warned = computed(table.path, lambda: model.predict(blocks, novelty=novelty))
    write_numbers(options, "cluster", labels)
    tell(options, counted(len(labels), "row"), labels, ["Read block by block.", *warned])


def predict_mixed(options: argparse.Namespace, table: Table, model: Any) -> None:
    """Write the clusters of new rows of a table with categories."""
    if options.id_column is not None:
        check_column(table, options.id_column)
    frame = mixed_frame(table, model, options.model)
    novelty = {} if options.novelty is None else {"novelty": options.novelty}
    labels, warned = computed(table.path, lambda: model.predict(frame, **novelty))
    ids = table.row_ids
    if options.id_column is not None:
        ids = table.read([], [options.id_column]).texts[options.id_column]
    if options.json:
        write_result(options, json_bytes({"ids": ids, "labels": labels.tolist()}))
    else:
        columns = with_rows(options, table, ids, {"cluster": labels.tolist()})
        write_result(options, csv_bytes(columns, options.output))
    tell(options, counted(len(labels), "row"), labels, warned)


def refuse_missing(options: argparse.Namespace, table: Table, preparation: Preparation) -> None:
    """Raise a CommandError if a table lacks columns that the model needs."""
    needed = [*preparation.columns, *preparation.levels]
    absent = [name for name in needed if name not in set(table.names)]
    if absent:
        raise CommandError(
            f"{table.path}: the model {options.model} needs columns that are not there: "
            f"{listed(absent)}; its columns are {listed(table.names)}"
        )
    text = [name for name in preparation.columns if table.kinds[name] == "text"]
    if text:
        raise CommandError(
            f"{table.path}: column {text[0]!r} holds text where the model {options.model} had "
            "numbers; correct it"
        )


def new_levels(preparation: Preparation, texts: dict[str, list[str | None]]) -> list[str]:
    """Return notes on values of encoded columns that the model has not seen."""
    notes = []
    for name, levels in preparation.levels.items():
        new = sorted({cell for cell in texts[name] if cell and not is_missing(cell)} - set(levels))
        if new:
            notes.append(f"Unknown values of {name}, taken as none of the known: {listed(new)}.")
    return notes


def tell(options: argparse.Namespace, what: str, labels: Any, notes: list[str]) -> None:
    """Say what was done."""
    say("", f"{options.table}: {what} by the model {options.model}", *notes)
    if labels is not None and len(labels):
        numbers, sizes = np.unique(labels, return_counts=True)
        counts = [f"{size:,} in {number}" for number, size in zip(numbers, sizes, strict=True)]
        n_outliers = int((labels == -1).sum())
        if n_outliers:
            counts[0] = f"{n_outliers:,} in none (-1)"
        say(f"Sizes: {', '.join(counts[:20])}{' ...' if len(counts) > 20 else ''}")
    if options.output is not None:
        say(f"Result: {options.output}")
