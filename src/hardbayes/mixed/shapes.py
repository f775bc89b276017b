"""Columns of numbers made comparable: symmetric, without far values, of variance one, with floors.

*Skew.* A skewed column is replaced by its logarithm or its Yeo-Johnson transform where that is
less skewed, and values far beyond the others are drawn in, so that tails are no clusters.

*Floors.* A column in steps has, within a cluster of one value, no variance at all: clusters of one
value each would be infinitely good. The floor is the variance that a cell is taken to have: the
least one at which no division along the steps of this column alone lowers the objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr, xlog1py

from hardbayes.core.arrays import Floats

SKEWED = 0.5  # absolute skewness above which a column is transformed (a convention)
BETTER = 0.05  # by which another transform must be less skewed than the logarithm
FAR = 3.0  # robust standard deviations from the median beyond which values are drawn in
NARROW_SIDE = 0.3  # of the wider side is the least unit of the narrower one
# The least floor: a cell is known to a thirtieth of the column's standard deviation. A larger one
# blurs narrow clusters, a smaller one lets equal values in a few rows make one.
LEAST_FLOOR = 1e-3
# A column is in steps if it has at most so many different values, or this share of the rows; or if
# almost all of its entries repeat, and there are fewer values than this share.
FEW_VALUES, FEW_SHARE = 12, 0.05
REPEATED, REPEATED_SHARE = 0.9, 0.3
# Times both steps beside it: a wider one is a gap between groups of values, and no floor hides it.
GAP = 3.0
PART = 0.1  # of the rows: a part between gaps with fewer has no say in the floor
_QUANTILES = 512  # of a column, from which its transform is found
DEAREST = 1e100  # what an exponent that overflows costs: no other costs so much

AS_IT_IS, LOGARITHM, YEO_JOHNSON = 0.0, 1.0, 2.0  # names, as files hold them


class Shape(NamedTuple):
    """How the numbers of a column are coded: all are numbers, as a file holds them."""

    transform: float  # AS_IT_IS, LOGARITHM or YEO_JOHNSON
    shift: float
    unit: float
    exponent: float
    low: float  # ends between which values are drawn, after the transform
    high: float
    mean: float
    deviation: float
    floor: float

    def code(self, values: Floats) -> Floats:
        """Return numbers (n,) as they are compared; NaN stays."""
        return (self.bend(values) - self.mean) / self.deviation

    def bend(self, values: Floats) -> Floats:
        """Return numbers (n,) transformed, those far away drawn in."""
        scaled = (values - self.shift) / self.unit
        if self.transform == LOGARITHM:
            tiny = np.finfo(np.float64).tiny
            scaled = np.log(np.maximum(values, tiny))
        elif self.transform == YEO_JOHNSON:
            scaled = yeo_johnson(scaled, self.exponent)
        return np.clip(scaled, self.low, self.high)


def shape_of(values: Floats, weights: Floats) -> Shape:
    """Return how a column of numbers (n,), none of them missing, is coded."""
    ranked = Ranked.of(values, weights)
    low, middle, high = ranked.quantiles([0.1, 0.5, 0.9])
    unit = float((high - low) / 2.56) or ranked.deviation() or 1.0
    least = float(ranked.values[0])
    plain = Shape(AS_IT_IS, middle, unit, 1.0, -np.inf, np.inf, 0, 1, 0)
    tried = [_drawn_in(plain, ranked)]
    skew = ranked.clipped(middle - 50 * unit, middle + 50 * unit).skewness()
    if abs(skew) > SKEWED:
        if least > 0 and skew > 0:
            tried.append(_drawn_in(plain._replace(transform=LOGARITHM), ranked))
        from_least = least >= 0 or skew > 0
        bent = plain._replace(transform=YEO_JOHNSON, shift=least if from_least else middle)
        bent = bent._replace(exponent=_exponent(ranked, bent))
        tried.append(_drawn_in(bent, ranked))
    skews = [abs(_of(each, ranked).skewness()) for each in tried]
    best = min(range(len(tried)), key=lambda at: skews[at] + BETTER * (at == 2))
    chosen = tried[best]
    coded = _of(chosen, ranked)
    mean, deviation = coded.mean(), coded.deviation() or 1.0
    chosen = chosen._replace(mean=mean, deviation=deviation, floor=LEAST_FLOOR)
    if not is_lattice(ranked):
        return chosen
    atoms = np.unique(ranked.values)
    counts = np.bincount(np.searchsorted(atoms, ranked.values), ranked.weights)
    floor = floor_of_steps(chosen.code(atoms), counts / counts.sum(), atoms)
    return chosen._replace(floor=max(LEAST_FLOOR, floor))


def is_lattice(ranked: Ranked) -> bool:
    """Whether a column is in steps: its values repeat."""
    n = len(ranked.values)
    counts = np.unique(ranked.values, return_counts=True)[1]
    few = len(counts) <= max(FEW_VALUES, FEW_SHARE * n)
    repeated = counts[counts > 1].sum() > REPEATED * n and len(counts) < REPEATED_SHARE * n
    return bool(few or repeated)


def floor_of_steps(values: Floats, shares: Floats, raw: Floats) -> float:
    """Return the floor of a column in steps: of its values (m,), coded and ``raw``, with shares.

    At a gap, a step wider than those beside it, a division may pay: on each of its sides no other
    may, and the largest floor of any part with enough rows counts.
    """
    steps = np.diff(raw)
    beside = np.maximum(np.r_[0.0, steps[:-1]], np.r_[steps[1:], 0.0])
    part = np.r_[0, np.cumsum((steps > GAP * beside) & (beside > 0))]
    floors = [
        floor_of_lattice(values[part == each], shares[part == each] / shares[part == each].sum())
        for each in np.unique(part)
        if shares[part == each].sum() >= PART
    ]
    return max(floors, default=0.0)


def floor_of_lattice(values: Floats, shares: Floats) -> float:
    """Return the least variance of a cell at which no division of values (m,) in order pays.

    A division whose labels have the entropy H pays if ``log (v + f) / (w + f) > 2 H``, where v is
    the variance and w that within the parts. Divisions are all values apart, and cuts between two.
    """
    ends = np.diff(values) > 0  # values that were drawn in are one
    if not ends.all():
        shares = np.bincount(np.r_[0, np.cumsum(ends)], shares).astype(np.float64)
        values = values[np.r_[True, ends]]
    if len(values) < 2:
        return 0.0
    mean = shares @ values
    variance = shares @ (values - mean) ** 2
    apart = variance / np.expm1(2 * entr(shares).sum())
    below = np.cumsum(shares)[:-1]
    lower = np.cumsum(shares * (values - mean))[:-1]
    within = variance - lower**2 / (below * (1 - below))
    growth = np.exp(2 * (entr(below) + entr(1 - below)))
    cuts = (variance - within * growth) / (growth - 1)
    return float(max(apart, cuts.max()))


class Ranked(NamedTuple):
    """A column in order, with weights; what is measured of it."""

    values: Floats
    weights: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> Ranked:
        """Return these numbers (n,) with these weights (n,), sorted."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], weights[order] / weights.sum())

    def mean(self) -> float:
        """Return the mean."""
        return float(self.weights @ self.values)

    def deviation(self) -> float:
        """Return the standard deviation."""
        return self._moments()[0]

    def skewness(self) -> float:
        """Return the third moment in standard deviations; zero of a constant."""
        return self._moments()[1]

    def _moments(self) -> tuple[float, float]:
        """Return the deviation and the skewness: in units in which no power overflows."""
        apart = self.values - self.mean()
        size = float(np.abs(apart).max())
        if size == 0:
            return 0.0, 0.0
        apart /= size
        deviation = float(np.sqrt(self.weights @ apart**2))
        return size * deviation, float(self.weights @ (apart / deviation) ** 3)

    def clipped(self, low: float, high: float) -> Ranked:
        """Return the numbers drawn in to both ends."""
        return Ranked(np.clip(self.values, low, high), self.weights)

    def quantiles(self, shares: list[float] | Floats) -> Floats:
        """Return the least values that such shares of the weight do not lie above."""
        heap = np.cumsum(self.weights)
        at = np.searchsorted(heap, np.asarray(shares) * heap[-1] * (1 - 1e-12))
        return self.values[np.minimum(at, len(heap) - 1)]


