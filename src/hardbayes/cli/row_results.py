"""What the commands on the rows of a table write."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

from hardbayes.cli.model_files import save_rows_model
from hardbayes.cli.reporting import report_rows
from hardbayes.cli.results import csv_bytes, json_bytes, write_centres, write_result
from hardbayes.cli.rows import Rows
from hardbayes.cli.telling import with_rows


class RowResults(NamedTuple):
    """Values for each row of a table, and clusters or features in its units."""

    columns: dict[str, list[Any]]  # by name, for the rows of the table
    what: str  # "cluster" or "feature"
    sizes: Any  # (k,): numbers of rows
    names: list[str]  # (d,): of the columns of the centres
    centres: Any  # (k, d)


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
