"""Columns as they are compared: numbers of one scale, and levels of categories.

A column of the table becomes a number, a category, or both: an amount that is mostly zero is a
category ("none" or not) and a number that is missing at zero. Levels in few rows are pooled, and a
category that follows from another one counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from hardbayes.core.arrays import Floats
from hardbayes.mixed.reading import LEFT_OUT, UNSEEN, Column
from hardbayes.mixed.shapes import Shape, shape_of

Codes = NDArray[np.int64]

# A level in fewer rows, or in this share of them, is pooled with others such.
FEWEST_ROWS, RARE = 3, 0.005
MAX_LEVELS = 50  # of a category: with more, its shares are noise, and it is left out
NAMES_SHARE = 0.2  # of the rows: a text column with more levels names them, and is left out,
NAMES_LEVELS = 12  # if it has more than so many
LEFT_OF_ENTROPY = 0.15  # of a category given another: with less, it follows from that one
# A spike is one value in this share of the rows, and in so many times more than the values beside
# it; a column may have some, beside a number of other values.
SPIKE, SPIKE_FACTOR, MAX_SPIKES, OTHER_VALUES = 0.05, 5.0, 3, 12
FEWEST_NUMBERS = 5  # that are there, or a column is left out
OTHER_LEVELS = "(rare)"


class Number(NamedTuple):
    """A number that is compared: a column, but for its spikes."""

    column: int
    shape: Shape
    spikes: tuple[float, ...] = ()

    def code(self, values: Floats) -> Floats:
        """Return the coded column (n,); NaN where missing or at a spike."""
        coded = self.shape.code(values)
        return np.where(np.isin(values, self.spikes), np.nan, coded) if self.spikes else coded


class Category(NamedTuple):
    """A category that is compared: the levels of a column, or the spikes of a number."""

    column: int
    names: tuple[str, ...]  # of its levels
    places: tuple[int, ...]  # of each level of the column among them
    spikes: tuple[float, ...] = ()  # the first levels; the last one are other numbers

    def code(self, values: Floats) -> Codes:
        """Return the level of each row (n,), -1 where missing or, without a pool, unseen."""
        missing = np.isnan(values)
        if self.spikes:
            codes = np.full(len(values), len(self.spikes))
            for place, spike in enumerate(self.spikes):
                codes[values == spike] = place
        else:
            unseen = len(self.names) - 1 if self.names[-1] == OTHER_LEVELS else -1
            places = np.array([*self.places, unseen])
            codes = places[np.where(missing | (values == UNSEEN), -1, values).astype(np.int64)]
        return np.where(missing, -1, codes)


class Coding(NamedTuple):
    """How a table is coded."""

    columns: tuple[Column, ...]
    numbers: tuple[Number, ...]
    categories: tuple[Category, ...]

    @property
    def floors(self) -> Floats:
        """The variance that a cell is taken to have (p,)."""
        return np.array([number.shape.floor for number in self.numbers])

    @property
    def sizes(self) -> Codes:
        """The number of levels of each category."""
        return np.array([len(category.names) for category in self.categories], np.int64)

    def code(self, matrix: Floats) -> tuple[Floats, Codes]:
        """Return coded numbers (n, p), NaN where missing, and levels (n, c), -1 where missing."""
        n = len(matrix)
        numbers = [each.code(matrix[:, each.column]) for each in self.numbers]
        levels = [each.code(matrix[:, each.column]) for each in self.categories]
        return (
            np.column_stack(numbers) if numbers else np.zeros((n, 0)),
            np.column_stack(levels) if levels else np.zeros((n, 0), np.int64),
        )


def find_coding(matrix: Floats, columns: Sequence[Column], weights: Floats) -> Coding:
    """Return how a table (n, d) is coded; columns that cannot be compared are left out."""
    told, numbers, categories = list(columns), list[Number](), list[Category]()
    for at, column in enumerate(columns):
        if column.is_category:
            found = _category(at, column, matrix[:, at], weights)
            if isinstance(found, Category):
                categories.append(found)
            else:
                told[at] = column._replace(kind=LEFT_OUT, why=found)
        elif column.is_number:
            parts = _number(at, matrix[:, at], weights)
            if parts is None:
                told[at] = column._replace(kind=LEFT_OUT, why="hardly any numbers")
                continue
            numbers.append(parts[0])
            categories += parts[1:]
    follows = _following(matrix, categories, weights)
    for at, other in follows.items():
        if not categories[at].spikes:
            column = told[categories[at].column]
            why = f"follows from {columns[categories[other].column].name!r}"
            told[categories[at].column] = column._replace(kind=LEFT_OUT, why=why)
    kept = tuple(each for at, each in enumerate(categories) if at not in follows)
    return Coding(tuple(told), tuple(numbers), kept)


def _category(at: int, column: Column, values: Floats, weights: Floats) -> Category | str:
    """Return a category with rare levels pooled, or why it is left out."""
    seen = ~np.isnan(values)
    counts = np.bincount(values[seen].astype(np.int64), weights[seen], len(column.levels))
    n, n_levels = float(weights.sum()), len(column.levels)
    if n_levels > max(NAMES_SHARE * n, NAMES_LEVELS):
        return "names the rows"
    rare = counts < max(FEWEST_ROWS, RARE * n)
    if rare.sum() < 2:
        rare[:] = False
    names = [level for level, is_rare in zip(column.levels, rare, strict=True) if not is_rare]
    places = np.where(rare, len(names), np.cumsum(~rare) - 1)
    if rare.any():
        names.append(OTHER_LEVELS)
    if len(names) < 2:
        return "hardly any level in more than a few rows"
    if len(names) > MAX_LEVELS:
        return f"more than {MAX_LEVELS} levels"
    return Category(at, tuple(names), tuple(places.tolist()))


def _number(at: int, values: Floats, weights: Floats) -> tuple[Any, ...] | None:
    """Return a number, and a category of its spikes where it has some; None where it is nothing."""
    seen = ~np.isnan(values) & (weights > 0)
    if np.count_nonzero(seen) < FEWEST_NUMBERS:
        return None
    here, own = values[seen], weights[seen]
    spikes = spikes_of(here, own)
    rest = ~np.isin(here, spikes)
    number = Number(at, shape_of(here[rest], own[rest]), spikes)
    if not spikes:
        return (number,)
    names = (*(f"{spike:g}" for spike in spikes), "other")
    return number, Category(at, names, (), spikes)


def spikes_of(values: Floats, weights: Floats) -> tuple[float, ...]:
    """Return values in many rows, beside which others hardly repeat."""
    atoms, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place, weights)
    beside = np.maximum(np.r_[0.0, counts[:-1]], np.r_[counts[1:], 0.0])
    found = atoms[(counts > SPIKE * counts.sum()) & (counts > SPIKE_FACTOR * beside)]
    if not 0 < len(found) <= MAX_SPIKES or len(atoms) <= OTHER_VALUES + len(found):
        return ()
    return tuple(found.tolist())


def _following(matrix: Floats, categories: list[Category], weights: Floats) -> dict[int, int]:
    """Return which categories follow from which others."""
    levels = [each.code(matrix[:, each.column]) for each in categories]
    follows: dict[int, int] = {}
    for one in range(len(levels)):
        for other in range(len(levels)):
            if other in (one, *follows) or one in follows:
                continue
            both = (levels[one] >= 0) & (levels[other] >= 0)
            size = len(categories[one].names)
            cells = levels[other][both] * size + levels[one][both]
            table = np.bincount(cells, weights[both], size * len(categories[other].names))
            if not table.sum():
                continue
            shares = (table / table.sum()).reshape(-1, size)
            left = entr(shares).sum() - entr(shares.sum(axis=1)).sum()
            if left < LEFT_OF_ENTROPY * entr(shares.sum(axis=0)).sum():
                follows[one] = other
    return follows
