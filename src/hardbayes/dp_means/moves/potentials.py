"""Single-row moves for any divergence, by potentials of clusters, with costs from NumPy.

The potential of a cluster of rows and prior with weight N and total T is ``P = N phi(T / N)``: its
cost is the sum of their ``w phi(x)`` less P. A row of weight w pays ``w phi(x) + P - P'`` to join a
cluster whose potential is P without and P' with it, and frees the same where it leaves one.

Rows are compared with every cluster together, as if none moved; after one that does, only the two
clusters concerned are computed again for those that follow. So each row chooses by the costs that
it would find if rows came one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.core.arrays import is_sparse
from hardbayes.dp_means.moves.single_rows import RowMoves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats, Matrix
    from hardbayes.dp_means.local_rows import LocalRows
    from hardbayes.dp_means.moves.single_rows import Clusters, LocalPenalties
    from hardbayes.dp_means.objective import Partition

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


TOGETHER = 1 << 17  # numbers computed, at most, for rows together
BATCH_MOVES = 2  # in a batch of the right size
POTENTIAL_TOLERANCE = 1e-12  # of what is compared: no move gains less


def move_rows_by_potentials(
    local: LocalRows,
    partition: Partition,
    numbers: NDArray[np.intp],
    clusters: Clusters,
    max_passes: int,
) -> RowMoves:
    """Visit rows one by one; each goes to where the objective is lowest.

    IN/OUT numbers (n,): clusters of the rows.
    """
    potentials = ClusterPotentials(partition, *clusters[:3])
    given = clusters.local_penalties
    local_penalties = None if given is None else MovingLocalPenalties(given)
    row_weights = local.weights_at()
    paying = np.flatnonzero(row_weights > 0)
    largest = max(1, TOGETHER // potentials.totals.size)
    size, n_moves, gain = largest, 0, 0.0
    for _ in range(max_passes):
        before = n_moves
        potentials.recount()
        start = 0
        while start < len(paying):
            part = paying[start : start + size]
            start += len(part)
            batch = Batch(local.matrix(part), row_weights[part])
            own = numbers[part]
            if local_penalties is not None:
                local_penalties.begin(part)
            moved, gained = _move_batch(
                potentials, batch, local.constants_at(part), own, local_penalties
            )
            numbers[part] = own
            n_moves += moved
            gain += gained
            # Each move computes the rest of its batch again: few rows together where many move.
            size = max(1, size // 2) if moved > BATCH_MOVES else min(2 * size, largest)
        if n_moves == before:
            break
    return RowMoves(n_moves, gain, potentials.centres()[len(clusters.weights) : numbers.max() + 1])


class MovingLocalPenalties:
    """What groups pay for clusters, which follows every row that moves; as `ClusterPotentials`."""

    def __init__(self, given: LocalPenalties) -> None:
        self._given = given
        self._pairs = np.append(given.pairs, np.zeros((len(given.pairs), 1), np.int32), axis=1)
        self._groups = given.groups

    def begin(self, rows: NDArray[np.intp]) -> None:
        """Go on with a batch of these rows."""
        self._groups = self._given.groups[rows]

    def freed(self, part: slice, own: NDArray[np.intp]) -> Floats:
        """Return what rows (m,) of the batch free where they leave their clusters ``own`` (m,)."""
        return self._given.penalty * (self._pairs[self._groups[part], own] == 1)

    def paid(self, part: slice) -> Floats:
        """Return what rows (m, k) of the batch pay to join each cluster."""
        return self._given.penalty * (self._pairs[self._groups[part]] == 0)

    def move(self, at: int, source: int, target: int) -> None:
        """Move row ``at`` of the batch from a cluster to another, which may be the last."""
        if target == self._pairs.shape[1] - 1:
            self._pairs = np.append(self._pairs, np.zeros((len(self._pairs), 1), np.int32), axis=1)
        group = self._groups[at]
        self._pairs[group, source] -= 1
        self._pairs[group, target] += 1


def _move_batch(
    clusters: ClusterPotentials,
    batch: Batch,
    constants: Floats,
    own: NDArray[np.intp],
    local_penalties: MovingLocalPenalties | None,
) -> tuple[int, float]:
    """Let the rows of a batch move; return how many did, and what was gained.

    IN constants (m,): phi(x); IN/OUT own (m,): clusters of the rows.
    """
    brings = batch.weights * constants
    m = len(own)
    joined = clusters.with_rows(batch, slice(0, m), np.arange(len(clusters.sizes)))
    left = clusters.without_rows(batch, slice(0, m), own)
    n_moves, gain, at = 0, 0.0, 0
    while at < m:
        rest = slice(at, m)
        pays = brings[rest, np.newaxis] + clusters.potentials - joined[rest]
        frees = brings[rest] + left[rest] - clusters.potentials[own[rest]]
        if local_penalties is not None:
            pays += local_penalties.paid(rest)
            frees += local_penalties.freed(rest, own[rest])
        goes, gains = _choices(clusters, pays, frees, own[rest])
        movers = np.flatnonzero(goes != own[rest])
        if not len(movers):
            break
        at += int(movers[0])
        source, target = int(own[at]), int(goes[movers[0]])
        if target == joined.shape[1] - 1:
            joined = np.append(joined, joined[:, -1:], axis=1)
        clusters.move(batch, at, source, target)
        if local_penalties is not None:
            local_penalties.move(at, source, target)
        own[at] = target
        n_moves += 1
        gain += float(gains[movers[0]])
        at += 1
        if at < m:
            rest, changed = slice(at, m), np.array([source, target])
            joined[rest, changed] = clusters.with_rows(batch, rest, changed)
            theirs = (own[rest] == source) | (own[rest] == target)
            if theirs.any():
                new = clusters.without_rows(batch, rest, own[rest])
                left[rest] = np.where(theirs, new, left[rest])
    return n_moves, gain


def _choices(
    clusters: ClusterPotentials, pays: Floats, frees: Floats, own: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Floats]:
    """Return where each row (m,) would go if it were visited now, and what that would gain.

    IN pays (m, k), frees (m,): without the penalty of a cluster that opens, or closes. OUT pays.
    """
    partition, potentials = clusters.partition, clusters.potentials
    last = clusters.members[own] == 1
    frees = frees + partition.penalty * last
    n_open = np.count_nonzero(clusters.members)
    pays[:, -1] += partition.penalty
    pays[last, -1] = np.inf
    if n_open >= partition.max_clusters:
        pays[:, -1] = np.inf
    pays[:, :-1][:, clusters.members[:-1] == 0] = np.inf
    at = np.arange(len(own))
    pays[at, own] = np.inf
    best = np.argmin(pays, axis=1)
    noise = POTENTIAL_TOLERANCE * (
        np.abs(frees) + np.abs(potentials[own]) + np.abs(potentials[best])
    )
    gains = frees - pays[at, best]
    return np.where(pays[at, best] < frees - noise, best, own), gains
