"""``hardbayes graph``: clusters of the vertices of a graph.

A graph is an edge list: two columns of vertices, and perhaps weights.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli import options as shared
from hardbayes.cli.messages import predict_or_save, say, where_files_lie
from hardbayes.cli.results import (
    check_outputs,
    csv_bytes,
    json_bytes,
    save_values,
    write_report,
    write_result,
)
from hardbayes.cli.tables import import_polars
from hardbayes.cli.terminal import CommandError, cannot_read, computed, rounded, shown_name
from hardbayes.cli.text_tables import open_binary
from hardbayes.core.loop import counted

_COMMENTS = ("#", "%")
_HEADERS = ("source", "from", "src", "node1", "vertex1")
_LETTERS = ("u", "a", "i")  # a header where no other line has them

MAX_CLUSTERS = 20
MAX_VERTICES = 5


class Edges(NamedTuple):
    """Edges by the names of their vertices."""

    sources: list[str]
    targets: list[str]
    weights: list[float] | None
    notes: list[str]


def read_edges(name: str) -> Edges:
    """Return the edges in a file: two or three cells a line, by commas, semicolons or blanks."""
    path = Path(name)
    with open_binary(path) as file:
        content = file.read()
    if b"\0" in content:
        line = 1 + content.count(b"\n", 0, content.index(b"\0"))
        raise cannot_read(path, f"line {line} holds a NUL byte, so it is no text; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise cannot_read(path, f"line {line} is not UTF-8; save it as UTF-8") from error
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    width = 0
    rows = list(_cells(text))
    notes = []
    for line, cells in rows:
        if not width:
            width = len(cells)
            if width not in (2, 3):
                raise CommandError(
                    f"{path}: line {line} has {width} cell(s); an edge is two vertices and perhaps "
                    "a weight"
                )
            if _is_header(cells, rows):
                notes.append(f"Line {line} is taken for names of columns: {', '.join(cells)}.")
                continue
        if len(cells) != width:
            raise CommandError(
                f"{path}: line {line} has {len(cells)} cell(s) and the first has {width}; correct "
                "it"
            )
        if not cells[0] or not cells[1]:
            raise CommandError(f"{path}: line {line} names no vertex; fill it in")
        if width == 3:
            weights.append(_weight(path, line, cells[2]))
        sources.append(cells[0])
        targets.append(cells[1])
    if not sources:
        raise cannot_read(path, "it has no edges; give two vertices a line")
    return Edges(sources, targets, weights if width == 3 else None, notes)


def as_frame(edges: Edges) -> Any:
    """Return edges as the data frame that `GraphDPMeans.fit` takes."""
    pl = import_polars(Path("the edges"))
    columns: dict[str, Any] = {"source": edges.sources, "target": edges.targets}
    if edges.weights is not None:
        columns["weight"] = edges.weights
    return pl.DataFrame(columns)


def _cells(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield lines and their cells, without comments and blank lines."""
    lines = text.splitlines()
    first = next((row for row in lines if row.strip() and not row.startswith(_COMMENTS)), "")
    separator = next((each for each in ("\t", ",", ";") if each in first), None)
    for number, row in enumerate(lines, start=1):
        if not row.strip() or row.startswith(_COMMENTS):
            continue
        if separator is None:
            yield number, row.split()
        else:
            cells = next(csv.reader([row], delimiter=separator), [])
            yield number, [cell.strip() for cell in cells]


def _is_header(cells: list[str], rows: list[tuple[int, list[str]]]) -> bool:
    """Whether the first line names columns: usual names, or a weight that is no number."""
    if len(cells) == 3:
        try:
            float(cells[2])
        except ValueError:
            return True
        return False
    name = cells[0].lower()
    is_letter = name in _LETTERS and not any(cells[0] in others[:2] for _, others in rows[1:])
    return name in _HEADERS or is_letter


def _weight(path: Path, line: int, cell: str) -> float:
    try:
        weight = float(cell)
    except ValueError:
        weight = float("nan")
    if not 0 <= weight < float("inf"):
        raise CommandError(
            f"{path}: line {line} has the weight {cell[:40]!r}; weights are numbers of zero or more"
        )
    return weight


