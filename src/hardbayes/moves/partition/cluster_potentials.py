"""Potentials of clusters with one row more or one row less, for any divergence.

The potential of a cluster of rows and prior with weight N and total T is ``P = N phi(T / N)``: its
cost is the sum of their ``w phi(x)`` less P.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats, Matrix
    from hardbayes.structure.partition import Partition

    Numbers = NDArray[np.intp]


class Batch:
    """Rows (m, d) of weights (m,) above zero, compared with clusters together."""

    def __init__(self, rows: Matrix, weights: Floats) -> None:
        dense = rows.toarray() if is_sparse(rows) else rows
        self.weights = weights
        self.added = weights[:, np.newaxis] * dense


class ClusterPotentials:
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
        """Compute the potentials from the totals."""
        self.potentials = self._potential(self.sizes, self.totals.T)

    def with_rows(self, batch: Batch, part: slice, which: Numbers) -> Floats:
        """Return potentials (m, k) of clusters ``which`` (k,) with each row of a part."""
        totals = self.totals[:, which].T + batch.added[part, np.newaxis, :]
        return self._potential(self.sizes[which] + batch.weights[part, np.newaxis], totals)

    def without_rows(self, batch: Batch, part: slice, own: Numbers) -> Floats:
        """Return potentials (m,) of the clusters ``own`` (m,) of a part's rows without them.

        That of the prior alone, for the only row of a cluster.
        """
        totals = self.totals[:, own].T - batch.added[part]
        left = self._potential(self.sizes[own] - batch.weights[part], totals)
        return np.where(self.members[own] > 1, left, self.potentials[-1])

    def move(self, batch: Batch, at: int, source: int, target: int) -> None:
        """Move row ``at`` from a cluster to another, which may be the last."""
        if target == len(self.sizes) - 1:
            self._add_one()
        both, signs = np.array([source, target]), np.array([-1, 1])
        self.members[both] += signs
        self.totals[:, both] += signs * batch.added[at][:, np.newaxis]
        self.sizes[both] += signs * batch.weights[at]
        if not self.members[source]:  # exactly, without the rounding of the moves before
            self.sizes[source] = self.partition.prior_weight
            self.totals[:, source] = self.prior
        self.potentials[both] = self._potential(self.sizes[both], self.totals[:, both].T)

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

    def _potential(self, sizes: Floats, totals: Floats) -> Floats:
        geometry = self.partition.geometry
        empty = (sizes <= 0)[..., np.newaxis]
        means = totals / np.where(empty, 1.0, sizes[..., np.newaxis])
        # Removing a row may leave a mean outside the domain by a rounding error. An empty cluster
        # has potential zero, and its mean may be anywhere.
        means = np.where(empty, self.partition.prior_mean, geometry.inside(means))
        return sizes * geometry.potential(means)
