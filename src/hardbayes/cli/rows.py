"""The rows of a table, prepared as the options say: which columns, and whether they are scaled.

Squared distances add up over the columns, so columns with small spreads hardly count beside those
with large ones. That is meant where all are in one unit, as in pictures, and an accident of units
where it silences half of the columns.
"""

import argparse
import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hardbayes.cli.preparation import Preparation, assembled, complete, levels_of
from hardbayes.cli.readers import open_tables
from hardbayes.cli.tables import Table
from hardbayes.cli.terminal import CommandError, inputs_of, listed, working
from hardbayes.core.loop import counted

# Below this share of the variance, half of the columns have no say. Chosen on 59 tables and point
# sets, between wine, breast cancer, Pima and vehicles (at most 1.4 %) and all others (at least
# 1.9 %), some of which have mixed units too. After division, k-means agrees better with the known
# classes in the first three and worse in vehicles.
NO_SAY = 0.015
ID_NAME = re.compile(r"(^|[^a-z])(id|index|key)$|[a-z]I[Dd]$")


class Roles(NamedTuple):
    """The columns that the options name for a purpose."""

    id: str | None = None
    weight: str | None = None
    group: str | None = None

    @property
    def named(self) -> list[str]:
        """Those that are given."""
        return [name for name in self if name is not None]


class Chosen(NamedTuple):
    """Columns of numbers, columns to encode, and sentences on what was left out."""

    numbers: list[str]
    encoded: list[str]
    notes: list[str]


def choose_columns(
    table: Table, columns: list[str] | None, exclude: list[str] | None, encode: bool, roles: Roles
) -> Chosen:
    """Return the columns to cluster by: those that the user names, else all that hold numbers."""
    for name in roles.named:
        check_column(table, name)
    given = named_columns(table, columns) if columns else None
    excluded = {*roles.named, *(named_columns(table, exclude) if exclude else [])}
    candidates = [name for name in given or table.names if given or name not in excluded]
    kinds = table.kinds
    # True and false are 0 and 1 where the user names their column.
    as_number = ("number", "boolean") if given and not encode else ("number",)
    numbers = [name for name in candidates if kinds[name] in as_number]
    text = [name for name in candidates if kinds[name] not in (*as_number, "empty")]
    empty = [name for name in candidates if kinds[name] == "empty"]
    notes = [*table.notes, *([f"Left out (empty): {listed(empty)}."] if empty else [])]
    if text and given and not encode:
        raise CommandError(
            f"{table.path}: column {text[0]!r} holds text; add --encode to make one column of each "
            "of its values, or leave it out of --columns"
        )
    if text and not encode:
        notes.append(f"Left out (no numbers): {listed(text)}. To use them: --encode.")
    encoded = text if encode else []
    if not numbers and not encoded:
        raise CommandError(
            f"{table.path}: no column holds numbers; choose others with --columns, or encode text "
            "with --encode"
        )
    return Chosen(numbers, encoded, notes)


def named_columns(table: Table, values: list[str]) -> list[str]:
    """Return the columns that an option names: a list, or names joined by commas."""
    known = set(table.names)
    found: list[str] = []
    for value in values:
        parts = [value] if value in known else [part.strip() for part in value.split(",")]
        for name in parts:
            check_column(table, name)
            if name not in found:
                found.append(name)
    return found


def check_column(table: Table, name: str) -> None:
    """Raise a CommandError if a table has no such column."""
    if name not in table.names:
        raise CommandError(
            f"{table.path}: there is no column {name!r}; its columns are {listed(table.names)}"
        )


