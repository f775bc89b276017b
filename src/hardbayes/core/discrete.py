"""Columns of repeated values that are no clusters: categories as dummies, spikes, uneven steps.

A category of four levels is four separate points, an amount that is mostly zero is a point and a
tail, and log counts are points at uneven distances, whatever the rows are. While a number of
clusters is chosen, such columns are made continuous, so that only what other columns tell counts:

- *Categories*: two-valued columns of which one is up in each row, or none. They become noise of
  the same means and variances.
- *Spikes*: one value in many rows, where the other values hardly repeat. Entries become normal
  scores of their ranks, those of equal entries in random order.
- *Uneven lattices*: few values, at unequal distances. An entry is drawn between the middles to the
  neighbouring values. Gaps between groups of values stay.

Values at even distances are left to the noise of one step that rows have where they are chosen.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtri

from hardbayes.core.arrays import Floats

# Rows in which both of two columns would be up by chance, from which on it tells that none are.
MIN_EXPECTED = 10.0
# The next three were chosen on 70 draws without clusters and 42 labelled tables.
SPIKE = 0.2  # share of rows with one value: from here on it is a spike,
FEWEST_EQUAL = 10  # if there are so many of them (a convention)
UNEVEN = 1.5  # times the median step: a step is uneven where it is wider
UNEVEN_SHARE = 0.05  # of the rows beside uneven steps make a lattice uneven
GAP = 3.0  # times both steps beside it: a wider step is a gap between groups of values
COARSE = 2.0  # times sqrt(n) different values: a column with fewer is a lattice
FEWEST_VALUES = 4  # of a lattice: two or three values may be clusters


LEFT_OVER = 0.1  # of the entropy of labels: with less, a category explains them (a convention)

F = TypeVar("F", bound=np.floating)
Dummies = NDArray[np.intp]  # (m,): the neighbouring columns of one category


def categories_of(rows: NDArray[np.floating]) -> list[Dummies]:
    """Return the categories among the columns of rows (n, d): neighbouring dummies, scaled or not.

    In each row at most one is up. Where that may be chance, they are no category.
    """
    n = len(rows)
    is_up: dict[int, NDArray[np.bool_]] = {}
    for column, values in enumerate(rows.T):
        low, high = values.min(), values.max()
        up = values == high
        if low < high and np.count_nonzero(values == low) + np.count_nonzero(up) == n:
            is_up[column] = up
    found, block = [], list[int]()
    for column in [*is_up, -1]:
        joins = column >= 0 and (not block or column == block[-1] + 1)
        if joins and all(_exclude(is_up[column], is_up[other]) for other in block):
            block.append(column)
            continue
        if len(block) > 1:
            found.append(np.array(block))
        block = [column]
    return found


def codes_of(rows: NDArray[np.floating], dummies: Dummies) -> NDArray[np.intp]:
    """Return the level of a category in each row (n,): 0 to k-1, each of which occurs."""
    up = rows[:, dummies] > rows[:, dummies].min(axis=0)
    levels = np.where(up.any(axis=1), up.argmax(axis=1), len(dummies))
    return np.unique(levels, return_inverse=True)[1]


def determine(codes: NDArray[np.intp], labels: NDArray[np.integer]) -> bool:
    """Whether the clusters (n,) follow from the levels of a category (n,), but for a few rows.

    They do if the levels leave less than LEFT_OVER of the entropy of the labels.
    """
    table = np.zeros((int(codes.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (codes, labels), 1.0 / len(labels))
    whole = float(entr(table.sum(axis=0)).sum())
    left = float(entr(table).sum() - entr(table.sum(axis=1)).sum())
    return bool(whole > 0 and left < LEFT_OVER * whole)


def _exclude(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    """Whether two columns are never up together, though by chance they would be."""
    expected = np.count_nonzero(one) * np.count_nonzero(other) / len(one)
    return bool(expected >= MIN_EXPECTED and not (one & other).any())


def smooth_columns(
    rows: NDArray[F], categories: Sequence[Dummies], rng: np.random.RandomState
) -> NDArray[F]:
    """Return rows (n, d) in which such columns are continuous; the rows themselves without any."""
    replaced = {column for each in categories for column in each.tolist()}
    smooth: dict[int, Floats] = {}
    for column, values in enumerate(rows.T):
        if column in replaced:
            smooth[column] = values.mean() + values.std() * rng.standard_normal(len(values))
        else:
            drawn = _smooth(values.astype(np.float64), rng)
            if drawn is not None:
                smooth[column] = drawn
    if not smooth:
        return rows
    found = rows.copy()
    for column, drawn in smooth.items():
        found[:, column] = drawn
    return found


def _smooth(column: Floats, rng: np.random.RandomState) -> Floats | None:
    """Return a column (n,) without its spike or its uneven lattice; None where it has neither."""
    n = len(column)
    values, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    most = int(counts.max())
    is_spike = most >= max(SPIKE * n, FEWEST_EQUAL) and len(values) - 1 > (n - most) / 2
    if len(values) > 1 and is_spike:
        return _normal_scores(column, rng)
    if not FEWEST_VALUES <= len(values) < COARSE * np.sqrt(n):
        return None
    low, high = _cells(values)
    if np.mean((high - low)[place] > UNEVEN * np.median(np.diff(values))) <= UNEVEN_SHARE:
        return None
    widths: Floats = (high - low)[place]
    return low[place] + widths * rng.random_sample(n)


def _normal_scores(column: Floats, rng: np.random.RandomState) -> Floats:
    """Return a normal sample with the mean, variance and order of a column; ties are random."""
    n = len(column)
    ranks = np.empty(n)
    ranks[np.lexsort((rng.random_sample(n), column))] = np.arange(n)
    scores: Floats = column.mean() + column.std() * ndtri((ranks + 0.5) / n)
    return scores


def _cells(values: Floats) -> tuple[Floats, Floats]:
    """Return between which points an entry of each value may lie (m,), (m,).

    In the middles to its neighbours; at a gap, half the median step away.
    """
    steps = np.diff(values)
    beside = np.maximum(np.r_[steps[0], steps[:-1]], np.r_[steps[1:], steps[-1]])
    half = np.where(steps > GAP * beside, np.median(steps), steps) / 2
    return values - np.r_[half[0], half], values + np.r_[half, half[-1]]
