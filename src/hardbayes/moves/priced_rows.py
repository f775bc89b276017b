"""The exact price of a row in every cluster, for any divergence.

A cluster of rows and prior with weight N and total T keeps ``P = N phi(T / N)`` of what they bring:
its cost is the sum of their ``w phi(x)`` less P. So a row pays ``w phi(x) + P - P'`` to join, P'
being P with the row, and frees the same where it leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardbayes.geometry.stock import KeepsStock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.geometry.base import Floats
    from hardbayes.structure.partition import Partition

TOGETHER = 64  # rows made dense together
NOISE = 1e-12  # of what is compared: no move gains less


def walk_priced(
    executor: MemoryExecutor,
    partition: Partition,
    ids: NDArray[np.intp],
    numbers: NDArray[np.intp],
    weights: Floats,
    centres: Floats,
    members: NDArray[np.int64],
    max_passes: int,
) -> tuple[int, Floats]:
    """Let rows move one by one, each to where the objective is lowest.

    IN/OUT numbers (m,): clusters of the rows. Returns the moves and the centres of clusters opened.
    """
    geometry = partition.geometry
    whole = executor.sparse_rows() if isinstance(geometry, KeepsStock) else None
    clusters = PricedClusters(partition, weights, centres, members)
    if whole is not None and isinstance(geometry, KeepsStock):
        clusters = PricedByEntries(geometry, partition, weights, centres, members)
    n_clusters, n_moves = len(weights), 0
    row_weights = np.broadcast_to(executor.weights, executor.n_rows)
    for _ in range(max_passes):
        before = n_moves
        rows = _dense_rows(executor, ids) if whole is None else _entries(whole, ids)
        for position, (row, weight) in enumerate(zip(rows, row_weights[ids], strict=True)):
            if weight > 0:
                goes = clusters.choose(row, weight, numbers[position])
                n_moves += goes != numbers[position]
                numbers[position] = goes
        if n_moves == before:
            break
    return n_moves, clusters.centres()[n_clusters : numbers.max() + 1]


def _dense_rows(executor: MemoryExecutor, ids: NDArray[np.intp]) -> Iterator[Floats]:
    for start in range(0, len(ids), TOGETHER):
        yield from executor.dense_rows(ids[start : start + TOGETHER])


def _entries(rows: csr_array, ids: NDArray[np.intp]) -> Iterator[Entries]:
    for i in ids:
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        yield Entries(rows.indices[part], rows.data[part])


class Entries(NamedTuple):
    """A sparse row."""

    columns: NDArray[np.integer]
    values: Floats


class PricedClusters:
    """Clusters that follow every row that moves; the last one is not yet open."""

    def __init__(
        self,
        partition: Partition,
        weights: Floats,
        centres: Floats,
        members: NDArray[np.int64],
    ) -> None:
        self.partition = partition
        self.prior = partition.prior_weight * partition.prior_mean
        self.sizes = np.append(weights + partition.prior_weight, partition.prior_weight)
        totals = (weights + partition.prior_weight)[:, np.newaxis] * centres
        self.totals = np.append(totals, self.prior[np.newaxis], axis=0)
        self.members = np.append(members, 0)
        self.kept = self._kept(self.sizes, self.totals)

    def choose(self, row: Any, weight: float, own: int) -> int:
        """Move a row out of cluster ``own`` if another is cheaper; return where it is then."""
        partition = self.partition
        brings = weight * self._potential(row)
        last = self.members[own] == 1
        without = self.kept[-1]  # the prior alone
        if not last:
            without = self._kept_after(slice(own, own + 1), -weight, row)[0]
        freed = brings + without - self.kept[own] + partition.penalty * last
        prices = brings + self.kept - self._kept_after(slice(None), weight, row)
        full = np.count_nonzero(self.members) >= partition.max_clusters
        prices[-1] = np.inf if last or full else prices[-1] + partition.penalty
        prices[:-1][self.members[:-1] == 0] = np.inf
        prices[own] = np.inf
        best = int(np.argmin(prices))
        noise = NOISE * (abs(freed) + abs(self.kept[own]) + abs(self.kept[best]))
        if not prices[best] < freed - noise:
            return own
        if best == len(self.sizes) - 1:
            self._add_one()
        self._change(own, -1, weight, row)
        self._change(best, 1, weight, row)
        return best

    def centres(self) -> Floats:
        """Return where they are now (k, d); those without rows at the prior's mean."""
        empty = (self.members == 0)[:, np.newaxis]
        means = self.totals / np.where(empty, 1.0, self.sizes[:, np.newaxis])
        return np.where(empty, self.partition.prior_mean, means)

    def _add_one(self) -> None:
        """Open the cluster not yet open; another takes its place."""
        self.sizes = np.append(self.sizes, self.partition.prior_weight)
        self.totals = np.append(self.totals, self.prior[np.newaxis], axis=0)
        self.members = np.append(self.members, 0)
        self.kept = np.append(self.kept, self.kept[-1])

    def _potential(self, row: Any) -> float:
        return float(self.partition.geometry.potential(row))

    def _kept_after(self, which: slice, weight: float, row: Any) -> Floats:
        """Return what clusters keep with ``weight`` more of a row."""
        return self._kept(self.sizes[which] + weight, self.totals[which] + weight * row)

    def _add(self, cluster: int, weight: float, row: Any) -> None:
        self.totals[cluster] += weight * row

    def _change(self, cluster: int, sign: int, weight: float, row: Any) -> None:
        self.members[cluster] += sign
        self.sizes[cluster] += sign * weight
        self._add(cluster, sign * weight, row)
        if not self.members[cluster]:  # exactly: no remainder may look like a row
            self.sizes[cluster], self.totals[cluster] = self.partition.prior_weight, self.prior
        self._recount(cluster)

    def _recount(self, cluster: int) -> None:
        self.kept[cluster] = self._kept(self.sizes[cluster], self.totals[cluster])

    def _kept(self, sizes: Floats, totals: Floats) -> Floats:
        geometry = self.partition.geometry
        empty = (sizes <= 0)[..., np.newaxis]
        means = totals / np.where(empty, 1.0, sizes[..., np.newaxis])
        # Taking a row away may leave a mean outside the domain by a rounding error. A cluster of
        # nothing keeps nothing, and its mean may be anywhere.
        means = np.where(empty, self.partition.prior_mean, geometry.inside(means))
        return sizes * geometry.potential(means)


