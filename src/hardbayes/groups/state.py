"""The state of a fit of the hard HDP: a partition of the rows, and which groups use which cluster.

Moves read it and change nothing. It changes in three ways, each one call: `start`, a sweep
(`sweep`), and `apply` with the proposal of a move, then `refit`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.core.arrays import DirectForm, Floats, Matrix
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.moves.single_rows import LocalPenalties
from hardbayes.dp_means.rows import Rows
from hardbayes.dp_means.state import PartitionState, Potential
from hardbayes.groups.memory import NO_NEAREST, Groups, Sweep, cheapest, visit_rows
from hardbayes.groups.problem import GroupedPartition

Ids = NDArray[np.intp]
Labels = NDArray[np.int32]
#: Means (m, d) and weights (m,) to rows of these weights, and what each pays for a cluster.
Gather = Callable[[Matrix, Floats], tuple[Rows, Floats]]

# Costs of rows at centres up to which rows are compared with all centres one by one.
SMALL_COSTS = 1 << 16
# Changes of the fit below this part of what clusters explain are rounding.
RELATIVE_TOLERANCE = 1e-12


class Point(NamedTuple):
    """The objective of a grouped partition, up to a constant that all partitions share."""

    potential: Potential
    n_local: int


class LocalClusters(NamedTuple):
    """The local clusters as weighted rows, by group and in order of creation."""

    groups: Groups  # the group of each (m,)
    numbers: Labels  # (m,): the cluster of each
    of_rows: Labels  # (n,): the local cluster of each row of positive weight, else -1
    rows: Rows
    opening: Floats  # (m,) or (1,): what each pays to open a cluster


class Swept(NamedTuple):
    """What a sweep did."""

    n_changed: int  # rows
    changing: bool  # whether the partition is another one
    is_capped: bool  # whether rows would have opened clusters but for the cap


class GroupedState:
    """Rows in groups and their clusters, which go by their numbers: 0 to k - 1.

    Parameters
    ----------
    rows, same_rows : Rows
        Twice the same: labels of the first are those of the fit, labels of the second one serve to
        find nearest centres, and to try changes of the whole partition.
    grouped : GroupedPartition
        For its divergence and prior; penalties and cap belong to the descent.
    groups : Groups
    gather : callable
        Makes rows of the means of local clusters.
    unit_weight : float
        What a row of weight one weighs here: predictions are for such rows.

    Attributes
    ----------
    base : PartitionState
        The partition of the rows.
    ranks : array (groups, k), int32
        Which local clusters there are, by order of creation; -1 where a group does not use a
        cluster. Rows without weight use none.
    """

    def __init__(
        self,
        rows: Rows,
        same_rows: Rows,
        grouped: GroupedPartition,
        groups: Groups,
        gather: Gather,
        unit_weight: float,
    ) -> None:
        self.rows = rows
        self.groups = groups
        self.base = PartitionState(rows, grouped.partition)
        self.ranks: NDArray[np.int32] = np.zeros((groups.n_groups, 0), np.int32)
        self._same_rows = same_rows
        self._grouped = grouped
        self._partition = grouped.partition
        self._gather = gather
        self._unit_weight = unit_weight
        self._centres: Floats = np.zeros((0, rows.n_columns))

    # -- what moves read ---------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.base.n_clusters

    @property
    def n_local(self) -> int:
        """Number of local clusters."""
        return int(np.count_nonzero(self.ranks >= 0))

    @cached_property
    def weighted(self) -> Ids:
        """Rows of positive weight."""
        return np.flatnonzero(np.broadcast_to(self.rows.weights, self.rows.n_rows) > 0)

    @cached_property
    def by_group(self) -> Ids:
        """Rows (n,) sorted by group."""
        return np.argsort(self.groups.numbers, kind="stable")

    @cached_property
    def group_starts(self) -> Ids:
        """Where each group begins in `by_group`: (groups + 1,)."""
        sizes = np.bincount(self.groups.numbers, minlength=self.groups.n_groups)
        return np.append(0, np.cumsum(sizes))

    def in_use(self) -> Floats:
        """Return one where a group uses a cluster (groups, k), else zero."""
        return (self.ranks >= 0).astype(np.float64)

    def pairs(self, numbers: Labels | None = None, k: int | None = None) -> NDArray[np.int32]:
        """Return how many rows of positive weight each group has in each cluster (groups, k).

        For the present numbers of clusters (n,), or for others.
        """
        numbers = self.base.numbers() if numbers is None else numbers
        k = self.n_clusters if k is None else k
        places = self.groups.numbers[self.weighted] * k + numbers[self.weighted]
        counts = np.bincount(places, minlength=self.groups.n_groups * k)
        return counts.reshape(-1, k).astype(np.int32)

    def local_penalties(self, local_penalty: float, ids: Ids) -> LocalPenalties:
        """Return what groups pay, for single-row moves of rows ``ids``."""
        return LocalPenalties(local_penalty, self.groups.numbers[ids], self.pairs())

    def lone_rows(self) -> Ids:
        """Return the rows that are the only one of their group in their cluster."""
        numbers, groups = self.base.numbers(self.weighted), self.groups.numbers[self.weighted]
        return self.weighted[self.pairs()[groups, numbers] == 1]

    def trial(self, centres: Floats, numbers: Labels) -> GroupedState:
        """Return a state of its own that begins with other numbers of clusters (n,).

        Valid until the next one is made, or until a sweep.
        """
        rows = self._same_rows
        state = GroupedState(
            rows, rows, self._grouped, self.groups, self._gather, self._unit_weight
        )
        state.start(centres, numbers)
        state.refit()
        return state

    def local_clusters(self) -> LocalClusters:
        """Return the local clusters as weighted rows."""
        return self._local_clusters(self.base.numbers(), self.ranks)

    def partition_of(self, local: LocalClusters) -> PartitionState:
        """Return the partition of the local clusters as it is."""
        whole = PartitionState(local.rows, self._partition)
        whole.start(self.base.centres()[1], local.numbers.copy())
        return whole

    def clusters_of(self, numbers: Labels) -> tuple[Floats, Floats]:
        """Return weights (m,) and centres (m, d) for other numbers of clusters (n,).

        m is k, or more where numbers are larger. A cluster without weight is at the prior's mean.
        """
        most = max(self.n_clusters, int(numbers.max()) + 1)
        totals, every = self.rows.totals(most, numbers), np.arange(most)
        weights, sums = totals.weights(every), totals.sums(every)
        sums[weights == 0] = self._partition.prior_mean
        return weights, self._partition.centres(np.where(weights > 0, weights, 1.0), sums)

    def nearest(self, centres: Floats) -> Labels:
        """Return the cheapest of any centres (k, d) for each row (n,)."""
        return self._cheapest(centres, np.zeros((1, len(centres)), np.int32), 0.0)

    def proposal(self, grouped: GroupedPartition, numbers: Labels) -> PartitionProposal:
        """Return the proposal of other numbers of clusters (n,), with the exact change.

        Numbers from k on are new clusters.
        """
        partition, k = grouped.partition, self.n_clusters
        weights, centres = self.clusters_of(numbers)
        there, most = weights > 0, len(weights)
        old_weights, old_centres = self.base.centres()
        origin = self.base.totals()[1].sum(axis=0) / old_weights.sum()
        before = partition.explained(old_weights, old_centres, origin).sum()
        more = partition.explained(weights[there], centres[there], origin).sum() - before
        if not abs(more) > RELATIVE_TOLERANCE * abs(before):
            more = 0.0
        n_local = int(np.count_nonzero(self.pairs(numbers, most)))
        penalties = grouped.total_penalty(n_local, int(np.count_nonzero(there)))
        change = penalties - grouped.total_penalty(self.n_local, k) - float(more)
        ids = np.flatnonzero(numbers != self.base.numbers())
        opened = centres[k:] if most > k else None
        return PartitionProposal(change, ids, numbers[ids].astype(np.intp), opened)

    # -- changes -----------------------------------------------------------------------------------

    def start(self, centres: Floats, labels: Labels | None = None) -> None:
        """Begin at these centres (k, d), with these labels (n,) or each row at the cheapest."""
        if labels is None:
            labels = self.nearest(centres)
        used = np.unique(labels[self.weighted])
        names = np.full(len(centres) + 1, -1, np.int32)
        names[used] = np.arange(len(used))
        self._centres = centres[used]
        self.base.start(self._centres, names[labels])
        in_use = self.pairs(names[labels], len(used)) > 0
        ranks = np.cumsum(in_use).reshape(in_use.shape) - 1
        self.ranks = np.where(in_use, ranks, -1).astype(np.int32)

    def place_rows(self, centres: Floats, local_penalty: float, everything: bool) -> Floats:
        """Give rows to the clusters that a prediction would give them; return the centres left.

        All of them, or those without weight only. Which group uses which cluster follows, until no
        row would choose another: what rows and groups pay falls every time.
        """
        labels = self.base.numbers()
        while True:
            before = labels
            labels = self._cheapest(centres, self.ranks, local_penalty)
            if not everything:
                labels[self.weighted] = before[self.weighted]
            in_use = self.pairs(labels, len(centres)) > 0
            left = in_use.any(axis=0)
            ranks = np.where(self.ranks < 0, self.ranks.max() + 1, self.ranks)
            self.ranks = np.where(in_use, ranks, -1).astype(np.int32)
            if np.array_equal(before, labels) and left.all():
                break
            names = np.append(np.where(left, np.cumsum(left) - 1, -1), -1).astype(np.int32)
            labels, centres = names[labels], centres[left]
            self.ranks = np.ascontiguousarray(self.ranks[:, left])
        self._centres = centres
        self.base.start(centres, labels)
        return centres

    def sweep(self, grouped: GroupedPartition, opening: Floats, order: Ids) -> Swept:
        """Rows choose clusters, then local clusters do: steps 4 and 5 of Algorithm 2.

        Old centres stay where they are; then `refit`. ``opening`` (n,) or (1,): what a row pays for
        a cluster, the local penalty aside.
        """
        partition = grouped.partition
        before = self.base.numbers()
        k = len(self._centres)
        form = partition.direct_form(self._centres)
        rows = Sweep(
            order, grouped.local_penalty, grouped.row_openings(opening), partition.max_clusters,
            self._opened_by(self.rows),
        )  # fmt: skip
        visited = visit_rows(
            self.rows.take(), rows, self.groups, form, before, self.ranks, self._nearest()
        )
        local = self._local_clusters(visited.labels, visited.ranks)
        centres = np.array([*self._centres, *visited.opened])
        m = len(local.numbers)
        whole = Sweep(
            np.arange(m), 0.0, local.opening, partition.max_clusters, self._opened_by(local.rows)
        )
        moved = visit_rows(
            local.rows.take(), whole, Groups(np.zeros(m, np.intp), 1),
            partition.direct_form(centres), local.numbers, np.zeros((1, len(centres)), np.int32),
        )  # fmt: skip
        opened = [*visited.opened, *moved.opened]
        labels = np.append(moved.labels, -1)[local.of_rows]
        after = np.where(local.of_rows >= 0, labels, before).astype(np.int32)
        first = np.full((len(self.ranks), k + len(opened)), np.iinfo(np.int32).max, np.int32)
        np.minimum.at(first, (local.groups.numbers, moved.labels), np.arange(m, dtype=np.int32))
        self.ranks = np.where(first < m, first, -1).astype(np.int32)
        changed = np.flatnonzero(after != before)
        numbers, new = after[changed].astype(np.intp), np.array(opened) if opened else None
        self._change(PartitionProposal(0.0, changed, numbers, new))
        same = _is_same(before[self.weighted], after[self.weighted])
        return Swept(len(changed), not same, visited.refused or moved.refused)

    def apply(self, proposal: PartitionProposal) -> None:
        """Do what a move proposes: change labels, open clusters, and close those without weight."""
        k = self.n_clusters
        if proposal.opened is not None:
            k += len(proposal.opened)
        numbers = self.base.numbers()
        if proposal.united is not None:
            numbers = np.append(proposal.united, -1)[numbers].astype(np.int32)
        numbers[proposal.ids] = proposal.numbers
        in_use = self.pairs(numbers, k) > 0
        # A local cluster that stays keeps its rank, one whose cluster is united with another too.
        ranks = np.full((len(self.ranks), k), -1, np.int32)
        ranks[:, : self.ranks.shape[1]] = self.ranks
        if proposal.united is not None:
            first = np.where(ranks < 0, np.iinfo(np.int32).max, ranks)
            np.minimum.at(first.T, proposal.united, first.T.copy())
            ranks = np.where(first == np.iinfo(np.int32).max, -1, first).astype(np.int32)
        new = in_use & (ranks < 0)
        ranks[new] = ranks.max(initial=-1) + 1 + np.arange(np.count_nonzero(new))
        self.ranks = np.where(in_use, ranks, -1).astype(np.int32)
        self._change(proposal)

    def refit(self) -> Point:
        """Move the clusters to their minimising centres."""
        potential = self.base.refit()
        self._centres = self.base.centres()[1]
        return Point(potential, self.n_local)

    # -- parts of these ----------------------------------------------------------------------------

    def _change(self, proposal: PartitionProposal) -> None:
        """Apply to the partition; drop the columns of clusters that are closed."""
        self.base.apply(proposal)
        self.ranks = np.ascontiguousarray(self.ranks[:, (self.ranks >= 0).any(axis=0)])

    def _nearest(self) -> Labels:
        """Return the cheapest centre of each row (n,), where a parallel pass is worth it."""
        if self.rows.n_rows * len(self._centres) <= SMALL_COSTS:
            return NO_NEAREST
        placed = PartitionState(self._same_rows, self._partition)
        placed.start(self._centres)
        placed.choose_nearest(last=True)
        return placed.numbers()

    def _cheapest(self, centres: Floats, ranks: NDArray[np.int32], local_penalty: float) -> Labels:
        """Return the cluster of each row (n,) where it pays least, as if its weight were one."""
        groups = self.groups.numbers if len(ranks) > 1 else np.zeros(self.rows.n_rows, np.intp)
        form = self._partition.direct_form(centres)
        local_penalty = local_penalty / self._unit_weight
        return cheapest(self.rows.take(), form, groups, ranks >= 0, local_penalty)[0]

    def _opened_by(self, rows: Rows) -> Callable[[int], tuple[Floats, DirectForm]]:
        def opened_by(row: int) -> tuple[Floats, DirectForm]:
            local = rows.take(np.array([row]))
            centre = self._partition.opening_centres(local.dense(), local.weights_at())
            return centre[0], self._partition.direct_form(centre)

        return opened_by

    def _local_clusters(self, labels: Labels, ranks: NDArray[np.int32]) -> LocalClusters:
        """Return the local clusters of these labels (n,), by group and then by rank."""
        in_use = self.pairs(labels, ranks.shape[1]) > 0
        groups, numbers = np.nonzero(in_use)
        order = np.lexsort((ranks[groups, numbers], groups))
        groups, numbers = groups[order], numbers[order]
        place = np.full(in_use.shape, -1, np.int32)
        place[groups, numbers] = np.arange(len(groups))
        of_rows = np.full(self.rows.n_rows, -1, np.int32)
        of_rows[self.weighted] = place[self.groups.numbers[self.weighted], labels[self.weighted]]
        means, weights = self._means(of_rows, len(groups))
        rows, opening = self._gather(means, weights)
        which = Groups(groups, self.groups.n_groups)
        return LocalClusters(which, numbers.astype(np.int32), of_rows, rows, opening)

    def _means(self, labels: Labels, k: int) -> tuple[Matrix, Floats]:
        """Return means (k, d) and weights (k,) of any sets of rows; sparse where rows are."""
        rows = self.rows
        if not rows.layout.sparse:
            totals, numbers = rows.totals(k, labels), np.arange(k)
            weights = totals.weights(numbers)
            return totals.sums(numbers) / weights[:, np.newaxis], weights
        ids = np.flatnonzero(labels >= 0)
        heavy = np.broadcast_to(rows.weights, rows.n_rows)[ids]
        sums = np.asarray(np.bincount(labels[ids], heavy, k), np.float64)
        shares = heavy / sums[labels[ids]]
        members = csr_array((shares, (labels[ids], np.arange(len(ids)))), (k, len(ids)))
        means = csr_array(members @ rows.take(ids).matrix())
        means.sort_indices()
        return means, sums


def _is_same(before: Labels, after: Labels) -> bool:
    """Whether two labellings (n,) give the same partition."""
    if np.array_equal(before, after):
        return True
    both = len(np.unique(before.astype(np.int64) * (int(after.max()) + 1) + after))
    return both == len(np.unique(before)) == len(np.unique(after))
