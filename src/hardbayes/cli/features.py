"""``hardbayes features``: overlapping features of the rows of a table."""

import argparse
from typing import Any

import numpy as np

from hardbayes.cli import options as shared
from hardbayes.cli.messages import about_rows, predict_or_save, say, where_files_lie
from hardbayes.cli.results import (
    RowResults,
    check_outputs,
    check_picture,
    name_columns,
    write_figure,
    write_row_results,
)
from hardbayes.cli.rows import Rows, read_rows
from hardbayes.cli.terminal import computed, rounded, shown_name
from hardbayes.core.loop import counted

MAX_COLUMNS = 4


def add_parser(commands: Any) -> None:
    """Add ``features`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "features",
        help="find overlapping features of the rows of a table",
        description="Explain each row as a sum of features, of which it has any number; how many "
        "features there are is found.",
    )
    shared.add_table(parser)
    shared.add_search(parser, about="features")
    shared.add_results(parser, "the features of each row", centers="what each feature adds")
    parser.add_argument(
        "--plot", metavar="PICTURE", help="draw features and some rows (.png, .pdf or .svg)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, fit, write, tell."""
    check_outputs(options, "output", "centers", "report", "save", "plot")
    if options.plot is not None:
        check_picture(options.plot)
    # Features add up, so that a shift of the rows would change what they are.
    rows = read_rows(options, centred=False)
    model, warned = computed(rows.table.path, lambda: fitted(options, rows), rows.cell)
    name_columns(model, rows)
    components = rows.preparation.in_own_units(model.components_)
    columns = [rows.in_table(column) for column in model.membership_.T.astype(np.int8)]
    n_rows = rows.X.shape[0] if rows.kept is None else len(rows.kept)
    if options.plot is not None:
        draw(options, model, rows)
    values = {f"feature_{k}": column for k, column in enumerate(columns)}
    write_row_results(
        options,
        model,
        rows,
        RowResults(values, "feature", model.membership_.sum(axis=0), rows.names, components),
        {
            "n_features": int(model.n_components_),
            "notes": rows.notes + warned,
            "components": components.tolist(),
            "membership": np.array(columns).T.tolist() if columns else [[]] * n_rows,
        },
    )
    say(
        "",
        *about_rows(rows),
        f"Found {counted(model.n_components_, 'feature')}, at a penalty of "
        f"{rounded(model.component_penalty_)} each.",
        *(f"Note: {line}" for line in warned),
        "",
        *feature_lines(model, components, rows.names),
        "",
        *where_files_lie(options, "features"),
        predict_or_save(options),
    )


def fitted(options: argparse.Namespace, rows: Rows) -> Any:
    """Return the fitted model."""
    from hardbayes import BPMeans, KFeatures

    given = {"search": options.search, "random_state": options.seed}
    model: Any
    if options.k is not None:
        model = KFeatures(options.k, **given)
    else:
        model = BPMeans(options.penalty, **given)
    return model.fit(rows.X, sample_weight=rows.weights)


def draw(options: argparse.Namespace, model: Any, rows: Rows) -> None:
    """Write the picture of the features."""
    from hardbayes.plot import ComponentsDisplay

    shape = getattr(rows.table, "shape", None)
    if shape is not None and shape[0] * shape[1] != rows.X.shape[1]:
        shape = None  # some pixels are left out
    display, _ = computed(
        rows.table.path,
        lambda: ComponentsDisplay.from_estimator(model, rows.X, image_shape=shape),
    )
    write_figure(display.figure_, options.plot)


def feature_lines(model: Any, components: Any, names: list[str]) -> list[str]:
    """Return a table of the features as lines of text."""
    n = len(model.membership_)
    lines = ["feature     rows        what it adds"]
    for k, component in enumerate(components):
        size = int(model.membership_[:, k].sum())
        order = np.argsort(-np.abs(component), kind="stable")[:MAX_COLUMNS]
        adds = ", ".join(f"{shown_name(names[j], 24)} {rounded(component[j])}" for j in order)
        lines.append(f"{k:7d} {size:8,d} {100 * size / n:5.1f} %  {adds}")
    return lines
