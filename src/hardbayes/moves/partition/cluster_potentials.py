"""Potentials of clusters with one row more or one row less, for any divergence.

The potential of a cluster of rows and prior with weight N and total T is ``P = N phi(T / N)``: its
cost is the sum of their ``w phi(x)`` less P.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import csr_array

from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.entrywise_totals import EntrywiseTotals
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.structure.partition import Partition

    Numbers = NDArray[np.intp]


class DenseBatch:
    """Rows (m, d) of weights (m,) above zero, compared with clusters together."""

    def __init__(self, rows: Matrix, weights: Floats) -> None:
        dense = rows.toarray() if is_sparse(rows) else rows
        self.weights = weights
        self.added = weights[:, np.newaxis] * dense


class ClusterPotentials:
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
        """Compute the potentials from the totals."""
        self.potentials = self._potential(self.sizes, self.totals.T)

    def effort(self, entries: int) -> int:
        """Return how many numbers are computed to compare a row of so many entries."""
        return self.totals.size

    def with_rows(self, batch: Any, part: slice, which: Numbers) -> Floats:
        """Return potentials (m, k) of clusters ``which`` (k,) with each row of a part."""
        totals = self.totals[:, which].T + batch.added[part, np.newaxis, :]
        return self._potential(self.sizes[which] + batch.weights[part, np.newaxis], totals)

    def without_rows(self, batch: Any, part: slice, own: Numbers) -> Floats:
        """Return potentials (m,) of the clusters ``own`` (m,) of a part's rows without them.

        That of the prior alone, for the only row of a cluster.
        """
        totals = self.totals[:, own].T - batch.added[part]
        left = self._potential(self.sizes[own] - batch.weights[part], totals)
        return np.where(self.members[own] > 1, left, self.potentials[-1])

    def move(self, batch: Any, at: int, source: int, target: int) -> None:
        """Move row ``at`` from a cluster to another, which may be the last."""
        if target == len(self.sizes) - 1:
            self._add_one()
        both, signs = np.array([source, target]), np.array([-1, 1])
        self.members[both] += signs
        self._add(batch, at, both, signs)
        self.sizes[both] += signs * batch.weights[at]
        if not self.members[source]:  # exactly, without the rounding of the moves before
            self._empty(source)
        self._recount(both)

    def centres(self) -> Floats:
        """Return the centres (k, d); those without rows at the prior's mean."""
        empty = (self.members == 0)[:, np.newaxis]
        means = self.totals.T / np.where(empty, 1.0, self.sizes[:, np.newaxis])
        return np.where(empty, self.partition.prior_mean, means)

    def _add_one(self) -> None:
        """Open the cluster not yet open; append another."""
        self.sizes = np.append(self.sizes, self.partition.prior_weight)
        self.totals = np.append(self.totals, self.totals[:, -1:], axis=1)
        self.members = np.append(self.members, 0)
        self.potentials = np.append(self.potentials, self.potentials[-1])

    def _empty(self, cluster: int) -> None:
        self.sizes[cluster] = self.partition.prior_weight
        self.totals[:, cluster] = self.prior

    def _add(self, batch: Any, at: int, which: Numbers, signs: NDArray[np.int64]) -> None:
        self.totals[:, which] += signs * batch.added[at][:, np.newaxis]

    def _recount(self, which: Numbers) -> None:
        self.potentials[which] = self._potential(self.sizes[which], self.totals[:, which].T)

    def _potential(self, sizes: Floats, totals: Floats) -> Floats:
        geometry = self.partition.geometry
        empty = (sizes <= 0)[..., np.newaxis]
        means = totals / np.where(empty, 1.0, sizes[..., np.newaxis])
        # Removing a row may leave a mean outside the domain by a rounding error. An empty cluster
        # has potential zero, and its mean may be anywhere.
        means = np.where(empty, self.partition.prior_mean, geometry.inside(means))
        return sizes * geometry.potential(means)


class EntryBatch:
    """The same rows by their entries; a row without any gets an entry of zero."""

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


