"""What clusters keep, and would keep with a row more or a row less, for any divergence.

A cluster of rows and prior with weight N and total T keeps ``P = N phi(T / N)`` of what they bring:
its cost is the sum of their ``w phi(x)`` less P.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hardbayes.geometry.stock import KeepsStock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats
    from hardbayes.matrices import Matrix
    from hardbayes.structure.partition import Partition


class WeighedRows(NamedTuple):
    """Rows in working coordinates that are priced together."""

    rows: Matrix  # (m, d)
    weights: Floats  # (m,), all above zero


def priced_clusters(
    partition: Partition, weights: Floats, centres: Floats, members: NDArray[np.int64]
) -> PricedClusters:
    """Return clusters of these weights (k,), centres (k, d) and numbers of rows (k,)."""
    by_entries = isinstance(partition.geometry, KeepsStock)
    kind = PricedByEntries if by_entries else PricedClusters
    return kind(partition, weights, centres, members)


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
        self.totals = np.empty((centres.shape[1], len(self.sizes)))  # a column's side by side
        np.multiply(self.sizes[:-1], centres.T, out=self.totals[:, :-1])
        self.totals[:, -1] = self.prior
        self.members = np.append(members, 0)
        self.recount()

    def recount(self) -> None:
        """Find what the clusters keep from their totals."""
        self.kept = self._kept(self.sizes, self.totals.T)

    def effort(self, entries: int) -> int:
        """Return how many numbers are worked through to price a row of so many entries."""
        return self.totals.size

    def take_in(self, rows: Matrix) -> Matrix:
        """Return rows in the form that the other methods want."""
        return rows.toarray() if isinstance(rows, csr_array) else rows

    def kept_with(self, batch: WeighedRows, part: slice, which: Any = slice(None)) -> Floats:
        """Return what clusters ``which`` (k,) would keep with each row of a part (m, k)."""
        weights = batch.weights[part, np.newaxis]
        totals = self.totals[:, which].T + (weights * batch.rows[part])[:, np.newaxis, :]
        return self._kept(self.sizes[which] + weights, totals)

    def kept_without(self, batch: WeighedRows, part: slice, own: NDArray[np.intp]) -> Floats:
        """Return what the clusters ``own`` (m,) of a part's rows would keep without them (m,).

        The prior alone, where a row is all there is.
        """
        weights = batch.weights[part]
        totals = self.totals[:, own].T - weights[:, np.newaxis] * batch.rows[part]
        left = self._kept(self.sizes[own] - weights, totals)
        return np.where(self.members[own] > 1, left, self.kept[-1])

    def move(self, batch: WeighedRows, at: int, source: int, target: int) -> None:
        """Take row ``at`` from a cluster to another, which may be the last."""
        if target == len(self.sizes) - 1:
            self._add_one()
        weight = float(batch.weights[at])
        for cluster, change in ((source, -weight), (target, weight)):
            self.members[cluster] += 1 if change > 0 else -1
            if self.members[cluster]:
                self.sizes[cluster] += change
                self._add(cluster, batch, at, change)
            else:  # exactly: no remainder may look like a row
                self._empty(cluster)

    def centres(self) -> Floats:
        """Return where they are now (k, d); those without rows at the prior's mean."""
        empty = (self.members == 0)[:, np.newaxis]
        means = self.totals.T / np.where(empty, 1.0, self.sizes[:, np.newaxis])
        return np.where(empty, self.partition.prior_mean, means)

    def _add_one(self) -> None:
        """Open the cluster not yet open; another takes its place."""
        self.sizes = np.append(self.sizes, self.partition.prior_weight)
        self.totals = np.append(self.totals, self.prior[:, np.newaxis], axis=1)
        self.members = np.append(self.members, 0)
        self.kept = np.append(self.kept, self.kept[-1])

    def _empty(self, cluster: int) -> None:
        self.sizes[cluster] = self.partition.prior_weight
        self.totals[:, cluster] = self.prior
        self.kept[cluster] = self.kept[-1]

    def _add(self, cluster: int, batch: WeighedRows, at: int, weight: float) -> None:
        self.totals[:, cluster] += weight * batch.rows[at]
        self.kept[cluster] = self._kept(self.sizes[cluster], self.totals[:, cluster])

    def _kept(self, sizes: Floats, totals: Floats) -> Floats:
        geometry = self.partition.geometry
        empty = (sizes <= 0)[..., np.newaxis]
        means = totals / np.where(empty, 1.0, sizes[..., np.newaxis])
        # Taking a row away may leave a mean outside the domain by a rounding error. A cluster of
        # nothing keeps nothing, and its mean may be anywhere.
        means = np.where(empty, self.partition.prior_mean, geometry.inside(means))
        return sizes * geometry.potential(means)