def _of(shape: Shape, ranked: Ranked) -> Ranked:
    return Ranked(shape.bend(ranked.values), ranked.weights)


def _drawn_in(shape: Shape, ranked: Ranked) -> Shape:
    """Return a shape with the ends beyond which values are drawn in."""
    bent = _of(shape, ranked)
    low, middle, high = bent.quantiles([0.16, 0.5, 0.84])
    spread = bent.deviation()
    up, down = high - middle or spread, middle - low or spread
    return shape._replace(
        low=float(middle - FAR * max(down, NARROW_SIDE * up)),
        high=float(middle + FAR * max(up, NARROW_SIDE * down)),
    )


def _exponent(ranked: Ranked, shape: Shape) -> float:
    """Return the exponent at which the transform of a column is likeliest as a normal sample."""
    points = ranked.quantiles((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    scaled = (points - shape.shift) / shape.unit
    slopes = float(np.mean(np.sign(scaled) * np.log1p(np.abs(scaled))))

    def cost(exponent: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            variance = np.var(yeo_johnson(scaled, exponent))
        if not np.isfinite(variance) or variance <= 0:
            return DEAREST
        return float(0.5 * np.log(variance) - (exponent - 1) * slopes)

    return float(minimize_scalar(cost, bounds=(-4.0, 4.0), method="bounded").x)


def yeo_johnson(values: Floats, exponent: float) -> Floats:
    """Return the transform of Yeo and Johnson (2000) of numbers (n,); NaN stays."""
    found = np.empty(values.shape)
    positive = ~(values < 0)
    for side, power, sign in ((positive, exponent, 1.0), (~positive, 2.0 - exponent, -1.0)):
        size = xlog1py(1.0, sign * values[side])
        found[side] = sign * (size if abs(power) < 1e-12 else np.expm1(power * size) / power)
    return found
