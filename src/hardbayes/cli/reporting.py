"""The option ``--report``: what was found as one HTML file."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from hardbayes.cli.errors import cannot_write
from hardbayes.cli.fitting import computed
from hardbayes.cli.rows import Rows


def report_rows(options: argparse.Namespace, model: Any, rows: Rows) -> None:
    """Write the report of a model of rows, in the units of the table."""
    if options.report is None:
        return
    scaled = rows.preparation.scale is not None
    ids = np.arange(1, rows.table.n_rows + 1) if rows.ids is None else np.array(rows.ids, object)
    shape = getattr(rows.table, "shape", None)
    write_report(
        options,
        model,
        rows.X,
        values=rows.preparation.in_own_units(rows.X) if scaled else None,
        feature_names=rows.names,
        row_names=(ids if rows.kept is None else ids[rows.kept]).tolist(),
        groups=rows.groups,
        sample_weight=rows.weights,
        image_shape=shape if shape and np.prod(shape) == rows.X.shape[1] else None,
    )


def write_report(options: argparse.Namespace, model: Any, X: Any, **described: Any) -> None:
    """Write the report of any model, if the option names a file."""
    if options.report is None:
        return
    from hardbayes import report

    title = Path(options.table).name
    try:
        computed(
            options.table,
            lambda: report(
                model, X, options.report, title=title, overwrite=options.overwrite, **described
            ),
        )
    except OSError as error:
        raise cannot_write(options.report, error) from error