class Spreads(NamedTuple):
    """Means and standard deviations of columns."""

    mean: np.ndarray
    deviation: np.ndarray

    @property
    def smaller_half(self) -> float:
        """Share of the variance in that half of the columns that has the smaller spreads."""
        spread = np.sort(self.deviation[self.deviation > 0])
        if len(spread) < 2 or not np.isfinite(spread).all():
            return 1.0
        variance = (spread / spread[-1]) ** 2
        return float(variance[: len(variance) // 2].sum() / variance.sum())


def spreads(X: Any, weights: Any = None) -> Spreads:
    """Return means and deviations, column by column so that nothing large is copied."""
    moments = []
    for j in range(X.shape[1]):
        column = np.asarray(X[:, j], np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(column, weights=weights)
            moments.append((mean, np.sqrt(np.average((column - mean) ** 2, weights=weights))))
    mean, deviation = np.array(moments).T
    return Spreads(mean, deviation)


def with_scale(
    preparation: Preparation,
    X: Any,
    weights: Any,
    *,
    standardize: bool | None,
    scalable: bool,
    centred: bool,
) -> tuple[Preparation, str]:
    """Return the preparation with scales where columns are divided by them, and why or why not."""
    n_numbers = len(preparation.columns)
    if standardize and (not scalable or sparse.issparse(X)):
        raise CommandError(
            "--standardize needs rows that are not sparse and squared Euclidean distances; leave "
            "it out"
        )
    if not scalable or sparse.issparse(X) or standardize is False or not n_numbers:
        return preparation, ""
    return scaled_by(
        preparation, spreads(X[:, :n_numbers], weights), standardize=standardize, centred=centred
    )


def scaled_by(
    preparation: Preparation, found: Spreads, *, standardize: bool | None, centred: bool
) -> tuple[Preparation, str]:
    """Return the preparation with scales, where these spreads ask for them, and why or why not."""
    n_numbers = len(preparation.columns)
    half = f"{100 * found.smaller_half:.2g} %"
    silent = found.smaller_half < NO_SAY
    if standardize is None and not silent and not preparation.levels:
        if n_numbers == 1:
            return preparation, ""
        return preparation, (
            "Columns are used as they are, for their spreads are comparable. To scale them: "
            "--standardize."
        )
    why = "as --standardize says"
    if standardize is None:
        why = "to compare with the encoded ones"
    if standardize is None and silent:
        why = f"half of them would have no say otherwise ({half} of the variance)"
    n_encoded = len(preparation.names) - n_numbers
    shift, scale = _scales(found, n_encoded, centred)
    sentence = (
        f"{counted(n_numbers, 'column')} divided by standard deviations: {why}. To use them as "
        "they are: --no-standardize."
    )
    return replace(preparation, shift=shift, scale=scale), sentence


def _scales(found: Spreads, n_encoded: int, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return shifts and scales; constant columns and zeros and ones stay as they are."""
    usable = np.isfinite(found.deviation) & (found.deviation > 0)
    scale = np.where(usable, found.deviation, 1.0)
    shift = np.where(usable & centred, found.mean, 0.0)
    return np.append(shift, np.zeros(n_encoded)), np.append(scale, np.ones(n_encoded))


class Rows(NamedTuple):
    """Rows for a model, and what belongs to them."""

    table: Table
    X: Any  # (n, d)
    preparation: Preparation
    weights: np.ndarray | None
    groups: list[str] | None
    ids: list[str | None] | None  # of all rows of the table
    kept: np.ndarray | None  # which rows of the table are in X; None: all
    notes: list[str]

    @property
    def names(self) -> list[str]:
        """Names of the columns of X."""
        return self.preparation.names

    def cell(self, row: int, column: int) -> str:
        """Return the words for a cell of X."""
        if self.kept is not None:
            row = int(np.flatnonzero(self.kept)[row])
        return f"{self.table.row_name(row)}, column {self.names[column]!r}"

    def in_table(self, values: np.ndarray) -> list[Any]:
        """Return values of rows of X for all rows of the table, None for those left out."""
        if self.kept is None:
            return list(values.tolist())
        every = np.full(len(self.kept), None, dtype=object)
        every[self.kept] = values.tolist()
        return list(every)


def read_rows(
    options: argparse.Namespace,
    table: Table | None = None,
    *,
    scalable: bool = True,
    centred: bool = True,
) -> Rows:
    """Read and prepare the rows of a table, which may be open already.

    ``scalable``: whether columns may be divided by their deviations; ``centred``: whether means may
    be subtracted as well.
    """
    table = table or open_tables(inputs_of(options), options.header)
    roles = Roles(options.id_column, options.weight_column, getattr(options, "group_column", None))
    chosen = choose_columns(table, options.columns, options.exclude, options.encode, roles)
    weight = [] if roles.weight is None else [roles.weight]
    others = [name for name in (roles.id, roles.group) if name is not None]
    with working(f"reading {table.path}"):
        cells = table.read(chosen.numbers + weight, [*chosen.encoded, *dict.fromkeys(others)])
    numbers = cells.numbers
    weights = None
    if weight:
        numbers, weights = numbers[:, :-1], weights_of(table, roles.weight, numbers[:, -1])
    if options.columns is None and not sparse.issparse(numbers):
        chosen, numbers = _without_names(chosen, numbers)
    levels, many = levels_of(cells.texts, chosen.encoded)
    if many and options.columns:
        raise CommandError(f"{table.path}: {many[0]}; leave it out of --columns")
    if not chosen.numbers and not levels:
        raise CommandError(f"{table.path}: no column can be used: {many[0]}; add columns")
    preparation = Preparation(chosen.numbers, levels, options.missing)
    X = assembled(preparation, numbers, cells.texts)
    X, kept, fill, notes = complete(table, X, preparation.names, options.missing)
    preparation = replace(preparation, fill=fill)
    groups = None
    if roles.group is not None:
        groups = _groups(table, roles.group, cells.texts[roles.group], kept)
    if kept is not None and weights is not None:
        weights = weights[kept]
    preparation, sentence = with_scale(
        preparation, X, weights, standardize=options.standardize, scalable=scalable, centred=centred
    )
    X = preparation.scaled(X)
    notes = [
        *chosen.notes,
        *(f"Left out: {why}." for why in many),
        *notes,
        *([sentence] if sentence else []),
    ]
    ids = cells.texts[roles.id] if roles.id is not None else table.row_ids
    return Rows(table, X, preparation, weights, groups, ids, kept, notes)


def weights_of(table: Table, name: str | None, column: Any) -> np.ndarray:
    """Return a column as weights; raise a CommandError where it holds others."""
    weights = column.toarray().ravel() if sparse.issparse(column) else np.array(column, np.float64)
    bad = ~(weights >= 0) | ~np.isfinite(weights)
    if bad.any():
        row = int(bad.argmax())
        raise CommandError(
            f"{table.path}: {table.row_name(row)} has the weight {weights[row]:g} in column "
            f"{name!r}; weights are numbers of zero or more"
        )
    if not weights.any():
        raise CommandError(f"{table.path}: all weights in column {name!r} are zero; correct them")
    return weights


def _without_names(chosen: Chosen, X: Any) -> tuple[Chosen, Any]:
    """Leave out columns of numbers that only name the rows."""
    naming = [j for j, name in enumerate(chosen.numbers) if names_rows(name, X[:, j])]
    if not naming or len(naming) == X.shape[1]:
        return chosen, X
    names = [chosen.numbers[j] for j in naming]
    left = [name for name in chosen.numbers if name not in names]
    note = f"Left out (names or counts the rows): {listed(names)}. To use it: --columns."
    return Chosen(left, chosen.encoded, [*chosen.notes, note]), np.delete(X, naming, axis=1)


def names_rows(name: str, column: Any) -> bool:
    """Whether a column counts the rows, or is called an id and has another integer in each."""
    if len(column) < 10:
        return False
    if column[1] - column[0] == 1 and np.array_equal(column - column[0], np.arange(len(column))):
        return True
    if ID_NAME.search(name) is None or not np.array_equal(column, np.floor(column)):
        return False
    return len(np.unique(column)) == len(column)


def _groups(table: Table, name: str, cells: list[str | None], kept: np.ndarray | None) -> list[str]:
    groups = []
    for row, cell in enumerate(cells):
        if kept is not None and not kept[row]:
            continue
        if cell is None or not cell.strip():
            raise CommandError(
                f"{table.path}: {table.row_name(row)} has no group in column {name!r}; fill it in"
            )
        groups.append(cell)
    return groups
