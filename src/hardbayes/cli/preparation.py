"""From the columns of a table to the rows of a model, for new tables as well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hardbayes.cli.tables import MISSING, Table
from hardbayes.cli.terminal import CommandError, listed, shown_name
from hardbayes.core.loop import counted

MAX_LEVELS = 50


@dataclass(frozen=True)
class Preparation:
    """What is done to a table before a fit, and again before a prediction."""

    columns: list[str]  # that hold numbers
    levels: dict[str, list[str]]  # the values of each column of text that is encoded
    missing: str = "refuse"  # or "drop", or "mean"
    fill: np.ndarray | None = None  # (d,): for missing cells, with "mean"
    shift: np.ndarray | None = None  # (d,)
    scale: np.ndarray | None = None  # (d,)

    @property
    def names(self) -> list[str]:
        """Names of the columns of the model."""
        encoded = [f"{name}={level}" for name, levels in self.levels.items() for level in levels]
        return [*self.columns, *encoded]

    def scaled(self, X: Any) -> Any:
        """Return rows in the units of the model; changes an array of its own."""
        if self.scale is None:
            return X
        if isinstance(X, np.memmap) and X.mode == "r":
            X = np.array(X)
        X -= self.shift
        X /= self.scale
        return X

    def in_own_units(self, centres: Any) -> Any:
        """Return centres or rows in the units of the table."""
        return centres if self.scale is None else centres * self.scale + self.shift

    def to_values(self) -> dict[str, Any]:
        """Return it as named values for a model file."""
        flat = [level for levels in self.levels.values() for level in levels]
        return {
            "kind": "table",
            "columns": self.columns or None,
            "encoded": list(self.levels) or None,
            "levels": flat or None,
            "n_levels": np.array([len(levels) for levels in self.levels.values()], np.int64),
            "missing": self.missing,
            "fill": self.fill,
            "shift": self.shift,
            "scale": self.scale,
        }

    @classmethod
    def from_values(cls, values: dict[str, Any], n_features: int) -> Preparation:
        """Return the preparation in a model file; raise ValueError if it is none."""
        flat, levels = list(values["levels"] or []), {}
        counts = values["n_levels"].tolist()
        for name, count in zip(values["encoded"] or [], counts, strict=True):
            levels[str(name)], flat = flat[:count], flat[count:]
        made = cls(list(values["columns"] or []), levels, values["missing"])
        d = len(made.names)
        arrays = {name: values[name] for name in ("fill", "shift", "scale")}
        given = [array for array in arrays.values() if array is not None]
        if flat or d != n_features or any(a.shape != (d,) for a in given):
            raise ValueError("its preparation of columns contradicts itself")
        if arrays["scale"] is not None and not (arrays["scale"] > 0).all():
            raise ValueError("its preparation of columns contradicts itself")
        return replace(made, **arrays)


def assembled(preparation: Preparation, numbers: Any, texts: dict[str, list[str | None]]) -> Any:
    """Return columns of numbers, then zeros and ones for the values of columns of text."""
    if not preparation.levels:
        return numbers
    blocks = [numbers] if preparation.columns else []
    for name, levels in preparation.levels.items():
        where = {level: j for j, level in enumerate(levels)}
        block = np.zeros((len(texts[name]), len(levels)))
        for row, cell in enumerate(texts[name]):
            if is_missing(cell):
                block[row] = np.nan
            elif cell in where:
                block[row, where[cell]] = 1.0
        blocks.append(block)
    return np.hstack(blocks)


def is_missing(cell: str | None) -> bool:
    """Whether a cell of text stands for a missing value."""
    return cell is None or not cell.strip() or cell.strip() in MISSING


def levels_of(
    texts: dict[str, list[str | None]], columns: list[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the different values of columns of text, and why some columns are not encoded."""
    levels, many = {}, []
    for name in columns:
        found = sorted({cell for cell in texts[name] if cell and not is_missing(cell)})
        if len(found) <= MAX_LEVELS:
            levels[name] = found
        else:
            many.append(
                f"column {shown_name(name)!r} has {len(found):,} different values, too many to "
                f"encode (at most {MAX_LEVELS})"
            )
    return levels, many


