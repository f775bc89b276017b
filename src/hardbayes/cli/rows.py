"""The rows of a table, prepared as the options say."""

import argparse
import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hardbayes.cli.columns import Chosen, Roles, choose_columns
from hardbayes.cli.errors import CommandError
from hardbayes.cli.open_table import open_table
from hardbayes.cli.preparation import Preparation, assembled, complete, levels_of
from hardbayes.cli.scaling import with_scale
from hardbayes.cli.spinner import working
from hardbayes.cli.tables import Table
from hardbayes.cli.wording import listed

_ID = re.compile(r"(^|[^a-z])(id|index|key)$|[a-z]I[Dd]$")


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


def read_rows(options: argparse.Namespace, *, scalable: bool = True, centred: bool = True) -> Rows:
    """Read and prepare the rows of a table.

    ``scalable``: whether columns may be divided by their deviations; ``centred``: whether means may
    be subtracted as well.
    """
    table = open_table(options.table, options.header)
    roles = Roles(options.id_column, options.weight_column, getattr(options, "group_column", None))
    chosen = choose_columns(table, options.columns, options.exclude, options.encode, roles)
    weight = [] if roles.weight is None else [roles.weight]
    beside = [name for name in (roles.id, roles.group) if name is not None]
    with working(f"reading {table.path}"):
        cells = table.read(chosen.numbers + weight, [*chosen.encoded, *dict.fromkeys(beside)])
    numbers = cells.numbers
    weights = None
    if weight:
        numbers, weights = numbers[:, :-1], _weights(table, roles.weight, numbers[:, -1])
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


def _weights(table: Table, name: str | None, column: Any) -> np.ndarray:
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
    naming = [j for j, name in enumerate(chosen.numbers) if _names_rows(name, X[:, j])]
    if not naming or len(naming) == X.shape[1]:
        return chosen, X
    names = [chosen.numbers[j] for j in naming]
    left = [name for name in chosen.numbers if name not in names]
    note = f"Left out (names or counts the rows): {listed(names)}. To use it: --columns."
    return Chosen(left, chosen.encoded, [*chosen.notes, note]), np.delete(X, naming, axis=1)


def _names_rows(name: str, column: Any) -> bool:
    """Whether a column counts the rows, or is called an id and has another integer in each."""
    if len(column) < 10:
        return False
    if column[1] - column[0] == 1 and np.array_equal(column - column[0], np.arange(len(column))):
        return True
    if _ID.search(name) is None or not np.array_equal(column, np.floor(column)):
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
