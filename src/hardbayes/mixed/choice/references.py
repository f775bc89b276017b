"""Tables without clusters that are otherwise like the data.

*Copula.* One Gaussian stands behind all columns: it has their shares, steps and correlations. So
it shows what dependence without clusters gains from a division: correlated numbers, bands of an
age, items of one factor.

*Tree.* Each column depends on one other, in whatever way: curves, spreads that change, tables of
two categories. Rows are drawn along the tree of the strongest dependences (Chow & Liu 1968).

A column of numbers with several modes becomes a normal one, for gaps are what clusters are made of;
others keep their shapes. So does one in the tree whose modes follow from a number without any: a
sine has two peaks, but at each place one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtr, ndtri

from hardbayes.core.arrays import Floats
from hardbayes.mixed.clusters import Labels, Rows
from hardbayes.mixed.coding import OTHER_VALUES
from hardbayes.mixed.search import Problem, embeddings

IN_STEPS = 0.5  # different values among those of a column: with fewer, they are drawn as they are
# Level of the test for several modes, which compares with evenly spread values. At .01, .1 and .5,
# the mean ARI of 24 tables with three clusters 3.3 deviations apart was .36, .59 and .95, and 4, 5
# and 10 of 200 tables of numbers without clusters were divided (kinds of benchmarks.structureless).
MODES = 0.1
# The same where it is one mode that has to be shown: its p-values are near 1 (a convention).
CURVE = 0.5
SIMULATED = 4000  # rows by which the correlations behind columns are found,
MATCHINGS = 8  # in so many steps
STRONGEST = 0.995  # a correlation; a stronger one is not told from it
BINS = 8  # of a number, where dependences are compared
# Rows, one of which tells what a number is at another one: more blur their dependence, fewer draw
# clumps of rows that are nearly equal.
NEIGHBOURS = 7


class Variable(NamedTuple):
    """A column of the sample as references draw it."""

    values: Floats  # (n,): numbers, or places of levels in their order; NaN where missing
    is_number: bool
    in_steps: bool  # its values are drawn as they are
    order: Labels  # of the levels of a category
    shown: Floats | None = None  # (n,): the values in the data, where these are normal scores

    @property
    def seen(self) -> Floats:
        """The values that are there."""
        return self.values[~np.isnan(self.values)]


class Spike(NamedTuple):
    """A number (its place) that is missing where a category (its place) is not at a level."""

    number: int
    category: int
    level: int


def variables_of(problem: Problem) -> list[Variable]:
    """Return the columns of a sample: categories, whose levels the first axis orders; numbers."""
    rows = problem.rows
    bases = embeddings(problem)
    axis = bases[0][:, 0] if bases else np.zeros(rows.n)
    found = []
    for codes, size in zip(rows.levels.T, rows.sizes, strict=True):
        there = codes >= 0
        counts = np.bincount(codes[there], minlength=size)
        middle = np.bincount(codes[there], axis[there], size) / np.maximum(counts, 1)
        order = np.argsort(middle, kind="stable")
        place = np.argsort(order, kind="stable")
        found.append(Variable(np.where(there, place[codes], np.nan), False, True, order))
    for j in range(rows.numbers.shape[1]):
        values = np.where(rows.seen[rows.pattern, j], rows.numbers[:, j], np.nan)
        there = values[~np.isnan(values)]
        in_steps = len(np.unique(there)) < IN_STEPS * len(there)
        none = np.zeros(0, np.int64)
        if _has_modes(there):
            found.append(Variable(_normal_scores(values), True, False, none, values))
        else:
            found.append(Variable(values, True, in_steps, none))
    return found


def _has_modes(values: Floats, level: float = MODES) -> bool:
    """Whether a column has several modes, where it has more than a few values.

    Values far beyond the others have been drawn in to the ends, where they are no modes.
    """
    values = values[(values > values.min()) & (values < values.max())]
    atoms, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(atoms) <= OTHER_VALUES:
        return False
    # Equal values are spread over one step: steps are no modes.
    order = np.argsort(place, kind="stable")
    within = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    spread = (within + 0.5) / np.repeat(counts, counts) - 0.5
    smooth = values[order] + np.median(np.diff(atoms)) * spread
    from hardbayes.core.dip import dip_p_value  # numba comes with it, at the first fit only

    return bool(dip_p_value(smooth, np.ones(len(smooth))) < level)


def _normal_scores(values: Floats) -> Floats:
    """Return a normal column of the same order, mean and variance; NaN stays."""
    there = ~np.isnan(values)
    m = np.count_nonzero(there)
    scores = np.full(len(values), np.nan)
    ranks = np.argsort(np.argsort(values[there], kind="stable"), kind="stable")
    spread, middle = values[there].std(), values[there].mean()
    scores[there] = middle + spread * ndtri((ranks + 0.5) / m)
    return scores


def as_rows(drawn: list[Floats], variables: list[Variable], like: Rows, spikes: list[Spike],
            rng: np.random.RandomState) -> Rows:  # fmt: skip
    """Return drawn columns as rows with the holes of others."""
    n, c = like.n, len(like.sizes)
    levels = np.full((n, c), -1, np.int64)
    for at in range(c):
        levels[:, at] = variables[at].order[drawn[at].astype(np.int64)]
    numbers = np.column_stack(drawn[c:]) if len(drawn) > c else np.zeros((n, 0))
    holes = ~like.seen[like.pattern]
    for spike in spikes:
        other = like.levels[:, spike.category]
        holes[:, spike.number] &= (other == spike.level) | (other < 0)
    some = rng.permutation(n)
    numbers[holes[some]] = np.nan
    levels[like.levels[some] < 0] = -1
    for spike in spikes:
        level = levels[:, spike.category]
        numbers[(level >= 0) & (level != spike.level), spike.number] = np.nan
    return Rows(numbers, levels, np.ones(n), like.floors, like.sizes)


class Copula:
    """One Gaussian behind all columns."""

    def __init__(self, variables: list[Variable], rng: np.random.RandomState) -> None:
        self.variables = variables
        self._sorted = [np.sort(each.seen) for each in variables]
        self._root = self._matched(rng)

    def draw(self, n: int, rng: np.random.RandomState) -> list[Floats]:
        """Return the columns of n rows."""
        hidden = rng.normal(size=(n, len(self.variables))) @ self._root.T
        return [self._observed(at, hidden[:, at]) for at in range(len(self.variables))]

    def _observed(self, at: int, hidden: Floats) -> Floats:
        """Return the column that stands before a normal one (n,)."""
        known, each = self._sorted[at], self.variables[at]
        places = ndtr(hidden) * len(known)
        if each.in_steps:
            return known[np.minimum(places.astype(np.int64), len(known) - 1)]
        return np.interp(places, np.arange(len(known)) + 0.5, known)

    def _matched(self, rng: np.random.RandomState) -> Floats:
        """Return a root of the correlations at which observed columns correlate as the data do."""
        wanted = _correlations(np.column_stack([each.values for each in self.variables]))
        base = rng.normal(size=(SIMULATED, len(wanted)))
        hidden = wanted.copy()
        for _ in range(MATCHINGS):
            hidden = _nearest(hidden)
            normal = base @ np.linalg.cholesky(hidden).T
            shown = np.column_stack([self._observed(at, x) for at, x in enumerate(normal.T)])
            hidden = hidden + wanted - _correlations(shown)
        return np.linalg.cholesky(_nearest(hidden))


def _correlations(table: Floats) -> Floats:
    """Return correlations of columns (d, d), each from the rows that have both."""
    there = ~np.isnan(table)
    counts = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, table, 0.0)
    apart = np.where(there, table - filled.sum(axis=0) / counts, 0.0)
    apart /= np.maximum(np.sqrt(np.square(apart).sum(axis=0) / counts), 1e-12)
    both = np.maximum(there.T.astype(np.float64) @ there, 1.0)
    found = apart.T @ apart / both
    np.fill_diagonal(found, 1.0)
    return found


def _nearest(matrix: Floats) -> Floats:
    """Return a correlation matrix near a symmetric one."""
    clipped = np.clip((matrix + matrix.T) / 2, -STRONGEST, STRONGEST)
    np.fill_diagonal(clipped, 1.0)
    values, axes = np.linalg.eigh(clipped)
    found = (axes * np.maximum(values, 1.0 - STRONGEST)) @ axes.T
    roots = np.sqrt(np.diagonal(found))
    return found / np.outer(roots, roots)


class Tree:
    """Each column depends on one other alone, in any way."""

    def __init__(self, variables: list[Variable], rng: np.random.RandomState) -> None:
        with_modes = np.array([each.shown is not None for each in variables])
        self.edges = _strongest_tree([binned(each) for each in variables], with_modes)
        self.variables = list(variables)
        for parent, child in self.edges:
            if parent >= 0 and _follows(variables[child], variables[parent], rng):
                shown = variables[child].shown
                assert shown is not None  # only those with modes follow from another
                self.variables[child] = variables[child]._replace(values=shown)

    def draw(self, n: int, rng: np.random.RandomState) -> list[Floats]:
        """Return the columns of n rows, the parent of each before it."""
        drawn: dict[int, Floats] = {}
        for parent, child in self.edges:
            own = self.variables[child]
            if parent < 0:
                drawn[child] = own.seen[rng.randint(len(own.seen), size=n)]
            else:
                drawn[child] = _given(self.variables[parent], own, drawn[parent], rng)
        return [drawn[at] for at in range(len(self.variables))]


def binned(each: Variable) -> Labels:
    """Return the levels of a category, or about equally many rows in each bin; -1 where missing."""
    there = ~np.isnan(each.values)
    bins = np.full(len(each.values), -1, np.int64)
    values = each.values[there]
    if not each.is_number:
        bins[there] = values.astype(np.int64)
        return bins
    cuts = np.unique(np.quantile(values, np.arange(1, BINS) / BINS))
    bins[there] = np.searchsorted(cuts, values, side="right")
    return bins


def _follows(child: Variable, parent: Variable, rng: np.random.RandomState) -> bool:
    """Whether a number has several modes that are those of a curve over a number without any.

    Then rows that are neighbours there differ by noise. In clusters that both occur there some
    differ by the gap between them, which no curve has.
    """
    if child.shown is None or parent.shown is not None or not parent.is_number:
        return False
    both = ~np.isnan(parent.values) & ~np.isnan(child.shown)
    order = np.lexsort((rng.random_sample(np.count_nonzero(both)), parent.values[both]))
    values = child.shown[both][order]
    return not _has_modes(np.abs(np.diff(values)), CURVE)


def _strongest_tree(bins: list[Labels], with_modes: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (parent, child) along the tree of the largest mutual information; first (-1, root).

    The root is a column without several modes, where there is one.
    """
    d = len(bins)
    known = np.full((d, d), -np.inf)
    for one in range(d):
        for other in range(one):
            known[one, other] = known[other, one] = mutual_information(bins[one], bins[other])
    shared = np.where(np.isfinite(known), known, 0.0).sum(axis=1)
    root = int(np.lexsort((-shared, with_modes))[0])
    edges, inside, outside = [(-1, root)], [root], [at for at in range(d) if at != root]
    while outside:
        block = known[np.ix_(inside, outside)]
        at, to = np.unravel_index(int(block.argmax()), block.shape)
        edges.append((inside[at], outside[to]))
        inside.append(outside.pop(int(to)))
    return edges


