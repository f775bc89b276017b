"""Which number of things is optimal at which penalty: the lower convex hull of their fit terms.

``fit_k + penalty * k`` is least at a vertex of the lower hull of the points (k, fit_k), for
penalties between the slopes on its two sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ROUNDING = 1e-9  # of a penalty: a plateau no wider is none


class Plateau(NamedTuple):
    """A number of things and the penalties between which it is optimal.

    A cluster must save its price: the penalty and, with a prior, what the prior takes for one more.
    ``prices`` are those between which the number would be optimal, None where they are the
    penalties.
    """

    k: int
    low: float
    high: float
    prices: tuple[float, float] | None = None

    @property
    def width(self) -> float:
        """Width in the logarithm of the price; infinite where prices begin at zero."""
        low, high = self.prices or (self.low, self.high)
        return float(np.log(high / low)) if low > 0 else float("inf")

    @property
    def middle(self) -> float:
        """The penalty in the geometric middle; half the upper end where prices begin at zero."""
        prior = max(0.0, self.prices[1] - self.high) if self.prices else 0.0
        low, high = self.low + prior, self.high + prior
        if low <= 0:
            return self.high / 2
        if not prior:
            return float(np.sqrt(low) * np.sqrt(high))
        # sqrt(low high) - prior, without cancelling where the prior takes much.
        return self.low + low * float(np.expm1(0.5 * np.log1p((self.high - self.low) / low)))

    def with_prices(self, factor: float, more: float = 0.0) -> Plateau:
        """Return the plateau with penalties and prices multiplied, and raised by ``more``."""
        prices = self.prices and (factor * self.prices[0] + more, factor * self.prices[1] + more)
        return Plateau(self.k, factor * self.low + more, factor * self.high + more, prices)


def lower_hull(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the vertices of the lower convex hull, by increasing k; the best fit of each k."""
    best = dict(sorted(points, reverse=True))
    hull: list[tuple[int, float]] = []
    for k, fit in sorted(best.items()):
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], (k, fit)):
            hull.pop()
        hull.append((k, fit))
    return hull


def plateaus(points: list[tuple[int, float]], floor: float | None = None) -> list[Plateau]:
    """Return the plateaus of all vertices but the first and the last, from few things to many.

    The first would be optimal up to an infinite penalty. The last is known on one side only, unless
    nothing follows it: where its fit term is zero, or down to a penalty ``floor`` that is known.
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
    """Return the widest plateau, the one of fewer things among equals."""
    return max(found, key=lambda plateau: (plateau.width, -plateau.k))


def _slope(first: tuple[int, float], second: tuple[int, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])
