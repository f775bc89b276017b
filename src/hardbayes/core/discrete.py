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
Where clusters then follow from the values of one discrete column, or some from its spike, they are
chosen again without it (`choose_beside_discrete`): what is a cluster shows in other columns too.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtri

from hardbayes.core.arrays import Floats

# Rows that by chance would be otherwise, from which on it tells that none is: in which both of two
# columns would be up, or not exactly one of several.
MIN_EXPECTED = 10.0
# The next three were chosen on 70 draws without clusters and 42 labelled tables.
SPIKE = 0.2  # share of rows with one value: from here on it is a spike,
FEWEST_EQUAL = 10  # if there are so many of them (a convention)
UNEVEN = 1.5  # times the median step: a step is uneven where it is wider
UNEVEN_SHARE = 0.05  # of the rows beside uneven steps make a lattice uneven
GAP = 3.0  # times both steps beside it: a wider step is a gap between groups of values
COARSE = 2.0  # times sqrt(n) different values: a column with fewer is a lattice
FEWEST_VALUES = 4  # of a lattice: two or three values may be clusters
# Of a column whose spike is a border: fewer values may be grades, which agree with clusters. With
# four, DPMeans lost .004 of ARI on 73 labelled tables, and no fewer draws of counts were divided.
FEWEST_OF_COUNTS = 8
LEFT_OVER = 0.2  # of the entropy of labels: with less, a discrete column explains them
COPIES = 4  # rows of one value in the mean, from which on a column is discrete (a convention)

F = TypeVar("F", bound=np.floating)
Dummies = NDArray[np.intp]  # (m,): the neighbouring columns of one category
Border = NDArray[np.signedinteger]  # (n,): between which rows it lies, those of unlike numbers


def categories_of(rows: NDArray[np.floating]) -> list[Dummies]:
    """Return the categories among the columns of rows (n, d): neighbouring dummies, scaled or not.

    Constant columns, as of levels that do not occur, may stand between them.

    In each row exactly one is up; or at most one, where a level was dropped. Where that may be
    chance, they are no category.
    """
    n = len(rows)
    runs: list[list[int]] = [[]]  # two-valued columns with none but constant ones between them
    is_up: dict[int, NDArray[np.bool_]] = {}
    for column, values in enumerate(rows.T):
        low, high = values.min(), values.max()
        up = values == high
        if low < high and np.count_nonzero(values == low) + np.count_nonzero(up) == n:
            is_up[column] = up
            runs[-1].append(column)
        elif low < high:
            runs.append([])
    found = list[Dummies]()
    for columns in runs:
        while columns:
            block = _complete(columns, is_up) or _exclusive(columns, is_up)
            if len(block) > 1:
                found.append(np.array(block))
            columns = columns[len(block) :]
    return found


def _complete(columns: list[int], is_up: dict[int, NDArray[np.bool_]]) -> list[int]:
    """Return the first columns of which exactly one is up in each row, if any are."""
    n = len(is_up[columns[0]])
    n_up = np.zeros(n, np.intp)
    none, one = 1.0, 0.0  # the chances that none is up, or one, were the columns independent
    for many, column in enumerate(columns, 1):
        n_up += is_up[column]
        if n_up.max() > 1:
            break
        share = np.count_nonzero(is_up[column]) / n
        none, one = none * (1 - share), one * (1 - share) + none * share
        if n_up.min() == 1:
            return columns[:many] if n * (1 - one) >= MIN_EXPECTED else []
    return []


def _exclusive(columns: list[int], is_up: dict[int, NDArray[np.bool_]]) -> list[int]:
    """Return the first columns of which no two are up together: one at least."""
    block = columns[:1]
    for column in columns[1:]:
        if not all(_exclude(is_up[column], is_up[other]) for other in block):
            break
        block.append(column)
    return block


def codes_of(rows: NDArray[np.floating], dummies: Dummies) -> NDArray[np.intp]:
    """Return the level of a category in each row (n,): 0 to k-1, each of which occurs.

    Those of a single column are its values.
    """
    if len(dummies) == 1:
        return np.unique(rows[:, dummies[0]], return_inverse=True)[1]
    up = rows[:, dummies] > rows[:, dummies].min(axis=0)
    levels = np.where(up.any(axis=1), up.argmax(axis=1), len(dummies))
    return np.unique(levels, return_inverse=True)[1]