def mutual_information(one: Labels, other: Labels) -> float:
    """Return the mutual information of two columns, less what independent ones have."""
    there = (one >= 0) & (other >= 0)
    m = int(there.sum())
    if not m:
        return 0.0
    a, b = one[there], other[there]
    table = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(table, (a, b), 1.0 / m)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    excess = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * m)
    return float(entr(rows).sum() + entr(columns).sum() - entr(table).sum() - excess)


def _given(parent: Variable, child: Variable, drawn: Floats, rng: np.random.RandomState) -> Floats:
    """Return values of a column at drawn values (n,) of its parent.

    They are those of rows with this level or, at a number, of one of the rows nearest to it.
    """
    both = ~np.isnan(parent.values) & ~np.isnan(child.values)
    values, own = parent.values[both], child.values[both]
    if not len(own):
        return child.seen[rng.randint(len(child.seen), size=len(drawn))]
    order = np.lexsort((rng.random_sample(len(own)), values))
    values, own = values[order], own[order]
    if parent.in_steps:
        begins = np.searchsorted(values, drawn, side="left")
        ends = np.searchsorted(values, drawn, side="right")
        lone = ends == begins  # no row with this level has the child
        begins, ends = np.where(lone, 0, begins), np.where(lone, len(own), ends)
    else:
        width = min(len(own), NEIGHBOURS)
        middle = np.searchsorted(values, drawn)
        begins = np.clip(middle - width // 2, 0, len(own) - width)
        ends = begins + width
    donors = begins + (rng.random_sample(len(drawn)) * (ends - begins)).astype(np.int64)
    return own[donors]


KINDS = (Copula, Tree)


def references(
    problem: Problem, spikes: list[Spike], draws: int, rng: np.random.RandomState
) -> Iterator[Rows]:
    """Return tables without clusters, so many of each kind."""
    variables = variables_of(problem)
    for kind in KINDS:
        source = kind(variables, rng)
        for _ in range(draws):
            drawn = source.draw(problem.rows.n, rng)
            yield as_rows(drawn, variables, problem.rows, spikes, rng)
