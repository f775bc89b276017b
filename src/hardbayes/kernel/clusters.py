"""Clusters in the space of a Mercer kernel as a model without centres.

Clusters in the space of a Mercer kernel as a centre-free model.

A cluster in the space of a Mercer kernel in two: cuts along leading eigenvectors, then moves.

With M the weighted kernel ``w_i^1/2 K_ij w_j^1/2`` of the cluster, two halves save what ``z'Kz /
z'w`` summed over both exceeds that of the whole. The relaxation is the leading eigenvector of M
without the direction ``w^1/2``, which the whole cluster uses up (Kulis & Jordan 2012, Theorem 5.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import CentreFreeModel, Division, Ids, Unions, ratio, unions_of
from hardbayes.core.pool import one_blas_thread
from hardbayes.kernel.rows import GramRows

N_AXES = 3  # eigenvectors along which a cluster is cut
MOST_DENSE = 200  # rows up to which LAPACK is quicker than Lanczos iterations
MAX_PASSES = 8  # of single-row moves between the halves
TOLERANCE = 0.01  # of eigenvalues: an order of the rows needs no more


def halve(part: GramRows, rng: np.random.RandomState) -> tuple[float, NDArray[np.bool_]]:
    """Return how much the best halves found save, and which rows are in the second.

    Zero where there are none. All rows have weight.
    """
    whole = np.arange(part.n)
    nothing = np.zeros(part.n, np.bool_)
    if part.n < 2:
        return 0.0, nothing
    weights = part.weights
    linked = part.values(whole, whole) * weights * weights[:, np.newaxis]
    together = float(linked.sum() / weights.sum())
    best, saved = nothing, 0.0
    for order in _orders(linked, weights, rng):
        ratios = _cuts(linked[np.ix_(order, order)], weights[order])
        sides = np.zeros(part.n, np.int64)
        sides[order[: int(np.argmax(ratios)) + 1]] = 1
        volumes, links = part.statistics(sides, 2)
        sides, _ = part.move(sides, np.diag(links).copy(), volumes, 0.0, whole, MAX_PASSES)
        if not 0 < sides.sum() < part.n:
            continue
        volumes, links = part.statistics(sides, 2)
        gain = float((np.diag(links) / volumes).sum()) - together
        if gain > saved:
            best, saved = sides == 1, gain
    return saved, best


def _orders(linked: Floats, weights: Floats, rng: np.random.RandomState) -> list[Ids]:
    """Return orders of the rows: along leading eigenvectors, and by distance from the mean."""
    root = np.sqrt(weights)
    matrix = centred(linked / root / root[:, np.newaxis], weights)
    distances = np.diag(linked) / weights**2 - 2 * linked.sum(axis=1) / weights / weights.sum()
    vectors = _leading(matrix, rng) / root[:, np.newaxis]
    return [*np.argsort(vectors, axis=0, kind="stable").T, np.argsort(-distances, kind="stable")]


def centred(matrix: Floats, weights: Floats) -> Floats:
    """Return a weighted kernel matrix (m, m) without the direction of the roots of the weights."""
    used = np.sqrt(weights / weights.sum())
    along = matrix @ used
    return matrix - np.outer(used, along) - np.outer(along - (used @ along) * used, used)


def _leading(matrix: Floats, rng: np.random.RandomState) -> Floats:
    """Return a few eigenvectors (m, axes) of the largest eigenvalues."""
    m = len(matrix)
    n_axes = min(N_AXES, m)
    with one_blas_thread():
        if m > MOST_DENSE:
            start = rng.standard_normal(m)
            try:
                vectors = eigsh(matrix, n_axes, which="LA", v0=start, tol=TOLERANCE, maxiter=20)[1]
            except ArpackNoConvergence as error:
                vectors = error.eigenvectors
            if vectors.shape[1]:
                return vectors
        return eigh(matrix, subset_by_index=[m - n_axes, m - 1])[1]


def _cuts(linked: Floats, weights: Floats) -> Floats:
    """Return what the rows up to each but the last, and those after it, have inside by weight."""
    earlier = np.tril(linked, -1).sum(axis=1)
    inside = np.cumsum(2.0 * earlier + np.diag(linked))
    reach = np.cumsum(linked.sum(axis=1))
    outside = inside[-1] - 2.0 * reach + inside
    volumes = np.cumsum(weights)
    return (inside / volumes)[:-1] + outside[:-1] / (volumes[-1] - volumes[:-1])


TRIAL_ROWS = 1 << 10  # of a cluster on which its division is tried
MANY_ROWS = 1 << 13  # from which on a pass over all rows takes so long that few are made


class HalvedSample(NamedTuple):
    """Some rows of a cluster, and which are in its second half."""

    ids: Ids  # (m,)
    weights: Floats  # (m,)
    second: NDArray[np.bool_]  # (m,)


@dataclass(frozen=True, eq=False)
class GramClusters:
    """Clusters of these labels (n,); sums of kernel values are made when they are first read."""

    rows: GramRows
    labels: Ids
    k: int

    @cached_property
    def sums(self) -> tuple[Floats, Floats]:
        """Volumes (k,) and links (k, k)."""
        return self.rows.statistics(self.labels, self.k)

    @property
    def volumes(self) -> Floats:
        """Weights (k,) of the clusters."""
        return self.sums[0]

    @property
    def links(self) -> Floats:
        """Sums (k, k) of weighted kernel values between clusters."""
        return self.sums[1]

    @property
    def inside(self) -> Floats:
        """Sums (k,) within clusters."""
        return np.ascontiguousarray(np.diag(self.links))

    @cached_property
    def traces(self) -> Floats:
        """Sums (k,) of ``w_i K_ii``."""
        own = self.rows.weights * self.rows.diagonal
        return np.bincount(self.labels, own, self.k).astype(np.float64)


class GramModel(CentreFreeModel[GramClusters]):
    """Rows, what a partition of them costs, and the order (n,) in which they are visited."""

    def __init__(self, rows: GramRows, penalty: float, max_clusters: int, order: Ids) -> None:
        self.rows = rows
        self.order = order
        self.weights = rows.weights
        self.penalty = penalty
        self.max_clusters = max_clusters
        self.unit = float(np.sum(rows.weights * np.abs(rows.diagonal))) / rows.n
        self._last = GramClusters(rows, np.empty(0, np.int64), 0)

    def statistics(self, labels: Ids, k: int) -> GramClusters:
        """Return clusters of these labels, the last ones if these are the same."""
        if k != self._last.k or not np.array_equal(labels, self._last.labels):
            self._last = GramClusters(self.rows, labels, k)
        return self._last

    def costs(self, statistics: GramClusters) -> Floats:
        """Return the sum of squared distances from the mean of each cluster."""
        return statistics.traces - ratio(statistics.inside, statistics.volumes)

    def unions(self, statistics: GramClusters) -> Unions:
        """Return all unions of two clusters."""
        lefts, rights = np.triu_indices(statistics.k, 1)
        links = statistics.links[lefts, rights]
        return unions_of(statistics.inside, statistics.volumes, lefts, rights, links)

    def divide(
        self,
        members: list[Ids],
        statistics: GramClusters,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Division]:
        """Return halves along leading eigenvectors, found on a sample of a large cluster."""
        return [self._division(members[c], rng) for c in which]

    def _division(self, ids: Ids, rng: np.random.RandomState) -> Division:
        ids = ids[self.weights[ids] > 0]
        if len(ids) > TRIAL_ROWS:
            whole = self.weights[ids].sum()
            ids = np.sort(rng.choice(ids, TRIAL_ROWS, replace=False))
            weights = self.weights[ids] * (whole / self.weights[ids].sum())
        else:
            weights = self.weights[ids]
        saved, second = halve(self.rows.part(ids, weights), rng)
        return Division(saved, HalvedSample(ids, weights, second))

    def second_half(self, ids: Ids, division: Division) -> NDArray[np.bool_]:
        """Return which rows are nearer to the mean of the second half than to that of the first."""
        sample: HalvedSample = division.halves
        sides = np.full(len(ids), -1)
        sides[np.searchsorted(ids, sample.ids)] = sample.second
        rest = np.flatnonzero(sides < 0)
        if len(rest):
            members = np.stack([~sample.second, sample.second]) * sample.weights
            members /= members.sum(axis=1, keepdims=True)
            among = np.einsum(
                "sa,ab,sb->s", members, self.rows.values(sample.ids, sample.ids), members
            )
            for start in range(0, len(rest), TRIAL_ROWS):
                part = rest[start : start + TRIAL_ROWS]
                reach = self.rows.values(ids[part], sample.ids) @ members.T
                sides[part] = (among - 2.0 * reach).argmin(axis=1)
        return sides == 1

    def move_rows(self, labels: Ids, statistics: GramClusters, max_passes: int) -> tuple[Ids, int]:
        """Return labels after moves of single rows."""
        clusters = (statistics.inside, statistics.volumes)
        return self.rows.move(labels, *clusters, self.penalty, self.order, max_passes)

    def choose(self, statistics: GramClusters) -> Ids | None:
        """Return each row's nearest cluster; of many rows None, for moves do more in one pass."""
        if self.rows.n > MANY_ROWS:
            return None
        return self.nearest(statistics, np.arange(self.rows.n))[0]

    def nearest(self, statistics: GramClusters, ids: Ids) -> tuple[Ids, Floats]:
        """Return the nearest cluster (m,) of some rows, and its squared distance (m,)."""
        clusters = (statistics.labels, statistics.inside, statistics.volumes)
        labels, distances, _ = self.rows.sweep(*clusters, ids, np.inf, 0)
        return labels[ids], distances[ids]

    def distances(self, statistics: GramClusters, ids: Ids) -> Floats:
        """Return the squared distances (m,) of some rows from the means of their own clusters."""
        volumes, labels, everyone = statistics.volumes, statistics.labels, np.arange(self.rows.n)
        found = np.empty(len(ids))
        size = max(1, (1 << 21) // self.rows.n)
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            own = labels[part]
            same = (labels == own[:, np.newaxis]) * self.weights
            reach = np.einsum("ij,ij->i", self.rows.values(part, everyone), same)
            found[start : start + size] = (
                self.rows.diagonal[part]
                - 2.0 * reach / volumes[own]
                + statistics.inside[own] / volumes[own] ** 2
            )
        return np.maximum(found, 0.0)

    def sweep(self, statistics: GramClusters) -> tuple[Ids, bool]:
        """Return the same with births."""
        clusters = (statistics.labels, statistics.inside, statistics.volumes)
        room = max(0, self.max_clusters - statistics.k)
        labels, _, capped = self.rows.sweep(*clusters, self.order, self.penalty, room)
        return labels, capped

    def work(self, k: int) -> int:
        """Return the number of kernel values."""
        return self.rows.n * self.rows.n
