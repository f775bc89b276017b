"""``hardbayes cluster``: clusters of the rows of a table."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from hardbayes.cli import options as shared
from hardbayes.cli.errors import CommandError
from hardbayes.cli.evidence import why_so_many
from hardbayes.cli.fitting import computed, say
from hardbayes.cli.model_files import name_columns, save_rows_model
from hardbayes.cli.profiles import Profiles, profile, profile_lines
from hardbayes.cli.reporting import report_rows
from hardbayes.cli.results import (
    check_outputs,
    csv_bytes,
    json_bytes,
    write_centres,
    write_result,
)
from hardbayes.cli.rows import Rows, read_rows
from hardbayes.cli.telling import (
    centre_names,
    model_name,
    other_warnings,
    same_command,
    table_arguments,
    where_files_lie,
    with_rows,
)
from hardbayes.cli.wording import counted


def add_parser(commands: Any) -> None:
    """Add ``cluster`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "cluster",
        help="cluster the rows of a table",
        description="Cluster the rows of a table; the number of clusters is found.",
    )
    shared.add_table(parser)
    parser.add_argument(
        "--divergence",
        choices=shared.DIVERGENCES,
        default="squared_euclidean",
        help="how far rows are from a centre (default: %(default)s)",
    )
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
    if not gaussian and options.penalty != "auto" and float(options.penalty) < 0:
        raise CommandError(f"--penalty must be 0 or more, not {options.penalty:g}")
    plain = options.divergence == "squared_euclidean" and not gaussian
    rows = read_rows(options, scalable=plain)
    model, warned = computed(rows.table.path, lambda: fitted(options, rows), rows.cell)
    name_columns(model, rows)
    found = profile(rows.X, model.labels_, model.n_clusters_, rows.preparation)
    write_files(options, model, rows, found, warned)
    say("", *story(options, model, rows, found, warned))


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


def write_files(
    options: argparse.Namespace, model: Any, rows: Rows, found: Profiles, warned: list[str]
) -> None:
    """Write labels, centres and the model."""
    labels = rows.in_table(model.labels_)
    if options.json:
        content = json_bytes(as_json(options, model, rows, found, warned, labels))
    else:
        columns = with_rows(options, rows.table, rows.ids, {"cluster": labels})
        content = csv_bytes(columns, options.output)
    if options.centers is not None:
        centres = rows.preparation.in_own_units(model.cluster_centers_)
        write_centres(options, "cluster", found.sizes, centre_names(rows, len(centres.T)), centres)
    report_rows(options, model, rows)
    save_rows_model(options, model, rows)
    write_result(options, content)


def as_json(
    options: argparse.Namespace,
    model: Any,
    rows: Rows,
    found: Profiles,
    warned: list[str],
    labels: list[Any],
) -> dict[str, Any]:
    """Return everything found."""
    centres = rows.preparation.in_own_units(model.cluster_centers_)
    clusters = [
        {"cluster": k, "rows": int(found.sizes[k]), "center": [float(v) for v in centre]}
        for k, centre in enumerate(centres)
    ]
    return {
        "file": str(rows.table.path),
        "columns": centre_names(rows, centres.shape[1]),
        "standardized": rows.preparation.scale is not None,
        "n_rows": int(rows.X.shape[0]),
        "n_clusters": int(model.n_clusters_),
        "cluster_penalty": float(model.cluster_penalty_),
        "objective": float(model.objective_),
        "converged": bool(model.converged_),
        "status": model.status_,
        "notes": rows.notes + warned,
        "clusters": clusters,
        "ids": rows.ids,
        "labels": labels,
    }


def story(
    options: argparse.Namespace, model: Any, rows: Rows, found: Profiles, warned: list[str]
) -> list[str]:
    """Return what a person reads after the run."""
    n, d = rows.X.shape
    lines = [f"{rows.table.path}: {counted(n, 'row')}, {counted(d, 'column')}", *rows.notes, ""]
    lines += why_so_many(options, model)
    lines += other_warnings(model, warned)
    if model.n_clusters_ > 1:
        lines += ["", *profile_lines(found, centre_names(rows, d))]
    lines += ["", *where_files_lie(options, "labels")]
    return [*lines, next_command(options, model)]


def next_command(options: argparse.Namespace, model: Any) -> str:
    """Return what to type next."""
    if options.save is not None:
        return f"Next: hardbayes predict {shlex.quote(options.save)} NEW_TABLE"
    if model.n_clusters_ == 1 and options.model == "means":
        return f"Next: hardbayes path {table_arguments(options)}"
    return same_command(options, model_name(options.table))
