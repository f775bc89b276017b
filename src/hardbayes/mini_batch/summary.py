"""A summary of many rows: micro-clusters, each by its weight, its total and its scatter.

Weights and totals are pairs of numbers, a sum and what float64 drops of it, so that adding rows and
uniting micro-clusters loses nothing that float64 could show. The scatter of a micro-cluster,
``sum_i w_i D(x_i, mu)`` around its own mean, follows by an identity of Bregman divergences that
cancels nowhere: ``S = S_a + S_b + n_a D(mu_a, mu) + n_b D(mu_b, mu)`` where a and b unite. So for
any centres that do not divide a micro-cluster, the cost of all rows seen is that of the weighted
means and the scatter, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Totals, no_totals
from hardbayes.dp_means.moves.merges import nearest_partners

if TYPE_CHECKING:
    from hardbayes.core.frame import Frame
    from hardbayes.core.geometry import Geometry
    from hardbayes.core.pool import Pool
    from hardbayes.dp_means.objective import Partition

Numbers = NDArray[np.intp]

# A micro-cluster whose weight has decayed to this part of all weight is given up: it no longer
# shows in any sum. Smaller numbers would keep it until it underflows.
FADED = 2.0**-80


@dataclass
class Summary:
    """Micro-clusters in order of creation, in working coordinates."""

    totals: Totals  # (m, d): sums and what float64 drops of them
    scatter: Floats  # (m,)

    @classmethod
    def of_nothing(cls, n_columns: int) -> Summary:
        """Return the summary of no rows."""
        return cls(no_totals(0, n_columns), np.zeros(0))

    def __len__(self) -> int:
        return len(self.scatter)

    @property
    def weights(self) -> Floats:
        """Weights (m,)."""
        return self.totals.weight_coarse + self.totals.weight_fine

    @property
    def sums(self) -> Floats:
        """Weighted sums of rows (m, d)."""
        return self.totals.coarse + self.totals.fine

    def means(self, geometry: Geometry) -> Floats:
        """Return the means (m, d)."""
        return geometry.inside(self.sums / self.weights[:, np.newaxis])

    def take(self, numbers: Numbers) -> Summary:
        """Return some micro-clusters."""
        return Summary(Totals(*(part[numbers] for part in self.totals)), self.scatter[numbers])

    def followed_by(self, other: Summary) -> Summary:
        """Return these micro-clusters and others after them."""
        pairs = zip(self.totals, other.totals, strict=True)
        totals = Totals(*(np.concatenate(pair) for pair in pairs))
        return Summary(totals, np.concatenate([self.scatter, other.scatter]))

    def scaled(self, factor: float) -> Summary:
        """Return the summary with all weights multiplied by a factor; powers of two are exact."""
        totals = Totals._make([*(part * factor for part in self.totals[:4]), self.totals.touched])
        return Summary(totals, self.scatter * factor)

    def in_frame(self, own: Frame, other: Frame) -> Summary:
        """Return the summary of the same rows as they are seen through another frame."""
        if own.scale == other.scale and (own.shift == other.shift).all():
            return self
        ratio = other.scale / own.scale
        totals = self.totals._replace(
            coarse=self.totals.coarse * ratio, fine=self.totals.fine * ratio
        )
        moved = Summary(totals, self.scatter * ratio**own.degree)
        gap = (own.shift - other.shift) * other.scale
        for weights in (self.totals.weight_coarse, self.totals.weight_fine):
            product = weights[:, np.newaxis] * gap
            rest = product_error(weights[:, np.newaxis], gap, product)
            every = np.arange(len(self))
            add_pairs(totals.coarse, totals.fine, every, product, rest)
        return moved

    def with_room(self, more: int) -> Summary:
        """Return the summary with so many empty micro-clusters at its end."""
        nothing = Summary(no_totals(more, self.totals.coarse.shape[1]), np.zeros(more))
        return self.followed_by(nothing)

    def add(self, numbers: Numbers, other: Totals) -> None:
        """Add weights and sums (k, d) to these micro-clusters, each of them once."""
        add_pairs(self.totals.coarse, self.totals.fine, numbers, other.coarse, other.fine)
        add_pairs(
            self.totals.weight_coarse, self.totals.weight_fine, numbers,
            other.weight_coarse, other.weight_fine,
        )  # fmt: skip

    def unite(self, kept: Numbers, gone: Numbers, geometry: Geometry) -> None:
        """Add each of ``gone`` (k,) to the one of ``kept`` (k,) beside it; no number is twice."""
        old = [(self.weights[which], self.take(which).means(geometry)) for which in (kept, gone)]
        lost = self.take(gone)
        self.add(kept, lost.totals)
        means = self.take(kept).means(geometry)
        more = sum(weights * geometry.divergence(centres, means) for weights, centres in old)
        self.scatter[kept] += lost.scatter + more


def add_pairs(
    high: Floats, low: Floats, at: Numbers, other_high: Floats, other_low: Floats
) -> None:
    """IN/OUT high, low: numbers in two parts, of which those ``at`` these places grow by others.

    Knuth's two-sum keeps what the sum of the high parts drops. Nothing is dropped but what is
    2^-100 of the sum; sums of integers, and of multiples of any power of two, are exact.
    """
    a, b = high[at], other_high
    total = a + b
    back = total - a
    rest = (low[at] + other_low) + ((a - (total - back)) + (b - back))
    high[at] = total + rest
    low[at] = rest - (high[at] - total)


SPLIT = 134217729.0  # 2^27 + 1: Veltkamp's split of a number in two halves


def product_error(a: Floats, b: Floats, product: Floats) -> Floats:
    """Return what float64 drops of products (Dekker)."""
    a_high = SPLIT * a - (SPLIT * a - a)
    b_high = SPLIT * b - (SPLIT * b - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def reduce(
    summary: Summary, partition: Partition, most: int, pool: Pool
) -> tuple[Summary, Numbers, float]:
    """Unite the pairs that cost least until so many micro-clusters are left.

    Return them, into which one each (m,) went, and what the dearest union cost. The cost is exact,
    ``n_a n_b / (n_a + n_b) |mu_a - mu_b|^2`` for squared distances. A micro-cluster takes part in
    one union, then all costs are computed anew.
    """
    summary, geometry = summary.with_room(0), partition.geometry  # a copy
    into = np.arange(len(summary))  # which of the old numbers each is now in
    left, dearest = np.arange(len(summary)), 0.0
    while len(left) > most:
        some = summary.take(left)
        centres = partition.centres(some.weights, some.sums)
        partners, costs = nearest_partners(partition, some.weights, centres, pool=pool)
        kept, gone, last = _disjoint_pairs(partners, costs, len(left) - most)
        dearest = max(dearest, last)
        summary.unite(left[kept], left[gone], geometry)
        goes = np.arange(len(summary))
        goes[left[gone]] = left[kept]
        into = goes[into]
        left = np.delete(left, gone)
    number = np.full(len(summary), -1)
    number[left] = np.arange(len(left))
    return summary.take(left), number[into], dearest


def _disjoint_pairs(partners: Numbers, costs: Floats, most: int) -> tuple[Numbers, Numbers, float]:
    """Return the cheapest unions with nearest partners in which no number is twice.

    The older number of each pair comes first; then the cost of the dearest.
    """
    free = np.ones(len(partners), bool)
    pairs, dearest = [], 0.0
    for a in np.argsort(costs, kind="stable"):
        b = partners[a]
        if free[a] and free[b]:
            free[[a, b]] = False
            pairs.append((min(a, b), max(a, b)))
            dearest = float(costs[a])
            if len(pairs) == most:
                break
    kept, gone = np.array(pairs).T
    return kept, gone, dearest


def without_faded(summary: Summary, geometry: Geometry) -> tuple[Summary, Numbers]:
    """Give up micro-clusters that have decayed to nothing; return into which others (m,) they go.

    Their rows count for the nearest ones from now on, to which they add nothing.
    """
    weights = summary.weights
    alive = weights > FADED * weights.max(initial=0.0)
    numbers = np.cumsum(alive) - 1
    if alive.all() or not alive.any():
        return summary.take(np.flatnonzero(alive)), np.where(alive, numbers, -1)
    kept = summary.take(np.flatnonzero(alive))
    gone = np.flatnonzero(~alive & (weights > 0))
    numbers[~alive] = 0
    if len(gone):
        between = geometry.between(summary.take(gone).means(geometry), kept.means(geometry))
        numbers[gone] = between.argmin(axis=1)
    return kept, numbers
