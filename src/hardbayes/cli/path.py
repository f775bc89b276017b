"""``hardbayes path``: how many clusters at which penalty."""

import argparse
import math
from typing import Any

from hardbayes.cli import options as shared
from hardbayes.cli.messages import about_rows, say, table_arguments, typed, where_files_lie
from hardbayes.cli.results import (
    check_outputs,
    check_picture,
    csv_bytes,
    json_bytes,
    write_figure,
    write_result,
)
from hardbayes.cli.rows import read_rows
from hardbayes.cli.terminal import computed, rounded

MOST_SHOWN = 12


def add_parser(commands: Any) -> None:
    """Add ``path`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "path",
        help="show how many clusters a table has at which penalty",
        description="Solve at all penalties, print the numbers of clusters that are best at some "
        "penalty, and draw them. A number that the data really have is best over a wide range.",
    )
    shared.add_table(parser)
    shared.add_divergence(parser)
    shared.add_seed(parser)
    group = parser.add_argument_group("results")
    group.add_argument("-o", "--output", metavar="FILE", help="where to write the plateaus")
    group.add_argument("--json", action="store_true", help="write them as JSON")
    group.add_argument("--plot", metavar="PICTURE", help="draw them (.png, .pdf or .svg)")
    shared.add_overwrite(group)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, trace, write, tell."""
    check_outputs(options, "output", "plot")
    if options.plot is not None:
        check_picture(options.plot)
    rows = read_rows(options, scalable=options.divergence == "squared_euclidean")
    path, warned = computed(rows.table.path, lambda: traced(options, rows), rows.cell)
    plateaus = sorted(path.plateaus, key=lambda plateau: plateau.k)
    best = path.suggest()
    if options.plot is not None:
        write_figure(path.plot().figure_, options.plot)
    columns: dict[str, list[Any]] = {
        "n_clusters": [p.k for p in plateaus],
        "penalty": [float(p.middle) for p in plateaus],
        "lowest": [float(p.low) for p in plateaus],
        "highest": [float(p.high) for p in plateaus],
        "suggested": [int(p.low <= best <= p.high) for p in plateaus],
    }
    if options.json:
        found = {"file": str(rows.table.path), "suggested_penalty": float(best), **columns}
        write_result(options, json_bytes(found))
    else:
        write_result(options, csv_bytes(columns, options.output))
    say(
        "",
        *about_rows(rows),
        *(f"Note: {line}" for line in warned),
        *table_lines(plateaus, best),
        "",
        *where_files_lie(options, "plateaus"),
        next_command(options, plateaus, best),
    )


def traced(options: argparse.Namespace, rows: Any) -> Any:
    """Return the path of penalties."""
    from hardbayes import DPMeans, penalty_path

    estimator = DPMeans(divergence=options.divergence, random_state=options.seed)
    return penalty_path(rows.X, estimator=estimator, sample_weight=rows.weights)


def table_lines(plateaus: list[Any], best: float) -> list[str]:
    """Return the widest plateaus as lines of text."""
    widest = sorted(plateaus, key=lambda plateau: -plateau.width)[:MOST_SHOWN]
    lines = ["clusters   penalties                     a factor of"]
    for p in sorted(widest, key=lambda plateau: plateau.k):
        span = f"{rounded(p.low)} to {rounded(p.high)}"
        wide = f"{math.exp(p.width):.3g}" if p.width < 700 else "any size"
        mark = "   <- suggested" if p.low <= best <= p.high else ""
        lines.append(f"{p.k:8d}   {span:28s}  {wide:>11s}{mark}")
    if len(plateaus) > MOST_SHOWN:
        lines.append(f"    ... and {len(plateaus) - MOST_SHOWN} narrower ones")
    if not any(p.low <= best <= p.high for p in plateaus):
        lines.append("No number of clusters stands out from data without structure.")
    return lines


def next_command(options: argparse.Namespace, plateaus: list[Any], best: float) -> str:
    """Return what to type next."""
    if options.plot is None:
        return f"Next: {typed(options)} --plot path.png"
    widest = max(plateaus, key=lambda plateau: plateau.width, default=None)
    chosen = next((p.k for p in plateaus if p.low <= best <= p.high), widest and widest.k)
    return f"Next: hardbayes cluster {table_arguments(options)} --about-k {chosen or 2}"
