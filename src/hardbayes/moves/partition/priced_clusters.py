"""What clusters keep, and would keep with a row more or a row less, for any divergence.

A cluster of rows and prior with weight N and total T keeps ``P = N phi(T / N)`` of what they bring:
its cost is the sum of their ``w phi(x)`` less P.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from hardbayes.geometry.entrywise_totals import EntrywiseTotals
from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats, Matrix
    from hardbayes.structure.partition import Partition

    Numbers = NDArray[np.intp]


class DenseBatch:
    """Rows (m, d) of weights (m,) above zero, priced together."""

    def __init__(self, rows: Matrix, weights: Floats) -> None:
        dense = rows.toarray() if is_sparse(rows) else rows
        self.weights = weights
        self.added = weights[:, np.newaxis] * dense


class PricedClusters:
    """Clusters that follow every row that moves; the last one is not yet open."""

    batch: Any = DenseBatch

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

    def kept_with(self, batch: Any, part: slice, which: Numbers) -> Floats:
        """Return what clusters ``which`` (k,) would keep with each row of a part (m, k)."""
        totals = self.totals[:, which].T + batch.added[part, np.newaxis, :]
        return self._kept(self.sizes[which] + batch.weights[part, np.newaxis], totals)

    def kept_without(self, batch: Any, part: slice, own: Numbers) -> Floats:
        """Return what the clusters ``own`` (m,) of a part's rows would keep without them (m,).

        The prior alone, where a row is all there is.
        """
        totals = self.totals[:, own].T - batch.added[part]
        left = self._kept(self.sizes[own] - batch.weights[part], totals)
        return np.where(self.members[own] > 1, left, self.kept[-1])

    def move(self, batch: Any, at: int, source: int, target: int) -> None:
        """Take row ``at`` from a cluster to another, which may be the last."""
        if target == len(self.sizes) - 1:
            self._add_one()
        both, signs = np.array([source, target]), np.array([-1, 1])
        self.members[both] += signs
        self._add(batch, at, both, signs)
        self.sizes[both] += signs * batch.weights[at]
        if not self.members[source]:  # exactly: no remainder may look like a row
            self._empty(source)
        self._recount(both)

    def centres(self) -> Floats:
        """Return where they are now (k, d); those without rows at the prior's mean."""
        empty = (self.members == 0)[:, np.newaxis]
        means = self.totals.T / np.where(empty, 1.0, self.sizes[:, np.newaxis])
        return np.where(empty, self.partition.prior_mean, means)

    def _add_one(self) -> None:
        """Open the cluster not yet open; another takes its place."""
        self.sizes = np.append(self.sizes, self.partition.prior_weight)
        self.totals = np.append(self.totals, self.totals[:, -1:], axis=1)
        self.members = np.append(self.members, 0)
        self.kept = np.append(self.kept, self.kept[-1])

    def _empty(self, cluster: int) -> None:
        self.sizes[cluster] = self.partition.prior_weight
        self.totals[:, cluster] = self.prior

    def _add(self, batch: Any, at: int, which: Numbers, signs: NDArray[np.int64]) -> None:
        self.totals[:, which] += signs * batch.added[at][:, np.newaxis]

    def _recount(self, which: Numbers) -> None:
        self.kept[which] = self._kept(self.sizes[which], self.totals[:, which].T)

    def _kept(self, sizes: Floats, totals: Floats) -> Floats:
        geometry = self.partition.geometry
        empty = (sizes <= 0)[..., np.newaxis]
        means = totals / np.where(empty, 1.0, sizes[..., np.newaxis])
        # Taking a row away may leave a mean outside the domain by a rounding error. A cluster of
        # nothing keeps nothing, and its mean may be anywhere.
        means = np.where(empty, self.partition.prior_mean, geometry.inside(means))
        return sizes * geometry.potential(means)