class PricedByEntries(PricedClusters):
    """The same where what a cluster keeps follows from a few sums over columns, the stock.

    A row changes these sums in its own columns alone: it is priced in every cluster at the cost of
    its entries, not of all columns.
    """

    def recount(self) -> None:
        """Find the stock, and what the clusters keep, from their totals."""
        self.stock = [values.sum(axis=0) for values in self._geometry.stocked(self.totals)]
        self.kept = self._geometry.kept(self.sizes, self.stock)

    def effort(self, entries: int) -> int:
        """Return how many numbers are worked through to price a row of so many entries."""
        return entries * len(self.sizes)

    def take_in(self, rows: Matrix) -> csr_array:
        """Return the rows' entries."""
        return csr_array(rows)

    def kept_with(self, batch: WeighedRows, part: slice, which: Any = slice(None)) -> Floats:
        """Return what clusters ``which`` (k,) would keep with each row of a part (m, k)."""
        columns, added, starts = _entries(batch, part)
        # Contiguous, or picking entries would take longer than all the rest.
        totals = np.ascontiguousarray(self.totals[:, which]).take(columns, axis=0)
        weights = batch.weights[part, np.newaxis]
        stock = self._stock_after(totals, added[:, np.newaxis], starts, which)
        return self._geometry.kept(self.sizes[which] + weights, stock)

    def kept_without(self, batch: WeighedRows, part: slice, own: NDArray[np.intp]) -> Floats:
        """Return what the clusters ``own`` (m,) of a part's rows would keep without them (m,)."""
        columns, added, starts = _entries(batch, part)
        totals = self.totals[columns, np.repeat(own, np.diff(starts))]
        stock = self._stock_after(totals, -added, starts, own)
        left = self._geometry.kept(self.sizes[own] - batch.weights[part], stock)
        return np.where(self.members[own] > 1, left, self.kept[-1])

    @property
    def _geometry(self) -> KeepsStock:
        geometry = self.partition.geometry
        assert isinstance(geometry, KeepsStock)
        return geometry

    def _stock_after(
        self, totals: Floats, added: Floats, starts: NDArray[np.integer], which: Any
    ) -> list[Floats]:
        """Return the stock of clusters ``which`` once each row's entries are added."""
        before, after = self._geometry.stocked(totals), self._geometry.stocked(totals + added)
        return [
            stock[which] + _sums(new - old, starts)
            for stock, old, new in zip(self.stock, before, after, strict=True)
        ]

    def _add_one(self) -> None:
        super()._add_one()
        self.stock = [np.append(stock, stock[-1]) for stock in self.stock]

    def _empty(self, cluster: int) -> None:
        super()._empty(cluster)
        for stock in self.stock:
            stock[cluster] = stock[-1]

    def _add(self, cluster: int, batch: WeighedRows, at: int, weight: float) -> None:
        columns, added, starts = _entries(batch, slice(at, at + 1))
        added = added if weight > 0 else -added
        stock = self._stock_after(self.totals[columns, cluster], added, starts, [cluster])
        for sums, value in zip(self.stock, stock, strict=True):
            sums[cluster] = value[0]
        self.totals[columns, cluster] += added
        stock = [sums[cluster] for sums in self.stock]
        self.kept[cluster] = self._geometry.kept(self.sizes[cluster], stock)


def _entries(
    batch: WeighedRows, part: slice
) -> tuple[NDArray[np.integer], Floats, NDArray[np.integer]]:
    """Return columns and weighted values of a part's entries, and where rows begin (m + 1,)."""
    starts = batch.rows.indptr[part.start : part.stop + 1]
    where = slice(starts[0], starts[-1])
    weights = np.repeat(batch.weights[part], np.diff(starts))
    return batch.rows.indices[where], weights * batch.rows.data[where], starts - starts[0]


def _sums(values: Floats, starts: NDArray[np.integer]) -> Floats:
    """Return the sum (m, ...) of each row's entries, whose values these are."""
    sums = np.zeros((len(starts) - 1, *values.shape[1:]))
    some = np.diff(starts) > 0
    if some.any():
        sums[some] = np.add.reduceat(values, starts[:-1][some], axis=0)
    return sums
