"""Model files of the command, and profiles of clusters as lines of text.

Model files of the command: a model, and how the columns of its table were prepared.

What sets clusters apart, as lines of text in the units of the table.
"""

import argparse
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.preparation import Preparation
from hardbayes.cli.readers import ArrayTable
from hardbayes.cli.rows import Rows
from hardbayes.cli.terminal import CommandError, cannot_read, cannot_write, rounded, shown_name
from hardbayes.core.summaries import Moments, Profile, moments, profiles

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


MOST_COLUMNS = 3
MOST_CLUSTERS = 20
# A mean counts as high or low from this distance on, in standard deviations of all rows.
APART = 0.5


class Profiles(NamedTuple):
    """Sizes of all clusters, and what sets the first of them apart."""

    sizes: np.ndarray  # (k,): numbers of rows
    first: list[Profile]  # in the units of the model, as are the next
    every: Moments  # of all rows
    preparation: Preparation


@np.errstate(over="ignore", invalid="ignore")  # squares of the largest numbers
def profile(X: Any, labels: np.ndarray, n_clusters: int, preparation: Preparation) -> Profiles:
    """Return sizes of clusters, and the columns whose means differ from those of all rows."""
    found = profiles(X, labels, n_clusters, n_columns=MOST_COLUMNS)
    return Profiles(
        np.bincount(labels, minlength=n_clusters),
        list(islice(found, MOST_CLUSTERS)),
        moments(X, slice(None), None),
        preparation,
    )


def profile_lines(found: Profiles, names: list[str]) -> list[str]:
    """Return a table of the clusters as lines of text."""
    lines = ["cluster     rows        what sets it apart: its mean (that of all rows)"]
    for each in found.first:
        head = f"{each.cluster:7d} {int(each.size):8,d} {100 * each.share:5.1f} %"
        lines.append(f"{head}  {apart(found, each, names)}".rstrip())
    if len(found.sizes) > len(found.first):
        lines.append(f"    ... and {len(found.sizes) - len(found.first)} smaller ones")
    return lines


def apart(found: Profiles, each: Profile, names: list[str]) -> str:
    """Return the columns whose means are far from those of all rows."""
    parts = []
    for word, sign in (("high", 1), ("low", -1)):
        shown = [
            f"{shown_name(names[j], 24)} {_shown(found, j, mean)} "
            f"({_shown(found, j, found.every.means[j])})"
            for j, mean, difference in zip(each.columns, each.means, each.differences, strict=True)
            if sign * difference >= APART
        ]
        if shown:
            parts.append(f"{word} {', '.join(shown)}")
    return "; ".join(parts) or "close to the mean of all rows"


def _shown(found: Profiles, j: int, mean: float) -> str:
    """Return a mean in the units of the table, zero where it differs from that by rounding."""
    scale, shift = found.preparation.scale, found.preparation.shift
    deviation = np.sqrt(found.every.variances[j])
    if scale is not None and shift is not None:
        mean, deviation = mean * scale[j] + shift[j], deviation * scale[j]
    return rounded(mean if abs(mean) > 1e-9 * deviation else 0.0)