class EntryBatch:
    """The same rows by their entries; every row has one at least, if of nothing."""

    def __init__(self, rows: Matrix, weights: Floats) -> None:
        entries = csr_array(rows)
        lengths = np.diff(entries.indptr)
        columns, values = entries.indices, entries.data
        if not lengths.all():
            before = entries.indptr[:-1][lengths == 0]
            columns, values = np.insert(columns, before, 0), np.insert(values, before, 0.0)
            lengths = np.maximum(lengths, 1)
        self.weights = weights
        self.columns = columns
        self.added = np.repeat(weights, lengths) * values
        self.lengths = lengths
        self.starts = np.append(0, np.cumsum(lengths))
        self.sums = np.add.reduceat(self.added, self.starts[:-1])  # (m,)

    def entries(self, part: slice) -> tuple[NDArray[np.integer], Floats, Numbers]:
        """Return columns and values of a part's entries, and where rows begin (m,)."""
        first, last = self.starts[part.start], self.starts[part.stop]
        starts = self.starts[part] - first
        return self.columns[first:last], self.added[first:last], starts


class PricedByEntries(PricedClusters):
    """The same where what a cluster keeps follows from two sums over columns.

    A row changes these sums in its own columns alone: it is priced in every cluster at the cost of
    its entries, not of all columns.
    """

    batch = EntryBatch

    def recount(self) -> None:
        """Find the sums, and what the clusters keep, from their totals."""
        self.stocked = self._geometry.stocked(self.totals)  # (d, k)
        self.sums, self.stock = self.totals.sum(axis=0), self.stocked.sum(axis=0)
        self.kept = self._geometry.kept(self.sizes, self.sums, self.stock)

    def effort(self, entries: int) -> int:
        """Return how many numbers are worked through to price a row of so many entries."""
        return entries * len(self.sizes)

    def kept_with(self, batch: Any, part: slice, which: Numbers) -> Floats:
        """Return what clusters ``which`` (k,) would keep with each row of a part (m, k)."""
        columns, added, starts = batch.entries(part)
        if len(which) == len(self.sizes):  # several times as fast as an index
            totals, stocked = self.totals.take(columns, 0), self.stocked.take(columns, 0)
        else:
            where = columns[:, np.newaxis], which
            totals, stocked = self.totals[where], self.stocked[where]
        totals += added[:, np.newaxis]
        change = self._geometry.stocked(totals)
        change -= stocked
        return self._geometry.kept(
            self.sizes[which] + batch.weights[part, np.newaxis],
            self.sums[which] + batch.sums[part, np.newaxis],
            self.stock[which] + np.add.reduceat(change, starts, axis=0),
        )

    def kept_without(self, batch: Any, part: slice, own: Numbers) -> Floats:
        """Return what the clusters ``own`` (m,) of a part's rows would keep without them (m,)."""
        columns, added, starts = batch.entries(part)
        where = columns, np.repeat(own, batch.lengths[part])
        change = self._geometry.stocked(self.totals[where] - added) - self.stocked[where]
        left = self._geometry.kept(
            self.sizes[own] - batch.weights[part],
            self.sums[own] - batch.sums[part],
            self.stock[own] + np.add.reduceat(change, starts),
        )
        return np.where(self.members[own] > 1, left, self.kept[-1])

    @property
    def _geometry(self) -> EntrywiseTotals:
        geometry = self.partition.geometry
        assert isinstance(geometry, EntrywiseTotals)
        return geometry

    def _add_one(self) -> None:
        super()._add_one()
        self.sums = np.append(self.sums, self.sums[-1])
        self.stock = np.append(self.stock, self.stock[-1])
        self.stocked = np.append(self.stocked, self.stocked[:, -1:], axis=1)

    def _empty(self, cluster: int) -> None:
        super()._empty(cluster)
        for values in (self.sums, self.stock, self.stocked):
            values[..., cluster] = values[..., -1]

    def _add(self, batch: Any, at: int, which: Numbers, signs: NDArray[np.int64]) -> None:
        columns, added, _ = batch.entries(slice(at, at + 1))
        where = columns[:, np.newaxis], which
        totals = self.totals[where] + signs * added[:, np.newaxis]
        stocked = self._geometry.stocked(totals)
        self.sums[which] += signs * batch.sums[at]
        self.stock[which] += (stocked - self.stocked[where]).sum(axis=0)
        self.totals[where], self.stocked[where] = totals, stocked

    def _recount(self, which: Numbers) -> None:
        self.kept[which] = self._geometry.kept(
            self.sizes[which], self.sums[which], self.stock[which]
        )


