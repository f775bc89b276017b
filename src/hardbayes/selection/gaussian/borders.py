"""Neighbouring clusters of a partition, which may be two or parts of one.

They are two if rows thin out between them, by the dip test along the ratio of their likelihoods;
or, where clusters look Gaussian, if two are much likelier than one. A gain in likelihood alone says
little: a box in two halves gains nothing, an exponential cloud as much as two Gaussians four
standard deviations apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.moves.gaussian.candidates import nearest_means
from hardbayes.selection.gaussian.clusters import (
    N_CANDIDATES,
    clusters_of,
    discriminants,
    shrunk_covariances,
)
from hardbayes.selection.gaussian.evidence import gain_of_two, likeliest_prior
from hardbayes.structure.gaussians import Gaussians, united

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids
    from hardbayes.matrices import Floats

VALLEY = 0.05  # p-value of a dip at which rows thin out between two clusters
SURE = 3.0  # nats by which two clusters are likelier than one for certain
PRIOR_ROWS = (2.0, 32.0, 512.0)  # by which a pair is judged as if there were no others
MIN_ROWS = 8  # of a pair, for a dip
# Times the squared number of rows for a covariance: with fewer, either half of the rows is judged
# by the moments of the other.
CROSS_VALIDATED = 5.0
# A pair are neighbours if so many rows have them as their nearest two: a number, and a share.
LEAST_BETWEEN = 3
LEAST_SHARE = 0.02


class Rule(NamedTuple):
    """What, besides a valley, makes two clusters of neighbours."""

    hint: float  # p-value of a dip that suffices if two are likelier by `SURE` nats
    gain: float  # by which they must be likelier without any valley: see `Border.gain`


LIKELY = Rule(0.2, 1.25)
# Where clusters do not look Gaussian, being likelier says nothing: only valleys count.
STRICT = Rule(0.0, np.inf)


class Border(NamedTuple):
    """What speaks for two neighbours being two."""

    nats: float  # by which they are likelier than their union, as parts of the partition
    # The same for each row, over the square root of half the columns, as if there were no others.
    gain: float
    p_value: float  # of the dip

    def separates(self, rule: Rule) -> bool:
        """Whether they are two."""
        has_hint = self.nats > SURE and self.p_value <= rule.hint
        return self.p_value <= VALLEY or has_hint or self.gain >= rule.gain


class Borders:
    """Borders between the clusters of a partition, some of which may merge.

    Parameters
    ----------
    rows : MixtureRows
        Rows of the partition.
    labels : array (n,)
    k : int
    dip_rows : MixtureRows
        The same rows, or more: those that dips are computed of.
    guess : array, optional
        A cluster near to each of ``dip_rows``; not necessary.
    """

    def __init__(
        self,
        rows: MixtureRows,
        labels: Ids,
        k: int,
        dip_rows: MixtureRows,
        guess: Ids | None = None,
    ) -> None:
        self.rows, self.dip_rows = rows, dip_rows
        self.names = np.arange(k)  # (k,): what each cluster is a part of
        self.clusters = clusters_of(rows, labels, k)
        self.prior = likeliest_prior(rows, self.clusters)[0]
        same = dip_rows is rows
        first, second = nearest_two(
            rows, self.clusters, self.prior.pooled_rows, dip_rows, labels if same else guess
        )
        seen = labels if same else first
        self.guess = first
        # Moments of all rows, and of either half of them.
        self._halves = np.arange(dip_rows.n) % 2
        both = clusters_of(dip_rows, seen + k * self._halves, 2 * k)
        self._moments = [
            clusters_of(dip_rows, seen, k),
            both.pick(np.arange(k)),
            both.pick(np.arange(k, 2 * k)),
        ]
        order, places = dip_rows.by_cluster(seen, k)
        self._members = np.split(order, places[1:-1])
        self._pooled = [m.scatters.sum(axis=0) / m.weights.sum() for m in self._moments]
        self._shares = self.prior.of_shares(k) - self.prior.of_shares(k - 1)
        self._found: dict[tuple[int, int], Border] = {}
        self._neighbours = _neighbours(first, second, self._moments[0].weights, self.clusters.means)

    def pairs(self) -> list[tuple[int, int]]:
        """Return all pairs of neighbours."""
        return [(a, b) for a, near in enumerate(self._neighbours) for b in sorted(near) if a < b]

    def between(self, pairs: Sequence[tuple[int, int]]) -> list[Border]:
        """Return the borders of pairs of clusters; they are remembered."""
        new = [pair for pair in pairs if pair not in self._found]
        if new:
            lefts, rights = np.array(new).T
            nats = self._nats(lefts, rights)
            weights = self.clusters.weights[lefts] + self.clusters.weights[rights]
            gains = gain_of_two(self.rows, self.clusters, lefts, rights, PRIOR_ROWS)
            gains /= weights * np.sqrt(max(2, self.rows.d) / 2)
            for pair, value, gain in zip(new, nats.tolist(), gains.tolist(), strict=True):
                self._found[pair] = Border(value, gain, self._p_value(*pair))
        return [self._found[pair] for pair in pairs]

    def weakest(self, rule: Rule) -> tuple[int, int] | None:
        """Return the neighbours that are least likely two, or None where all are."""
        pairs = self.pairs()
        found = zip(self.between(pairs), pairs, strict=True)
        weak = [(border.gain, *pair) for border, pair in found if not border.separates(rule)]
        return min(weak)[1:] if weak else None

    def separate(self, rule: Rule, share: float = 1.0) -> bool:
        """Whether at least this share of all neighbours are two; the doubtful ones come first."""
        pairs = self.pairs()
        if not pairs:
            return True
        lefts, rights = np.array(pairs).T
        weights = self.clusters.weights[lefts] + self.clusters.weights[rights]
        spare = int((1.0 - share) * len(pairs))
        for at in np.argsort(self._nats(lefts, rights) / weights, kind="stable"):
            spare -= not self.between([pairs[at]])[0].separates(rule)
            if spare < 0:
                return False
        return True

    def merge(self, a: int, b: int) -> None:
        """Make cluster b a part of a."""
        for moments in (self.clusters, *self._moments):
            _unite(moments, a, b)
        self.names[self.names == b] = a
        self._members[a] = np.sort(np.concatenate([self._members[a], self._members[b]]))
        self._members[b] = self._members[b][:0]
        for c in self._neighbours[b] - {a}:
            self._neighbours[c].add(a)
            self._neighbours[a].add(c)
        for near in self._neighbours:
            near.discard(b)
        self._neighbours[b].clear()
        self._found = {pair: border for pair, border in self._found.items() if not {a, b} & {*pair}}

    def _nats(self, lefts: Ids, rights: Ids) -> Floats:
        """Return by how much pairs (m,) are likelier than their unions, as parts of all."""
        left, right = self.clusters.pick(lefts), self.clusters.pick(rights)
        each = self.prior.of_each
        return each(left) + each(right) - each(united(left, right)) + self._shares

    def _p_value(self, a: int, b: int) -> float:
        """Return the p-value of the dip along the difference of distances from two clusters.

        Covariances are as like each other as they are in the likeliest prior of all clusters.
        """
        pair, rows = np.array([a, b]), self.dip_rows
        ids = np.concatenate([self._members[a], self._members[b]])
        whole, *halves = (moments.pick(pair) for moments in self._moments)
        all_pooled, *half_pooled = self._pooled
        if not (whole.weights > 0).all() or len(ids) < MIN_ROWS:
            return 1.0
        enough = CROSS_VALIDATED * rows.least_rows * (rows.least_rows + 1)
        if whole.weights.sum() >= enough:
            return rows.dip_p_value(ids, self._ratios(ids, whole, all_pooled))
        ids = ids[np.argsort(self._halves[ids], kind="stable")]
        parts = np.split(ids, [int(np.count_nonzero(self._halves[ids] == 0))])
        if not all((half.weights > 0).all() for half in halves):
            return 1.0
        others = halves[::-1], half_pooled[::-1]
        values = [self._ratios(*of_part) for of_part in zip(parts, *others, strict=True)]
        return rows.dip_p_value(ids, np.concatenate(values))

    def _ratios(self, ids: Ids, pair: Gaussians, pooled: Floats) -> Floats:
        return ratios(self.dip_rows, ids, pair, self.prior.pooled_rows, pooled)


def nearest_two(
    rows: MixtureRows,
    clusters: Gaussians,
    pooled_rows: float,
    others: MixtureRows,
    guess: Ids | None = None,
) -> tuple[Ids, Ids]:
    """Return the two likeliest clusters (n,), (n,) of other rows; without a guess, of all."""
    roots, offsets = discriminants(rows, clusters, pooled_rows)
    near = nearest_means(clusters.means, roots, N_CANDIDATES if guess is not None else clusters.k)
    guess = np.zeros(others.n, np.int64) if guess is None else guess
    return others.two_nearest(clusters.means, roots, offsets, near, guess)


def ratios(
    rows: MixtureRows, ids: Ids, pair: Gaussians, pooled_rows: float, pooled: Floats | None = None
) -> Floats:
    """Return by how much rows are farther from the first of two clusters, each in its own metric.

    Covariances are shrunk to ``pooled`` (h, d), or to the pooled one of the two.
    """
    roots = rows.factorised(shrunk_covariances(rows, pair, pooled_rows, pooled))[0]
    return rows.distance_differences(ids, pair.means, roots)


def _neighbours(first: Ids, second: Ids, weights: Floats, means: Floats) -> list[set[int]]:
    """Return the neighbours of each cluster, from the two nearest clusters of rows."""
    k = len(means)
    pairs, counts = np.unique(
        np.minimum(first, second) * k + np.maximum(first, second), return_counts=True
    )
    lefts, rights = np.divmod(pairs, k)
    least = np.maximum(LEAST_BETWEEN, LEAST_SHARE * np.minimum(weights[lefts], weights[rights]))
    near: list[set[int]] = [set() for _ in range(k)]
    for a, b in zip(lefts[counts >= least].tolist(), rights[counts >= least].tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    for c in range(k):
        if not near[c]:
            gaps = ((means - means[c]) ** 2).sum(axis=1)
            gaps[c] = np.inf
            b = int(np.argmin(gaps))
            near[c].add(b)
            near[b].add(c)
    return near


def _unite(clusters: Gaussians, a: int, b: int) -> None:
    """IN/OUT clusters: a becomes the union of both, b empty."""
    if clusters.weights[a] + clusters.weights[b] > 0:
        one = united(clusters.pick([a]), clusters.pick([b]))
        for array, value in zip(clusters, one, strict=True):
            array[a] = value[0]
    clusters.weights[b] = 0.0
