"""``hardbayes cluster``: clusters of the rows of a table."""

import argparse
from typing import Any

from hardbayes.cli import options as shared
from hardbayes.cli.messages import (
    about_rows,
    other_warnings,
    predict_or_save,
    say,
    table_arguments,
    where_files_lie,
    why_so_many,
)
from hardbayes.cli.models import profile_lines
from hardbayes.cli.results import check_outputs, write_clusters
from hardbayes.cli.rows import Rows, read_rows
from hardbayes.cli.terminal import CommandError, computed


def add_parser(commands: Any) -> None:
    """Add ``cluster`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "cluster",
        help="cluster the rows of a table",
        description="Cluster the rows of a table; the number of clusters is found.",
    )
    shared.add_table(parser)
    shared.add_divergence(parser)
    parser.add_argument(
        "--model",
        choices=("means", "gaussian"),
        default="means",
        help="round clusters around means (default), or clusters with shapes of their own",
    )
    shared.add_search(parser)
    shared.add_results(parser, "the cluster of each row", centers="sizes and centres of clusters")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, fit, write, tell."""
    check_outputs(options, "output", "centers", "report", "save")
    gaussian = options.model == "gaussian"
    if gaussian and options.divergence != "squared_euclidean":
        raise CommandError("--model gaussian has no --divergence; leave one of them out")
    plain = options.divergence == "squared_euclidean" and not gaussian
    rows = read_rows(options, scalable=plain)
    model, warned = computed(rows.table.path, lambda: fitted(options, rows), rows.cell)
    penalty = {"cluster_penalty": float(model.cluster_penalty_)}
    profiles = write_clusters(options, model, rows, warned, penalty)
    several = model.n_clusters_ > 1
    say(
        "",
        *about_rows(rows),
        *why_so_many(options, model),
        *other_warnings(model, warned),
        *(["", *profile_lines(profiles, rows.names)] if several else []),
        "",
        *where_files_lie(options, "labels"),
        next_command(options, model),
    )


def fitted(options: argparse.Namespace, rows: Rows) -> Any:
    """Return the fitted model, its clusters numbered by size."""
    from hardbayes import DPMeans, GaussianDPMeans, by_size, penalty_path

    given = {"search": options.search, "random_state": options.seed}
    estimator: Any
    if options.model == "gaussian":
        estimator = GaussianDPMeans(options.penalty, **given)
        if options.about_k is not None:
            estimator.set_params(cluster_penalty=0.0, max_clusters=options.about_k)
    else:
        estimator = DPMeans(options.penalty, divergence=options.divergence, **given)
        if options.about_k is not None:
            path = penalty_path(rows.X, estimator=estimator, sample_weight=rows.weights)
            return by_size(path.model(options.about_k))
    return by_size(estimator.fit(rows.X, sample_weight=rows.weights))


def next_command(options: argparse.Namespace, model: Any) -> str:
    """Return what to type next: the path, where one cluster was found."""
    if options.save is None and model.n_clusters_ == 1 and options.model == "means":
        return f"Next: hardbayes path {table_arguments(options)}"
    return predict_or_save(options)
