"""What the commands on the rows of a table write."""

import argparse
from typing import Any, NamedTuple

from hardbayes.cli.model_files import name_columns, save_rows_model
from hardbayes.cli.profiles import Profiles, profile
from hardbayes.cli.reporting import report_rows
from hardbayes.cli.results import csv_bytes, json_bytes, with_rows, write_centres, write_result
from hardbayes.cli.rows import Rows


class RowResults(NamedTuple):
    """Values for each row of a table, and clusters or features in its units."""

    columns: dict[str, list[Any]]  # by name, for the rows of the table
    what: str  # "cluster" or "feature"
    sizes: Any  # (k,): numbers of rows
    names: list[str]  # (d,): of the columns of the centres
    centres: Any  # (k, d)


def write_clusters(
    options: argparse.Namespace, model: Any, rows: Rows, warned: list[str], as_json: dict[str, Any]
) -> Profiles:
    """Write what was found; return what sets clusters apart."""
    name_columns(model, rows)
    profiles = profile(rows.X, model.labels_, model.n_clusters_, rows.preparation)
    labels = rows.in_table(model.labels_)
    centres = rows.preparation.in_own_units(model.cluster_centers_)
    clusters = [
        {"cluster": k, "rows": int(profiles.sizes[k]), "center": centre.tolist()}
        for k, centre in enumerate(centres)
    ]
    found = RowResults({"cluster": labels}, "cluster", profiles.sizes, rows.names, centres)
    about = {"n_clusters": int(model.n_clusters_), "notes": rows.notes + warned}
    every = {"clusters": clusters, "ids": rows.ids, "labels": labels}
    write_row_results(options, model, rows, found, about | as_json | every)
    return profiles


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
    report_rows(options, model, rows)
    save_rows_model(options, model, rows)
    write_result(options, content)