def add_parser(commands: Any) -> None:
    """Add ``graph`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "graph",
        help="cluster the vertices of a graph",
        description="Cluster the vertices of a graph by its links; how many clusters is found.",
    )
    parser.add_argument(
        "table",
        metavar="EDGES",
        help="an edge list: two vertices a line and perhaps a weight, separated by commas, "
        "semicolons, tabs or blanks",
    )
    shared.add_number(parser, "clusters", shared.any_penalty)
    parser.add_argument(
        "--cut",
        choices=("normalized", "ratio"),
        default="normalized",
        help="divide the cut of a cluster by its degrees (default) or by its vertices",
    )
    shared.add_seed(parser)
    shared.add_results(parser, "the cluster of each vertex", rows=False)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, fit, write, tell."""
    check_outputs(options, "output", "report", "save")
    edges = read_edges(options.table)
    model, warned = computed(options.table, lambda: fitted(options, edges))
    names = [str(name) for name in model.vertex_names_]
    if options.json:
        content = json_bytes(
            {
                "file": options.table,
                "n_clusters": int(model.n_clusters_),
                "cluster_penalty": float(model.cluster_penalty_),
                "cut": float(model.cut_),
                "objective": float(model.objective_),
                "status": model.status_,
                "notes": edges.notes + warned,
                "vertices": names,
                "labels": model.labels_.tolist(),
            }
        )
    else:
        content = csv_bytes({"vertex": names, "cluster": model.labels_.tolist()}, options.output)
    write_report(options, model, as_frame(edges))
    if options.save is not None:
        save_values(options, model, None)
    write_result(options, content)
    say(
        "",
        f"{options.table}: {counted(len(names), 'vertex', 'vertices')}, "
        f"{counted(len(edges.sources), 'edge')}",
        *edges.notes,
        "",
        f"Found {counted(model.n_clusters_, 'cluster')}, at a penalty of "
        f"{rounded(model.cluster_penalty_)} each.",
        *(f"Note: {line}" for line in warned),
        "",
        *cluster_lines(model, edges, names),
        "",
        *where_files_lie(options, "labels"),
        predict_or_save(options, "EDGES_OF_NEW_VERTICES"),
    )


def fitted(options: argparse.Namespace, edges: Edges) -> Any:
    """Return the fitted model."""
    from hardbayes import GraphDPMeans

    given = {"n_clusters": options.k, "cut": options.cut, "random_state": options.seed}
    return GraphDPMeans(options.penalty, **given).fit(as_frame(edges))


def cluster_lines(model: Any, edges: Edges, names: list[str]) -> list[str]:
    """Return a table of the clusters as lines of text, the largest first."""
    numbers = {name: i for i, name in enumerate(names)}
    ends = np.array([numbers[name] for name in edges.sources + edges.targets])
    weights = np.ones(len(ends)) if edges.weights is None else np.tile(edges.weights, 2)
    degrees = np.bincount(ends, weights, len(names))
    order = np.argsort(-model.cluster_weights_, kind="stable")
    lines = ["cluster  vertices   links leaving   vertices with most links"]
    for k in order[:MAX_CLUSTERS]:
        members = np.flatnonzero(model.labels_ == k)
        top = members[np.argsort(-degrees[members], kind="stable")[:MAX_VERTICES]]
        shown = ", ".join(shown_name(names[i], 24) for i in top)
        cut = model.cuts_per_cluster_[k]
        leaving = f"{rounded(100 * cut)} %" if model.cut == "normalized" else rounded(cut)
        lines.append(f"{k:7d} {len(members):9,d} {leaving:>15s}   {shown}")
    if len(order) > MAX_CLUSTERS:
        lines.append(f"    ... and {len(order) - MAX_CLUSTERS} smaller ones")
    return lines


def links_of_new(model: Any, edges: Edges, name: str) -> tuple[list[str], Any]:
    """Return new vertices and their links (n_new, n) to those of the fit."""
    from scipy import sparse

    known = {str(vertex): i for i, vertex in enumerate(model.vertex_names_)}
    new: dict[str, int] = {}
    rows, columns, values = [], [], []
    weights = edges.weights or [1.0] * len(edges.sources)
    for source, target, weight in zip(edges.sources, edges.targets, weights, strict=True):
        if source in known and target not in known:
            source, target = target, source
        if source in known or target not in known:
            both = "both are" if source in known else "neither is"
            raise CommandError(
                f"{name}: an edge joins {source[:40]!r} and {target[:40]!r}, and {both} in the "
                "model; give edges between new vertices and those of the model"
            )
        rows.append(new.setdefault(source, len(new)))
        columns.append(known[target])
        values.append(weight)
    shape = (len(new), len(known))
    return list(new), sparse.csr_array((values, (rows, columns)), shape)