def complete(
    table: Table, X: Any, names: list[str], missing: str, fill: Any = None
) -> tuple[Any, np.ndarray | None, Any, list[str]]:
    """Return rows without missing cells, which rows were kept, what was filled in, and notes.

    Raises a CommandError at infinite numbers and, unless told what to do, at missing ones.
    """
    if sparse.issparse(X):
        _refuse_bad_entries(table, X)
        return X, None, None, []
    bad_rows = np.array([], np.intp)
    for start in range(0, len(X), 1 << 16):
        part = ~np.isfinite(X[start : start + (1 << 16)])
        bad_rows = np.append(bad_rows, start + np.flatnonzero(part.any(axis=1)))
    if not len(bad_rows):
        return X, None, fill, []
    cells = np.asarray(X[bad_rows])
    refuse_infinite(table, cells, bad_rows, names)
    many = f"{counted(len(bad_rows), 'row')} of {len(X):,}"
    holes = listed([name for j, name in enumerate(names) if np.isnan(cells[:, j]).any()])
    if missing == "refuse":
        row, j = np.argwhere(np.isnan(cells))[0]
        raise CommandError(
            f"{table.path}: {table.row_name(bad_rows[row])} has no value in column "
            f"{names[j]!r}; {many} lack values ({holes}): add --missing drop to leave them out, "
            "or --missing mean to fill in means"
        )
    if missing == "drop":
        kept = np.ones(len(X), bool)
        kept[bad_rows] = False
        if not kept.any():
            raise CommandError(
                f"{table.path}: every row lacks a value ({holes}); leave columns out with "
                "--exclude, or add --missing mean"
            )
        note = f"Left out {many} for missing values in {holes}; they have no cluster."
        return X[kept], kept, fill, [note]
    fill = _means(table, X, names) if fill is None else fill
    if not X.flags.writeable:
        X = np.array(X)
    X[bad_rows] = np.where(np.isnan(cells), fill, cells)
    return X, None, fill, [f"Filled in means where {many} lack values: {holes}."]


def refuse_incomplete(table: Table, X: Any, names: list[str], first: int) -> None:
    """Raise a CommandError at the first cell of a block that is infinite or missing.

    ``first``: the number of the first row of the block.
    """
    if np.isfinite(X.sum()):
        return
    bad_rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if not len(bad_rows):  # the sum alone is too large
        return
    refuse_infinite(table, X[bad_rows], first + bad_rows, names)
    row = bad_rows[0]
    j = int(np.isnan(X[row]).argmax())
    raise CommandError(
        f"{table.path}: {table.row_name(first + row)} has no value in column {names[j]!r}: add "
        "--missing drop to leave such rows out, or --missing mean to fill in means"
    )


def refuse_infinite(table: Table, cells: Any, rows: np.ndarray, names: list[str]) -> None:
    """Raise a CommandError at the first infinite one of the cells (m, d) of these rows (m,)."""
    infinite = np.argwhere(np.isinf(cells))
    if len(infinite):
        row, j = rows[infinite[0, 0]], infinite[0, 1]
        raise CommandError(
            f"{table.path}: {table.row_name(row)}, column {names[j]!r} holds an infinite number "
            "or one too large; correct it"
        )


def _means(table: Table, X: Any, names: list[str]) -> np.ndarray:
    """Return the means of columns (d,); raise a CommandError where one has no values."""
    means = np.empty(X.shape[1])
    for j, name in enumerate(names):
        column = X[:, j]
        known = column[~np.isnan(column)]
        if not len(known):
            raise CommandError(
                f"{table.path}: column {name!r} has no values; leave it out: --exclude {name!r}"
            )
        means[j] = known.mean()
    return means


def _refuse_bad_entries(table: Table, X: Any) -> None:
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise CommandError(
            f"{table.path}: {table.row_name(row)}, column 'x{X.indices[bad[0]]}' holds NaN or "
            "infinity; correct it"
        )