class PricedByEntries(PricedClusters):
    """The same for sparse rows, where what a cluster keeps follows from a few sums over columns.

    A row changes these sums in its own columns alone: it is priced in every cluster at the cost of
    its entries, not of all columns.
    """

    def __init__(
        self,
        geometry: KeepsStock,
        partition: Partition,
        weights: Floats,
        centres: Floats,
        members: NDArray[np.int64],
    ) -> None:
        super().__init__(partition, weights, centres, members)
        self.geometry = geometry
        self.stock = geometry.stock(self.totals)
        self.kept = geometry.kept(self.sizes, self.stock)

    def _add_one(self) -> None:
        super()._add_one()
        self.stock = np.append(self.stock, self.stock[-1:], axis=0)

    def _potential(self, row: Entries) -> float:
        nothing = np.zeros((1, len(row.values)))
        stock = self.geometry.stock_change(nothing, row.values)
        return float(self.geometry.kept(np.ones(1), stock)[0])

    def _kept_after(self, which: slice, weight: float, row: Entries) -> Floats:
        totals = self.totals[which, row.columns]
        change = self.geometry.stock_change(totals, weight * row.values)
        return self.geometry.kept(self.sizes[which] + weight, self.stock[which] + change)

    def _add(self, cluster: int, weight: float, row: Entries) -> None:
        self.totals[cluster, row.columns] += weight * row.values

    def _recount(self, cluster: int) -> None:
        which = slice(cluster, cluster + 1)
        self.stock[which] = self.geometry.stock(self.totals[which])
        self.kept[which] = self.geometry.kept(self.sizes[which], self.stock[which])