class EntrywisePotentials(ClusterPotentials):
    """The same where potentials follow from two sums over columns (`EntrywiseTotals`).

    A row changes these sums in its own columns alone: to compare it costs as much as it has
    entries, not columns.
    """

    batch = EntryBatch

    def recount(self) -> None:
        """Compute the sums and the potentials from the totals."""
        self.terms = self._geometry.entry_terms(self.totals)  # (d, k)
        self.sums, self.term_sums = self.totals.sum(axis=0), self.terms.sum(axis=0)
        self.potentials = self._geometry.cluster_potential(self.sizes, self.sums, self.term_sums)

    def effort(self, entries: int) -> int:
        """Return how many numbers are computed to compare a row of so many entries."""
        return entries * len(self.sizes)

    def with_rows(self, batch: Any, part: slice, which: Numbers) -> Floats:
        """Return potentials (m, k) of clusters ``which`` (k,) with each row of a part."""
        columns, added, starts = batch.entries(part)
        if len(which) == len(self.sizes):  # several times as fast as an index
            totals, terms = self.totals.take(columns, 0), self.terms.take(columns, 0)
        else:
            where = columns[:, np.newaxis], which
            totals, terms = self.totals[where], self.terms[where]
        totals += added[:, np.newaxis]
        change = self._geometry.entry_terms(totals)
        change -= terms
        return self._geometry.cluster_potential(
            self.sizes[which] + batch.weights[part, np.newaxis],
            self.sums[which] + batch.sums[part, np.newaxis],
            self.term_sums[which] + np.add.reduceat(change, starts, axis=0),
        )

    def without_rows(self, batch: Any, part: slice, own: Numbers) -> Floats:
        """Return potentials (m,) of the clusters ``own`` (m,) of a part's rows without them."""
        columns, added, starts = batch.entries(part)
        where = columns, np.repeat(own, batch.lengths[part])
        change = self._geometry.entry_terms(self.totals[where] - added) - self.terms[where]
        left = self._geometry.cluster_potential(
            self.sizes[own] - batch.weights[part],
            self.sums[own] - batch.sums[part],
            self.term_sums[own] + np.add.reduceat(change, starts),
        )
        return np.where(self.members[own] > 1, left, self.potentials[-1])

    @property
    def _geometry(self) -> EntrywiseTotals:
        return cast("EntrywiseTotals", self.partition.geometry)

    def _add_one(self) -> None:
        super()._add_one()
        self.sums = np.append(self.sums, self.sums[-1])
        self.term_sums = np.append(self.term_sums, self.term_sums[-1])
        self.terms = np.append(self.terms, self.terms[:, -1:], axis=1)

    def _empty(self, cluster: int) -> None:
        super()._empty(cluster)
        for values in (self.sums, self.term_sums, self.terms):
            values[..., cluster] = values[..., -1]

    def _add(self, batch: Any, at: int, which: Numbers, signs: NDArray[np.int64]) -> None:
        columns, added, _ = batch.entries(slice(at, at + 1))
        where = columns[:, np.newaxis], which
        totals = self.totals[where] + signs * added[:, np.newaxis]
        terms = self._geometry.entry_terms(totals)
        self.sums[which] += signs * batch.sums[at]
        self.term_sums[which] += (terms - self.terms[where]).sum(axis=0)
        self.totals[where], self.terms[where] = totals, terms

    def _recount(self, which: Numbers) -> None:
        self.potentials[which] = self._geometry.cluster_potential(
            self.sizes[which], self.sums[which], self.term_sums[which]
        )


class SeparablePotentials(ClusterPotentials):
    """The same for sparse rows where phi is a sum over columns, and nothing more.

    A row then changes every column's ``phi(T_j / N)``, since N changes: but where it has no entry,
    as any other row of its weight would.
    """

    batch = EntryBatch
    most_kinds = 64  # weights that are remembered

    def recount(self) -> None:
        """Compute the potentials from the totals."""
        super().recount()
        self._elsewhere: dict[float, Floats] = {}

    def effort(self, entries: int) -> int:
        """Return how many numbers are computed to compare a row of so many entries."""
        return entries * len(self.sizes)

    def with_rows(self, batch: Any, part: slice, which: Numbers) -> Floats:
        """Return potentials (m, k) of clusters ``which`` (k,) with each row of a part."""
        columns, added, starts = batch.entries(part)
        sizes = self.sizes[which] + batch.weights[part, np.newaxis]
        at_entries = np.repeat(sizes, batch.lengths[part], axis=0)
        totals = self.totals[columns[:, np.newaxis], which]
        change = self._phi(totals + added[:, np.newaxis], at_entries)
        change -= self._phi(totals, at_entries)
        sums = self._sums_with(batch.weights[part])[:, which]
        return sizes * (sums + np.add.reduceat(change, starts, axis=0))

    def without_rows(self, batch: Any, part: slice, own: Numbers) -> Floats:
        """Return potentials (m,) of the clusters ``own`` (m,) of a part's rows without them."""
        columns, added, starts = batch.entries(part)
        sizes = self.sizes[own] - batch.weights[part]
        at_entries = np.repeat(sizes, batch.lengths[part])
        totals = self.totals[columns, np.repeat(own, batch.lengths[part])]
        change = self._phi(totals - added, at_entries) - self._phi(totals, at_entries)
        sums = self._sums_with(-batch.weights[part])[np.arange(len(own)), own]
        left = sizes * (sums + np.add.reduceat(change, starts))
        return np.where(self.members[own] > 1, left, self.potentials[-1])

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
