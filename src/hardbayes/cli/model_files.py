"""Model files of the command: a model, and how the columns of its table were prepared."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from hardbayes.cli.array_tables import ArrayTable
from hardbayes.cli.errors import CommandError, cannot_read, cannot_write
from hardbayes.cli.preparation import Preparation
from hardbayes.cli.rows import Rows

Values = dict[str, Any]


def save_rows_model(options: argparse.Namespace, model: Any, rows: Rows) -> None:
    """Write the file of ``--save``, with the preparation unless the rows are as in the table."""
    if options.save is None:
        return
    preparation = rows.preparation
    plain = not preparation.levels and preparation.scale is None and preparation.fill is None
    if plain and preparation.missing == "refuse":
        save_values(options, model, None)
    else:
        save_values(options, model, preparation.to_values())


def name_columns(model: Any, rows: Rows) -> None:
    """Give a model the names of its columns, as a fit to a data frame would have.

    Not where it was fitted to a whole array, which has no names.
    """
    if not (isinstance(rows.table, ArrayTable) and len(rows.table.names) == rows.X.shape[1]):
        model.feature_names_in_ = np.array(rows.names, dtype=object)


def save_values(options: argparse.Namespace, model: Any, values: Values | None) -> None:
    """Write a model with the values that prepare new data for it."""
    from hardbayes.persistence.model import save_prepared

    try:
        save_prepared(model, options.save, values, overwrite=options.overwrite)
    except (OSError, ValueError) as error:
        raise cannot_write(Path(options.save), error) from error


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
