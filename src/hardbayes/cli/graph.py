"""``hardbayes graph``: clusters of the vertices of a graph."""

import argparse
from typing import Any

import numpy as np

from hardbayes.cli import options as shared
from hardbayes.cli.edges import Edges, as_frame, read_edges
from hardbayes.cli.errors import CommandError
from hardbayes.cli.fitting import computed
from hardbayes.cli.messages import predict_or_save, say, where_files_lie
from hardbayes.cli.model_files import save_values
from hardbayes.cli.reporting import write_report
from hardbayes.cli.results import check_outputs, csv_bytes, json_bytes, write_result
from hardbayes.cli.wording import counted, rounded, shown_name

MOST_CLUSTERS = 20
MOST_VERTICES = 5


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
    from hardbayes import GraphDPMeans, penalty_path

    model = GraphDPMeans(options.penalty, cut=options.cut, random_state=options.seed)
    frame = as_frame(edges)
    if options.about_k is not None:
        return penalty_path(frame, estimator=model).model(options.about_k)
    return model.fit(frame)


def cluster_lines(model: Any, edges: Edges, names: list[str]) -> list[str]:
    """Return a table of the clusters as lines of text, the largest first."""
    numbers = {name: i for i, name in enumerate(names)}
    ends = np.array([numbers[name] for name in edges.sources + edges.targets])
    weights = np.ones(len(ends)) if edges.weights is None else np.tile(edges.weights, 2)
    degrees = np.bincount(ends, weights, len(names))
    order = np.argsort(-model.cluster_weights_, kind="stable")
    lines = ["cluster  vertices   links leaving   vertices with most links"]
    for k in order[:MOST_CLUSTERS]:
        members = np.flatnonzero(model.labels_ == k)
        top = members[np.argsort(-degrees[members], kind="stable")[:MOST_VERTICES]]
        shown = ", ".join(shown_name(names[i], 24) for i in top)
        cut = model.cuts_per_cluster_[k]
        leaving = f"{rounded(100 * cut)} %" if model.cut == "normalized" else rounded(cut)
        lines.append(f"{k:7d} {len(members):9,d} {leaving:>15s}   {shown}")
    if len(order) > MOST_CLUSTERS:
        lines.append(f"    ... and {len(order) - MOST_CLUSTERS} smaller ones")
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
