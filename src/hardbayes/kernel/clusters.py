"""A kernel matrix as a model without centres: what clusters cost in the space of the kernel.

Rows i have weights w_i and kernel values K_ij. Clusters are ``volumes`` (k,), the sums of weights,
and ``links`` (k, k), the sums of ``w_i w_j K_ij`` over the rows of two clusters. A cluster costs
``sum_i w_i K_ii - links_cc / volume_c``: the weighted squared distances from its mean, which is
never formed. Everything is exact up to the rounding of float64, and does not depend on the number
of threads. Kernel values are read a slab at a time: no method but `whole` holds more than a bounded
number of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.centre_free import CentreFreeModel, Ids, Merges, Split, merges_of, ratio
from hardbayes.core.pool import Pool, one_blas_thread
from hardbayes.kernel import compiled
from hardbayes.kernel.problem import MANY_ROWS
from hardbayes.kernel.splitting import split_in_two

SLAB = 1 << 21  # kernel values: 16 MB, computed in some tens of milliseconds
MAX_IN_SLAB = 512  # rows: their kernel values among each other are copied
AHEAD = 8  # slabs that are computed before the first of them is used
ALWAYS_VISITED = 1 << 12  # rows; of more, passes after the first visit a share only
NEAR = 0.1  # share of the rows, those nearest to a move, that the next pass visits
MIN_GAIN = 1e-11  # of a move, in units of the mean of w_i K_ii
TRIAL_ROWS = 1 << 10  # of a cluster on which its split is tried

#: Returns the kernel values of rows ``ids`` with ``columns``, all where None: dense, or CSR.
Values = Callable[["NDArray[np.integer]", "NDArray[np.integer] | None"], Matrix]


class SplitSample(NamedTuple):
    """Some rows of a cluster, and which are in its second half."""

    ids: Ids  # (m,)
    weights: Floats  # (m,)
    second: NDArray[np.bool_]  # (m,)


@dataclass(frozen=True, eq=False)
class KernelClusters:
    """Clusters of these labels (n,); sums of kernel values are made when they are first read."""

    matrix: KernelMatrix
    labels: Ids
    k: int

    @cached_property
    def sums(self) -> tuple[Floats, Floats]:
        """Volumes (k,) and links (k, k)."""
        return self.matrix.sums(self.labels, self.k)

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
        own = self.matrix.weights * self.matrix.diagonal
        return np.bincount(self.labels, own, self.k).astype(np.float64)


@dataclass(eq=False)
class KernelMatrix(CentreFreeModel[KernelClusters]):
    """Rows with their kernel values, and what a partition of them costs.

    Attributes
    ----------
    function : callable
        Returns kernel values; threads of the pool call it for slabs of rows.
    diagonal : array (n,)
        The values K_ii.
    weights : array (n,)
    pool : Pool
    penalty, max_clusters
        As in `CentreFreeModel`.
    order : array (n,) or None
        In which rows are visited; None: as they are numbered.
    """

    function: Values
    diagonal: Floats
    weights: Floats
    pool: Pool
    penalty: float = 0.0
    max_clusters: int = sys.maxsize
    order: Ids | None = None

    def __post_init__(self) -> None:
        self.n = len(self.weights)
        self.unit = float(np.sum(self.weights * np.abs(self.diagonal))) / self.n
        self._visits = np.arange(self.n) if self.order is None else self.order
        self._last_labels, self._last_sums = np.empty(0, np.int64), (np.empty(0), np.empty((0, 0)))

    # -- what the descent of models without centres calls ------------------------------------------

    def statistics(self, labels: Ids, k: int) -> KernelClusters:
        """Return clusters of these labels."""
        return KernelClusters(self, labels, k)

    def costs(self, statistics: KernelClusters) -> Floats:
        """Return the sum of squared distances from the mean of each cluster."""
        return statistics.traces - ratio(statistics.inside, statistics.volumes)

    def merges(self, statistics: KernelClusters) -> Merges:
        """Return all merges of two clusters."""
        lefts, rights = np.triu_indices(statistics.k, 1)
        links = statistics.links[lefts, rights]
        return merges_of(statistics.inside, statistics.volumes, lefts, rights, links)

    def split(
        self,
        members: list[Ids],
        statistics: KernelClusters,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Split]:
        """Return halves along leading eigenvectors, found on a sample of a large cluster."""
        return [self._split(members[c], rng) for c in which]

    def _split(self, ids: Ids, rng: np.random.RandomState) -> Split:
        ids = ids[self.weights[ids] > 0]
        if len(ids) > TRIAL_ROWS:
            whole = self.weights[ids].sum()
            ids = np.sort(rng.choice(ids, TRIAL_ROWS, replace=False))
            weights = self.weights[ids] * (whole / self.weights[ids].sum())
        else:
            weights = self.weights[ids]
        saved, second = split_in_two(self.part(ids, weights), rng)
        return Split(saved, SplitSample(ids, weights, second))

    def second_half(self, ids: Ids, split: Split) -> NDArray[np.bool_]:
        """Return which rows are nearer to the mean of the second half than to that of the first."""
        sample: SplitSample = split.halves
        sides = np.full(len(ids), -1)
        sides[np.searchsorted(ids, sample.ids)] = sample.second
        rest = np.flatnonzero(sides < 0)
        if len(rest):
            members = np.stack([~sample.second, sample.second]) * sample.weights
            members /= members.sum(axis=1, keepdims=True)
            among = np.einsum("sa,ab,sb->s", members, self.values(sample.ids, sample.ids), members)
            for start in range(0, len(rest), TRIAL_ROWS):
                part = rest[start : start + TRIAL_ROWS]
                reach = self.values(ids[part], sample.ids) @ members.T
                sides[part] = (among - 2.0 * reach).argmin(axis=1)
        return sides == 1

    def move_rows(
        self, labels: Ids, statistics: KernelClusters, max_passes: int
    ) -> tuple[Ids, int]:
        """Visit slabs in the order; sums over the clusters are made anew for each slab.

        The last row of a cluster may leave it. Of many rows only those that are nearest to a move
        are visited after the first pass.
        """
        inside, volumes = statistics.inside.copy(), statistics.volumes.copy()
        labels, k, order = labels.copy(), statistics.k, self._visits
        counts = np.bincount(labels, self.weights > 0, k).astype(np.int64)
        moves, margins = np.zeros(1, np.int64), np.zeros(self.n)
        for _ in range(max_passes):
            before = int(moves[0])
            for ids, slab in self._slabs(order):
                compiled.move_rows(
                    ids, self._reach(slab, labels, k), _columns(slab, ids), self.diagonal,
                    self.weights, self.penalty, MIN_GAIN * self.unit, labels, inside, volumes,
                    counts, margins, moves,
                )  # fmt: skip
            if moves[0] == before:
                break
            if self.n > ALWAYS_VISITED:
                order = order[margins[order] <= np.quantile(margins, NEAR)]
        return labels, int(moves[0])

    def choose(self, statistics: KernelClusters) -> Ids | None:
        """Return each row's nearest cluster; of many rows None, for moves do more in one pass."""
        if self.n > MANY_ROWS:
            return None
        return self.nearest(statistics, np.arange(self.n))[0]

    def sweep(self, statistics: KernelClusters) -> tuple[Ids, bool]:
        """Return labels of the nearest clusters, with births."""
        room = max(0, self.max_clusters - statistics.k)
        labels, _, capped = self._sweep(statistics, self._visits, self.penalty, room)
        return labels, capped

    def work(self, k: int) -> int:
        """Return the number of kernel values."""
        return self.n * self.n

    # -- rows and clusters -------------------------------------------------------------------------

    def sums(self, labels: Ids, k: int) -> tuple[Floats, Floats]:
        """Return volumes (k,) and links (k, k) of clusters 0 to k-1; zeros where one is empty.

        Those of the last labels are kept.
        """
        if k == len(self._last_sums[0]) and np.array_equal(labels, self._last_labels):
            return self._last_sums
        volumes = np.bincount(labels, self.weights, k).astype(np.float64)
        links = np.zeros((k, k))
        weighted = np.empty((MAX_IN_SLAB, k))
        for ids, slab in self._slabs(np.arange(self.n)):
            own = weighted[: len(ids)]
            np.multiply(self._reach(slab, labels, k), self.weights[ids, np.newaxis], out=own)
            order = np.argsort(labels[ids], kind="stable")
            names, starts = np.unique(labels[ids][order], return_index=True)
            links[names] += np.add.reduceat(own[order], starts, axis=0)
        self._last_labels, self._last_sums = labels, (volumes, (links + links.T) / 2.0)
        return self._last_sums

    def nearest(self, clusters: KernelClusters, ids: Ids) -> tuple[Ids, Floats]:
        """Return the nearest cluster (m,) of some rows, and its squared distance (m,)."""
        labels, distances, _ = self._sweep(clusters, ids, np.inf, 0)
        return labels[ids], distances[ids]

    def _sweep(
        self, clusters: KernelClusters, order: Ids, cost: float, most: int
    ) -> tuple[Ids, Floats, bool]:
        """Return labels (n,) after a sweep with births, distances (n,), and whether it was capped.

        Means stay as they are. In the order of visits, of all rows or some (others get no label), a
        row whose weight times squared distance exceeds ``cost`` opens a cluster at itself, which
        rows visited later may choose; births are numbered from k on, at most ``most``. Among equal
        distances the first cluster is chosen. Births of earlier slabs are columns of later ones.
        """
        labels, k, inside, volumes = clusters.labels, clusters.k, clusters.inside, clusters.volumes
        found, costs = np.empty(self.n, np.int64), np.empty(self.n)
        born, state = np.empty(0, np.int64), np.zeros(2, np.int64)
        for ids, slab in self._slabs(order):
            before = len(born)
            born = np.concatenate([born, np.zeros(len(ids), np.int64)])
            compiled.sweep_rows(
                ids, self._reach(slab, labels, k), _columns(slab, born[:before]),
                _columns(slab, ids), self.diagonal, self.weights, inside, volumes, cost, most,
                born, state, found, costs,
            )  # fmt: skip
            born = born[: state[compiled.BORN]]
            born[before:] = ids[born[before:]]
        return found, np.maximum(costs, 0.0), bool(state[compiled.CAPPED])

    def distances(self, clusters: KernelClusters, ids: Ids) -> Floats:
        """Return the squared distances (m,) of some rows from the means of their own clusters."""
        volumes, labels, everyone = clusters.volumes, clusters.labels, np.arange(self.n)
        found = np.empty(len(ids))
        size = max(1, (1 << 21) // self.n)
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            own = labels[part]
            same = (labels == own[:, np.newaxis]) * self.weights
            reach = np.einsum("ij,ij->i", self.values(part, everyone), same)
            found[start : start + size] = (
                self.diagonal[part]
                - 2.0 * reach / volumes[own]
                + clusters.inside[own] / volumes[own] ** 2
            )
        return np.maximum(found, 0.0)

    # -- kernel values -----------------------------------------------------------------------------

    def values(self, ids: NDArray[np.integer], columns: NDArray[np.integer]) -> Floats:
        """Return a bounded number of kernel values (m, l), dense."""
        with one_blas_thread():
            return _dense(self.function(ids, columns))

    def times(self, vectors: Floats) -> Floats:
        """Return the product (n, r) of the kernel matrix with vectors (n, r)."""
        found = np.empty_like(vectors)
        for ids, slab in self._slabs(np.arange(self.n)):
            found[ids] = slab @ vectors
        return found

    def whole(self) -> Floats:
        """Return all kernel values (n, n), dense: for few rows."""
        return np.concatenate([_dense(slab) for _, slab in self._slabs(np.arange(self.n))])

    def part(self, ids: NDArray[np.integer], weights: Floats) -> KernelMatrix:
        """Return some rows, with these weights (m,); their kernel values are held in memory."""
        return KernelMatrix(hold(self.values(ids, ids)), self.diagonal[ids], weights, self.pool)

    def _reach(self, slab: Matrix, labels: Ids, k: int) -> Floats:
        """Return the weighted sums (m, k) of the values of each row over each cluster."""
        reach = np.zeros((slab.shape[0], k))
        if is_sparse(slab):
            arrays = (slab.indptr, slab.indices, slab.data)
            compiled.add_sparse_reach(*arrays, labels, self.weights, reach)
        else:
            compiled.add_reach(slab, labels, self.weights, reach)
        return reach

    def _slabs(self, order: Ids) -> Iterator[tuple[Ids, Matrix]]:
        """Yield rows in this order, a bounded number at a time, with all their kernel values."""
        size = max(1, min(MAX_IN_SLAB, SLAB // self.n))
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        slabs: dict[int, Matrix] = {}
        for first in range(0, len(parts), AHEAD):
            ahead = parts[first : first + AHEAD]

            def compute(at: int, _worker: int, ahead: list[Ids] = ahead) -> None:
                slabs[at] = self.function(ahead[at], None)

            with one_blas_thread():
                self.pool.run(compute, len(ahead))
            for at, ids in enumerate(ahead):
                yield ids, slabs.pop(at)


def hold(matrix: Matrix) -> Values:
    """Return the function of a matrix (n, n) in memory."""

    def values(ids: NDArray[np.integer], columns: NDArray[np.integer] | None) -> Matrix:
        rows = matrix if _are_all(ids, matrix.shape[0]) else matrix[ids]
        return rows if columns is None else rows[:, columns]

    return values


def _are_all(ids: NDArray[np.integer], n: int) -> bool:
    """Whether these are all of n rows in their order, so that none need be copied."""
    return len(ids) == n and bool((ids == np.arange(n)).all())


def _columns(slab: Matrix, ids: NDArray[np.integer]) -> Floats:
    """Return the columns (m, l) of a slab, dense."""
    if is_sparse(slab):
        return _dense(slab[:, ids])
    return slab if _are_all(ids, slab.shape[1]) else slab.take(ids, axis=1)


def _dense(values: Matrix) -> Floats:
    return np.ascontiguousarray(values.toarray() if is_sparse(values) else values)