class PricedBySize(PricedClusters):
    """The same for sparse rows where phi is a sum over columns, and that is all that is known.

    A row then changes every column's ``phi(T_j / N)``, since N changes: but where it has no entry,
    as any other row of its weight would.
    """

    batch = EntryBatch
    most_kinds = 64  # weights that are remembered

    def recount(self) -> None:
        """Find what the clusters keep from their totals."""
        super().recount()
        self._elsewhere: dict[float, Floats] = {}

    def effort(self, entries: int) -> int:
        """Return how many numbers are worked through to price a row of so many entries."""
        return entries * len(self.sizes)

    def kept_with(self, batch: Any, part: slice, which: Numbers) -> Floats:
        """Return what clusters ``which`` (k,) would keep with each row of a part (m, k)."""
        columns, added, starts = batch.entries(part)
        sizes = self.sizes[which] + batch.weights[part, np.newaxis]
        at_entries = np.repeat(sizes, batch.lengths[part], axis=0)
        totals = self.totals[columns[:, np.newaxis], which]
        change = self._phi(totals + added[:, np.newaxis], at_entries)
        change -= self._phi(totals, at_entries)
        sums = self._sums_with(batch.weights[part])[:, which]
        return sizes * (sums + np.add.reduceat(change, starts, axis=0))

    def kept_without(self, batch: Any, part: slice, own: Numbers) -> Floats:
        """Return what the clusters ``own`` (m,) of a part's rows would keep without them (m,)."""
        columns, added, starts = batch.entries(part)
        sizes = self.sizes[own] - batch.weights[part]
        at_entries = np.repeat(sizes, batch.lengths[part])
        totals = self.totals[columns, np.repeat(own, batch.lengths[part])]
        change = self._phi(totals - added, at_entries) - self._phi(totals, at_entries)
        sums = self._sums_with(-batch.weights[part])[np.arange(len(own)), own]
        left = sizes * (sums + np.add.reduceat(change, starts))
        return np.where(self.members[own] > 1, left, self.kept[-1])

    def _sums_with(self, weights: Floats) -> Floats:
        """Return ``sum_j phi(T_j / (N + w))`` of every cluster for each weight w (m, k)."""
        kinds, kind = np.unique(weights, return_inverse=True)
        if len(self._elsewhere) > self.most_kinds:
            self._elsewhere.clear()
        sums = np.empty((len(kinds), len(self.sizes)))
        for row, weight in zip(sums, kinds, strict=True):
            known = self._elsewhere.setdefault(float(weight), np.full(len(self.sizes), np.nan))
            stale = np.flatnonzero(np.isnan(known))
            values = self._phi(self.totals[:, stale], self.sizes[stale] + weight)
            known[stale] = values.sum(axis=0)
            row[:] = known
        return sums[kind]

    def _phi(self, totals: Floats, sizes: Floats) -> Floats:
        geometry = self.partition.geometry
        return geometry.generator(geometry.inside(totals / np.where(sizes > 0, sizes, 1.0)))

    def _add_one(self) -> None:
        super()._add_one()
        self._elsewhere.clear()

    def _add(self, batch: Any, at: int, which: Numbers, signs: NDArray[np.int64]) -> None:
        columns, added, _ = batch.entries(slice(at, at + 1))
        self.totals[columns[:, np.newaxis], which] += signs * added[:, np.newaxis]
        for known in self._elsewhere.values():
            known[which] = np.nan