def determine(codes: NDArray[np.signedinteger], labels: NDArray[np.signedinteger]) -> bool:
    """Whether the clusters (n,) follow from the levels of a category (n,), but for a few rows.

    They do if the levels leave less than LEFT_OVER of the entropy of the labels.
    """
    table = np.zeros((int(codes.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (codes, labels), 1.0 / len(labels))
    whole = float(entr(table.sum(axis=0)).sum())
    left = float(entr(table).sum() - entr(table.sum(axis=1)).sum())
    is_several = np.count_nonzero(table.any(axis=0)) > 1  # of one, entropies are but rounding
    return bool(is_several and left < LEFT_OVER * whole)


class Chosen(NamedTuple):
    """Clusters that were chosen on a sample of rows."""

    choice: Any
    values: NDArray[np.floating] | None  # (n, d): the sample; None where columns are not looked at
    labels: NDArray[np.signedinteger]  # (n,)
    left_out: Sequence[Dummies]  # of which the choice saw nothing


def choose_beside_discrete(choose: Callable[[Sequence[Dummies]], Chosen]) -> Any:
    """Return a choice of clusters without borders that one discrete column alone tells.

    ``choose`` chooses clusters of the same sample of rows without some columns. Where all borders
    follow from one discrete column, or one from its spike, it chooses without this column. If the
    border is there again, or a part of it, other columns show it too, and the column stays.
    """
    found = choose([])
    without = list[Dummies]()
    shown = list[Border]()  # by other columns too
    while (told := _told_by_one(found, shown)) is not None:
        column, border = told
        other = choose([*without, column])
        if determine(other.labels, border) or determine(border, other.labels):
            shown.append(border)
        else:
            without.append(column)
            found = other
    return found.choice


def _told_by_one(chosen: Chosen, shown: list[Border]) -> tuple[Dummies, Border] | None:
    """Return a discrete column and the border that follows from its values; None if none does.

    Not the only column, nor a border in a gap between groups of values, or shown by other columns.
    """
    rows, labels, left_out = chosen.values, chosen.labels, chosen.left_out
    if rows is None or rows.shape[1] == 1 or labels.max() == 0:
        return None
    n, d = rows.shape
    known = {column for each in left_out for column in each.tolist()}
    for column in sorted(set(range(d)) - known):
        values, codes = np.unique(rows[:, column], return_inverse=True)
        if COPIES * len(values) > n:
            continue
        border = labels if determine(codes, labels) else _beside_spike(codes, labels)
        if border is not None:
            groups = _groups(values)[codes]
            if not any(determine(tells, border) for tells in (groups, *shown)):
                return np.array([column]), border
    return None


def _beside_spike(codes: NDArray[np.intp], labels: Border) -> Border | None:
    """Return the border (n,) between clusters at the spike of a column and others, if it is one.

    A column of few values has no spike: these may be clusters.
    """
    counts = np.bincount(codes)
    at_spike = codes == counts.argmax()
    if len(counts) < FEWEST_OF_COUNTS or counts.max() < SPIKE * len(codes):
        return None
    shares = np.bincount(labels, weights=at_spike) / np.bincount(labels)
    border = (shares[labels] > 0.5).astype(np.intp)
    return border if determine(at_spike.astype(np.intp), border) else None


def _groups(values: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the group of each value (m,): gaps lie between groups; one where a group is small."""
    if len(values) < FEWEST_VALUES:
        return np.zeros(len(values), np.intp)
    groups = np.r_[0, np.cumsum(_are_gaps(np.diff(values)))]
    return groups if np.bincount(groups).min() >= FEWEST_VALUES else np.zeros_like(groups)


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
    half = np.where(_are_gaps(steps), np.median(steps), steps) / 2
    return values - np.r_[half[0], half], values + np.r_[half, half[-1]]


def _are_gaps(steps: Floats) -> NDArray[np.bool_]:
    """Return which steps (m,) are much wider than both beside them."""
    beside = np.maximum(np.r_[steps[0], steps[:-1]], np.r_[steps[1:], steps[-1]])
    return steps > GAP * beside


def left_out_sentence(left_out: Sequence[Dummies]) -> str:
    """Return which columns counted for nothing while clusters were chosen; else nothing."""
    if not left_out:
        return ""
    names = " and the ".join(map(name_columns, left_out))
    return f"Not counted, for what discrete columns alone divide is no cluster: the {names}."


def name_columns(dummies: Dummies) -> str:
    """Return how to call a discrete column or a category in a sentence."""
    if len(dummies) == 1:
        return f"values of column {dummies[0]} of X"
    return f"levels of one category, columns {dummies[0]} to {dummies[-1]} of X"
