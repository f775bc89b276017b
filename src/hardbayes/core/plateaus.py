"""Plateaus of a path of penalties, and the table of candidates that estimators show.

``fit_k + penalty * k`` is least at a vertex of the lower convex hull of the points (k, fit_k), for
penalties between the slopes on its two sides: that range is the plateau of k.

The table is ``penalty_choice_``, a dict of arrays, which a file holds as one array.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hardbayes.core.arrays import Floats

ROUNDING = 1e-9  # relative width below which a plateau is taken for rounding

#: One array for each column, one entry for each candidate.
Table = dict[str, Any]
Columns = dict[str, type]  # names of the columns, and the types of their entries


class Plateau(NamedTuple):
    """A number k of clusters or features, and the penalties between which it is optimal.

    A cluster must save its opening cost: the penalty and, with a prior, the cost of the prior for
    one more cluster. ``prices`` are the opening costs between which k would be optimal, None where
    they equal the penalties.
    """

    k: int
    low: float
    high: float
    prices: tuple[float, float] | None = None

    @property
    def width(self) -> float:
        """Width in the logarithm of the opening cost; infinite where it begins at zero."""
        low, high = self.prices or (self.low, self.high)
        return float(np.log(high / low)) if low > 0 else float("inf")

    @property
    def middle(self) -> float:
        """Penalty in the geometric middle; half the upper end where opening costs begin at zero."""
        prior = max(0.0, self.prices[1] - self.high) if self.prices else 0.0
        low, high = self.low + prior, self.high + prior
        if low <= 0:
            return self.high / 2
        if not prior:
            return float(np.sqrt(low) * np.sqrt(high))
        # sqrt(low high) - prior, without cancellation where the prior's cost is large.
        return self.low + low * float(np.expm1(0.5 * np.log1p((self.high - self.low) / low)))

    def with_prices(self, factor: float, more: float = 0.0) -> Plateau:
        """Return the plateau with costs and penalties times ``factor`` plus ``more``."""
        prices = self.prices and (factor * self.prices[0] + more, factor * self.prices[1] + more)
        return Plateau(self.k, factor * self.low + more, factor * self.high + more, prices)


class CutPlateau(Plateau):
    """A plateau of graphs, where penalties are below zero."""

    @property
    def width(self) -> float:
        """Width in the logarithm of minus the penalty."""
        return float(np.log(self.low / self.high)) if self.high < 0 else float("inf")

    @property
    def middle(self) -> float:
        """Penalty in the geometric middle; half the lower end where penalties end at zero."""
        return -float(np.sqrt(self.low * self.high)) if self.high < 0 else self.low / 2


def lower_hull(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the vertices of the lower convex hull by increasing k, with the best fit of each."""
    best = dict(sorted(points, reverse=True))
    hull: list[tuple[int, float]] = []
    for k, fit in sorted(best.items()):
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], (k, fit)):
            hull.pop()
        hull.append((k, fit))
    return hull


def plateaus(points: list[tuple[int, float]], floor: float | None = None) -> list[Plateau]:
    """Return the plateaus of all vertices but the first and the last, by increasing k.

    The first is optimal up to an infinite penalty. The lower end of the last is unknown unless its
    fit term is zero, or unless it is given as ``floor``.
    """
    hull = lower_hull(points)
    found = []
    for at in range(1, len(hull)):
        high = -_slope(hull[at - 1], hull[at])
        if high <= 0:
            break
        if at < len(hull) - 1:
            low = max(0.0, -_slope(hull[at], hull[at + 1]))
        elif floor is not None or hull[at][1] == 0:
            low = floor or 0.0
        else:
            break
        if low < high * (1 - ROUNDING):
            found.append(Plateau(hull[at][0], low, high))
    return found


def widest(found: list[Plateau]) -> Plateau:
    """Return the widest plateau, among equals the one of least k."""
    return max(found, key=lambda plateau: (plateau.width, -plateau.k))


def _slope(first: tuple[int, float], second: tuple[int, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])


def penalty_at(number: int, plateaus: list[Plateau]) -> float:
    """Return the middle of the plateau of a number; zero where it has none and takes a cap."""
    return next((plateau.middle for plateau in plateaus if plateau.k == number), 0.0)


def table_of(rows: Iterable[tuple[Any, ...]], columns: Columns) -> Table:
    """Return the table of candidates, each a tuple with a number for each column."""
    numbers = np.array(list(rows), np.float64)
    return table_from(numbers.reshape(-1, len(columns)), columns)


def table_from(numbers: Floats, columns: Columns) -> Table:
    """Return the table of an array (candidates, columns)."""
    return {name: numbers[:, at].astype(dtype) for at, (name, dtype) in enumerate(columns.items())}


def numbers_of(table: Table) -> Floats:
    """Return a table as an array (candidates, columns) for a file."""
    return np.column_stack(list(table.values())).astype(np.float64)


def runs(fits: list[tuple[float, int]]) -> list[Plateau]:
    """Return the ranges of penalties over which fits of their own have one number of clusters.

    They end halfway between two penalties, in the logarithm.
    """
    fits = sorted(set(fits), reverse=True)
    borders = [float(np.sqrt(one[0] * two[0])) for one, two in pairwise(fits)]
    highs, lows = [fits[0][0], *borders], [*borders, fits[-1][0]]
    found: dict[int, Plateau] = {}
    for (_, k), high, low in zip(fits, highs, lows, strict=True):
        high = max(high, found[k].high) if k in found else high
        found[k] = Plateau(k, low, high)
    return [found[k] for k in sorted(found) if k > 1 and found[k].high > found[k].low]
