"""Borders between clusters, and whether held-out rows thin out on them.

Neighbouring clusters of a partition may be two or parts of one. They are two if rows thin out
between them, by the dip test along the ratio of their likelihoods. A gain in likelihood says
little: a box in two halves gains nothing, an exponential cloud as much as two Gaussians four
standard deviations apart.

Rows that had no part in finding the clusters judge as follows. Those whose two nearest clusters, in
one metric, are the same two fill a convex cell. Within it every log-concave density has one mode
along any line. So, whatever clusters other rows have led to, rows of one such cloud show no valley
between them, but by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.gaussian.choice.evidence import (
    N_CANDIDATES,
    common_discriminants,
    discriminants,
    gain_of_two,
    likeliest_prior,
    shrunk_covariances,
)
from hardbayes.gaussian.choice.path import Path, find_path
from hardbayes.gaussian.problem import Gaussians, merge_pairs, nearest_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardbayes.core.arrays import Floats
    from hardbayes.core.centre_free import Ids
    from hardbayes.gaussian.mixture import MixtureRows


# P-value of a dip at which rows thin out between two clusters: a higher one keeps more of them
# apart (benchmarks.choosing).
VALLEY = 0.05
PRIOR_ROWS = (2.0, 32.0, 512.0)  # by which a pair is judged as if there were no others
MIN_PAIR_ROWS = 8  # of a pair, for a dip
# Times the squared number of rows for a covariance: with fewer, either half of the rows is judged
# by the moments of the other.
CROSS_VALIDATED = 5.0
# A pair are neighbours if so many rows have them as their nearest two: a number, and a share.
MIN_BETWEEN = 3
MIN_SHARE = 0.02
N_HALVINGS = 4  # of the rows, at most
MAX_ROWS = 1 << 13  # that are halved
MIN_SIDE_ROWS = 5  # on either side of a border
# Of all borders together, for each halving; uniform rows reach it. A higher one finds more
# clusters, and divides more draws without any (benchmarks.choosing).
LEVEL = 0.01
MIN_CLUSTERS = 32  # to which the path of a half goes at least


class Border(NamedTuple):
    """What speaks for two neighbours being two."""

    gain: float  # nats a row by which two are likelier than one, as if there were no others
    p_value: float  # of the dip

    @property
    def separates(self) -> bool:
        """Whether they are two."""
        return self.p_value <= VALLEY


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
        self.clusters = rows.statistics(labels, k)
        self.prior = likeliest_prior(rows, self.clusters)[0]
        same = dip_rows is rows
        first, second = self._nearest_two(labels if same else guess)
        seen = labels if same else first
        self.guess = first
        # Moments of all rows, and of either half of them.
        self._halves = np.arange(dip_rows.n) % 2
        both = dip_rows.statistics(seen + k * self._halves, 2 * k)
        self._moments = [
            dip_rows.statistics(seen, k),
            both.pick(np.arange(k)),
            both.pick(np.arange(k, 2 * k)),
        ]
        order, places = dip_rows.by_cluster(seen, k)
        self._members = np.split(order, places[1:-1])
        self._pooled = [m.scatters.sum(axis=0) / m.weights.sum() for m in self._moments]
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
            gains = gain_of_two(self.rows, self.clusters, lefts, rights, PRIOR_ROWS)
            gains /= self.clusters.weights[lefts] + self.clusters.weights[rights]
            for pair, gain in zip(new, gains.tolist(), strict=True):
                self._found[pair] = Border(gain, self._p_value(*pair))
        return [self._found[pair] for pair in pairs]

    def weakest(self) -> tuple[int, int] | None:
        """Return the neighbours that are least likely two, or None where all are."""
        pairs = self.pairs()
        found = zip(self.between(pairs), pairs, strict=True)
        weak = [(border.gain, *pair) for border, pair in found if not border.separates]
        return min(weak)[1:] if weak else None

    def merge(self, a: int, b: int) -> None:
        """Make cluster b a part of a."""
        for moments in (self.clusters, *self._moments):
            _merge(moments, a, b)
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

    def _p_value(self, a: int, b: int) -> float:
        """Return the p-value of the dip along the difference of distances from two clusters.

        Covariances are as like each other as they are in the likeliest prior of all clusters.
        """
        pair, rows = np.array([a, b]), self.dip_rows
        ids = np.concatenate([self._members[a], self._members[b]])
        whole, *halves = (moments.pick(pair) for moments in self._moments)
        all_pooled, *half_pooled = self._pooled
        if not (whole.weights > 0).all() or len(ids) < MIN_PAIR_ROWS:
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

    def _nearest_two(self, guess: Ids | None) -> tuple[Ids, Ids]:
        """Return the two likeliest clusters (n,), (n,) of rows; without a guess, of all."""
        clusters, rows = self.clusters, self.dip_rows
        roots, offsets = discriminants(self.rows, clusters, self.prior.pooled_rows)
        n_near = N_CANDIDATES if guess is not None else clusters.k
        near = nearest_means(clusters.means, roots, n_near)
        guess = np.zeros(rows.n, np.int64) if guess is None else guess
        return rows.two_nearest(clusters.means, roots, offsets, near, guess)

    def _ratios(self, ids: Ids, pair: Gaussians, pooled: Floats) -> Floats:
        """Return by how much rows are farther from the first of two clusters, each in its metric.

        Covariances are shrunk to ``pooled`` (h, d).
        """
        rows = self.dip_rows
        covariances = shrunk_covariances(rows, pair, self.prior.pooled_rows, pooled)
        return rows.distance_differences(ids, pair.means, rows.factorise(covariances)[0])


def _neighbours(first: Ids, second: Ids, weights: Floats, means: Floats) -> list[set[int]]:
    """Return the neighbours of each cluster, from the two nearest clusters of rows."""
    k = len(means)
    pairs, counts = np.unique(
        np.minimum(first, second) * k + np.maximum(first, second), return_counts=True
    )
    lefts, rights = np.divmod(pairs, k)
    least = np.maximum(MIN_BETWEEN, MIN_SHARE * np.minimum(weights[lefts], weights[rights]))
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


def _merge(clusters: Gaussians, a: int, b: int) -> None:
    """IN/OUT clusters: a becomes both together, b empty."""
    if clusters.weights[a] + clusters.weights[b] > 0:
        one = merge_pairs(clusters.pick([a]), clusters.pick([b]))
        for array, value in zip(clusters, one, strict=True):
            array[a] = value[0]
    clusters.weights[b] = 0.0


class HeldOut(NamedTuple):
    """What rows held out say."""

    # For each number k of clusters, the p-value of its borders, times k (k - 1): so the levels of
    # all numbers add up to one.
    p_values: dict[int, float]

    @property
    def p_value(self) -> float:
        """The less, the more speaks for several clusters."""
        return min(self.p_values.values(), default=1.0)

    @property
    def is_several(self) -> bool:
        """Whether rows thin out between some clusters."""
        return self.p_value <= LEVEL

    def among(self, path: Path) -> Path:
        """Return one cluster, and the partitions between whose own clusters rows thin out."""
        return {k: path[k] for k in path if k == 1 or self.p_values.get(k, 1.0) <= LEVEL}


class Case(NamedTuple):
    """Rows in which clusters were found, and others that judge them."""

    rows: MixtureRows
    path: Path
    others: MixtureRows


def held_out(rows: MixtureRows, path: Path, k: int, dip_rows: MixtureRows, unseen: Ids) -> HeldOut:
    """Return what speaks most for several clusters, k having been found.

    Where there are enough rows besides, ``unseen`` of ``dip_rows``, they judge those found; else
    random halves of the rows judge each other, several times if need be.
    """
    if 2 * len(unseen) >= rows.n:
        return _heard([Case(rows, path, dip_rows.part(unseen))], k)
    rng = np.random.RandomState(0)
    rows = dip_rows
    if rows.n > MAX_ROWS:
        rows = rows.part(np.sort(rng.permutation(rows.n)[:MAX_ROWS]))
    heard: list[HeldOut] = []
    while len(heard) < N_HALVINGS and not any(each.is_several for each in heard):
        order, middle = rng.permutation(rows.n), rows.n // 2
        halves = [rows.part(np.sort(ids)) for ids in (order[:middle], order[middle:])]
        paths = [find_path(half, max(MIN_CLUSTERS, 2 * k)) for half in halves]
        cases = [Case(*case) for case in zip(halves, paths, halves[::-1], strict=True)]
        heard.append(_heard(cases, k))
    return min(heard, key=lambda each: each.p_value)


def _heard(cases: list[Case], k: int) -> HeldOut:
    """Return what the other rows of all cases say."""
    p_values: dict[int, list[float]] = {}
    for case in cases:
        for j in case.path:
            if 1 < j <= max(2 * k, k + 2):
                p_values.setdefault(j, []).extend(_borders(case, j))
    return HeldOut({j: min(1.0, j * (j - 1) * simes(ps)) for j, ps in p_values.items()})


def simes(p_values: list[float]) -> float:
    """Return the p-value of several tests together (Simes 1986)."""
    if not p_values:
        return 1.0
    ordered = np.sort(p_values)
    return float((ordered * len(ordered) / np.arange(1, len(ordered) + 1)).min())


def _borders(case: Case, k: int) -> list[float]:
    """Return p-values of dips between neighbours, along the normal of the plane between them."""
    clusters = case.rows.statistics(case.path[k].labels, k)
    roots, offsets = common_discriminants(case.rows, clusters)
    others = case.others
    near = nearest_means(clusters.means, roots, k)
    guess = np.zeros(others.n, np.int64)
    first, second = others.two_nearest(clusters.means, roots, offsets, near, guess)
    root, found = roots[0], []
    for a, b, ids in _between(first, second, k):
        gap = clusters.means[b] - clusters.means[a]
        normal = root[0] ** 2 * gap if others.diagonal else root.T @ (root @ gap)
        found.append(others.dip_p_value(ids, others.jittered[ids] @ normal))
    return found


def _between(first: Ids, second: Ids, k: int) -> Iterator[tuple[int, int, Ids]]:
    """Yield neighbours and the rows whose nearest two they are, with enough on either side."""
    pair = np.minimum(first, second) * k + np.maximum(first, second)
    order = np.argsort(pair, kind="stable")
    for ids in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        a, b = divmod(int(pair[ids[0]]), k)
        n_first = int(np.count_nonzero(first[ids] == a))
        if min(n_first, len(ids) - n_first) >= MIN_SIDE_ROWS:
            yield a, b, ids
