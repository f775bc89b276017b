"""The state of a fit: rows with their labels, and the clusters with their centres.

Moves read it and change nothing. It changes in three ways, each one call: `start`, `sweep`, and
`apply` with the proposal of a move; `refit` follows the last two. On small data
`dp_means.small` does several sweeps and refits at once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.arrays import Totals, centres_without_scores, chunks, exact_sum
from hardbayes.dp_means.centres import TABLES, CentreTable, ClusterList
from hardbayes.dp_means.moves.births import open_clusters
from hardbayes.dp_means.moves.merges import nearest_partners

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import DirectForm, Division, Floats, Summary, VisitOrder
    from hardbayes.core.pool import Pool
    from hardbayes.dp_means.moves import PartitionProposal
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.rows import Rows

    Ids = NDArray[np.intp]


class ClusterStatistics:
    """What exact totals say of the clusters in these slots (k,), computed when first read.

    Several moves read the same arrays: to change one, copy it.
    """

    def __init__(
        self, partition: Partition, totals: Totals, slots: NDArray[np.intp], pool: Pool
    ) -> None:
        self._partition = partition
        self._totals = totals
        self._slots = slots
        self._pool = pool

    @cached_property
    def weights(self) -> Floats:
        """Weights (k,)."""
        return self._totals.weights(self._slots)

    @cached_property
    def totals(self) -> Floats:
        """Totals (k, d)."""
        return self._totals.sums(self._slots)

    @cached_property
    def centres(self) -> Floats:
        """Minimising centres (k, d)."""
        return self._partition.centres(self.weights, self.totals)

    @cached_property
    def unions(self) -> tuple[NDArray[np.intp], Floats]:
        """With which other cluster each (k,) unites most cheaply, and what that costs."""
        return nearest_partners(self._partition, self.weights, self.centres, pool=self._pool)


ALL = slice(None)


class Potential(NamedTuple):
    """The objective of a partition, up to a constant that all partitions of the rows share.

    ``sum_i w_i D(x_i, mu) + eta D(m, mu)`` over a cluster is
    ``sum w phi(x) - [(n + eta) phi(mu) - eta phi(m)]``: only the bracket, the potential, depends on
    the partition, and it follows from the cluster's totals, with no pass over the rows.
    """

    n_clusters: int
    value: float
    remainder: float  # what float64 cannot hold of the potential

    def above(self, other: Potential) -> float:
        """How much higher the objective is here than at ``other``, without the penalty."""
        return (other.value - self.value) + (other.remainder - self.remainder)


class PartitionState:
    """Rows and their clusters, which go by their numbers: 0 to k - 1 in order of creation.

    Slots, in which a table holds the clusters and by which rows name them, are not seen outside.

    Parameters
    ----------
    rows : Rows
    partition : Partition
        For its divergence and prior; penalty and cap belong to the descent.
    """

    def __init__(self, rows: Rows, partition: Partition) -> None:
        self.rows = rows
        self.partition = partition
        self._table: CentreTable  # from `start` on
        self._known: ClusterStatistics | None = None  # of the present labels

    # -- what moves read ---------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self._table.slots)

    @property
    def names(self) -> NDArray[np.int64]:
        """A number for each cluster (k,) that no other ever has."""
        return self._table.names

    def weights(self) -> Floats:
        """Return the weights (k,) of the clusters."""
        return self._clusters().weights

    def totals(self) -> tuple[Floats, Floats]:
        """Return weights (k,) and totals (k, d) of the clusters."""
        clusters = self._clusters()
        return clusters.weights, clusters.totals

    def centres(self) -> tuple[Floats, Floats]:
        """Return weights (k,) and minimising centres (k, d) of the clusters."""
        clusters = self._clusters()
        return clusters.weights, clusters.centres

    def unions(self) -> tuple[Ids, Floats]:
        """Return with which other cluster each (k,) unites most cheaply, and what that costs."""
        return self._clusters().unions

    def _clusters(self) -> ClusterStatistics:
        if self._known is None:
            self._known = ClusterStatistics(
                self.partition, self._totals(), self._table.slots, self.rows.pool
            )
        return self._known

    def numbers(self, ids: Ids | slice = ALL) -> NDArray[np.int32]:
        """Return the number of each row's cluster (m,).

        -1 for rows whose cluster was closed: one that held rows of no weight alone.
        """
        labels = self.rows.labels(ids)
        return labels.copy() if self._table.in_order else self._number_of()[labels]

    def final_numbers(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster (n,), an array only once it is read as one."""
        return self.rows.numbers(None if self._table.in_order else self._number_of())

    def member_counts(self, weighted: bool = True) -> NDArray[np.int64]:
        """Return how many rows each cluster (k,) has, of positive weight unless told of any."""
        rows = self.rows
        counts = np.zeros(self._table.n_slots + 1, np.int64)  # the last for rows in no slot
        for part in chunks(rows.n_rows, 1):
            labels = rows.labels(part)
            has_weight = rows.has_weight(part) if weighted else None
            if has_weight is not None:
                labels = labels[has_weight]
            counts += np.bincount(labels % len(counts), minlength=len(counts))
        return counts[self._table.slots]

    def parts(self) -> list[slice]:
        """Return slices of the rows, each of no more than may be taken at a time."""
        n, size = self.rows.n_rows, self.rows.most_taken
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def rows_in(self, clusters: Ids) -> Ids:
        """Return the rows of these clusters, in order."""
        wanted = np.zeros(self._table.n_slots + 1, bool)  # the last for rows in no slot
        wanted[self._table.slots[clusters]] = True
        labels = self.rows.labels
        parts = chunks(self.rows.n_rows, 1)
        return np.concatenate([p.start + np.flatnonzero(wanted[labels(p)]) for p in parts])

    def sample_by_cluster(self, size: int, rng: np.random.RandomState) -> tuple[Ids, Ids]:
        """Return about ``size`` rows sorted by cluster, and the number of each one's cluster.

        All rows, where there are no more than that; but for those whose cluster was closed.
        """
        n_rows = self.rows.n_rows
        ids = np.arange(n_rows) if n_rows <= size else np.unique(rng.randint(n_rows, size=size))
        numbers = self.numbers(ids).astype(np.intp)
        order = np.argsort(numbers, kind="stable")
        order = order[np.searchsorted(numbers[order], 0) :]
        return ids[order], numbers[order]

    def candidates(self, slack: float, part: slice | None = None) -> Ids:
        """Return all rows, of all or of a part, that might move alone at a gain; maybe others."""
        table = self._table
        sizes = np.ones(table.n_slots)
        sizes[table.slots] = self.weights() + self.partition.prior_weight
        return self.rows.candidates(table.view(), sizes, self.partition.prior_weight, slack, part)

    def divide(self, clusters: Ids, halves: DirectForm) -> tuple[Division, Totals]:
        """Divide clusters (c,) between centres (2c, d), two each, without any change.

        Return how many rows would go to the second parts with the exact totals of these, and the
        exact totals of the first parts.
        """
        slots = self._table.slots[clusters]
        division = self.rows.divide(slots, halves)
        pairs = zip(self._totals()[:4], division.totals[:4], strict=True)
        left = (whole[slots] - second for whole, second in pairs)
        return division, Totals._make([*left, np.ones(len(slots), bool)])

    def fit_term(self) -> float:
        """Return the sum of the weighted costs of all rows."""
        return self.rows.fit_term(self._table.direct())

    def costs_at(self, centres: Floats, labels: NDArray[np.int32]) -> Floats:
        """Return the cost (n,) of each row at centres (k, d), for any labels (n,), 0 to k - 1."""
        if not self.rows.layout.sparse:
            form = self.partition.direct_form(centres)
            return self.rows.costs(centres_without_scores(form, self.rows.layout.dtype), labels)
        table = self._new_table(ClusterList.of(centres))
        return self.rows.costs(table.direct(), table.slots.astype(np.int32)[labels])

    def fit_term_at(self, centres: Floats, labels: NDArray[np.int32]) -> float:
        """Return the sum of the weighted costs of all rows, for any labels, as `costs_at` does."""
        costs = self.costs_at(centres, labels)
        costs *= self.rows.weights  # in place: one array as long as the data is enough
        return exact_sum(costs)

    def clusters(self) -> tuple[ClusterList, Totals]:
        """Return where the clusters stand, and their exact totals; for squared distances."""
        table = self._table
        where = slice(self.n_clusters) if table.in_order else table.slots
        listed = ClusterList(table.exact[where], table.rank[where], table.next_rank)
        return listed, Totals(*(part[where] for part in self._totals()))

    # -- changes -----------------------------------------------------------------------------------

    def start(self, centres: Floats, labels: NDArray[np.int32] | None = None) -> None:
        """Begin at these centres (k, d), with no row in a cluster; or with these labels (n,)."""
        totals = None if labels is None else self.rows.totals(len(centres), labels)
        self.start_from(ClusterList.of(centres), labels, totals)

    def start_from(
        self, clusters: ClusterList, labels: NDArray[np.int32] | None, totals: Totals | None
    ) -> None:
        """Begin with these clusters; with the number of each row's (n,) and their exact totals."""
        self._table, self._known = self._new_table(clusters), None
        self.rows.start(labels, totals)
        if labels is not None and not self._table.in_order:
            self.rows.relabel(self._table.slots, self._table.n_slots)

    def sweep(self, opening: Floats, order: VisitOrder, max_clusters: int) -> Summary:
        """Every row goes to its cheapest centre, or opens a cluster: Algorithm 1.

        Centres stay where they are until all rows have chosen; then `refit`.
        """
        table, rows = self._table, self.rows
        self._known = None
        swept = rows.assign(table.view(), opening, table.take_drift())
        if not swept.n_above or self.n_clusters >= max_clusters:
            return swept
        return open_clusters(rows, table, self.partition, opening, order, max_clusters)

    def rows_above(self, centres: Floats, opening: Floats) -> int:
        """Return how many rows are above their opening cost if they start at these centres."""
        self.start(centres)
        return self.rows.assign(self._table.view(), opening).n_above

    def choose_nearest(self, last: bool = False) -> NDArray[np.bool_]:
        """Give every row to its cheapest centre, where they are; no cluster opens.

        Return which clusters (k,) have rows. ``last``: no other pass follows.
        """
        table = self._table
        drift = None if last else table.take_drift()
        self._known = None
        self.rows.assign(table.view(), np.array([np.inf]), drift)
        return self.member_counts(weighted=False) > 0

    def apply(self, proposal: PartitionProposal) -> None:
        """Do what a move proposes: change labels, open clusters, and close those without weight."""
        table = self._table
        slots = table.slots
        self._known = None
        if proposal.united is not None:
            names = np.arange(table.n_slots)
            names[slots] = slots[proposal.united]
            self.rows.relabel(names)
        if proposal.opened is not None:
            slots = np.append(slots, table.open(proposal.opened))
        if proposal.divided is not None:
            clusters, halves, to = proposal.divided
            into = np.where(to >= 0, slots[to], -1)
            self.rows.divide(slots[clusters], halves, into)
        if len(proposal.ids):
            self.rows.set_labels(proposal.ids, slots[proposal.numbers])
        self.close_empty()

    def close_empty(self) -> Totals:
        """Close clusters without weight; return the totals of all slots."""
        totals = self._totals()
        weights = totals.weights(self._table.slots)
        if not weights.all():
            self.close(weights == 0)
        return totals

    def close(self, which: NDArray[np.bool_]) -> None:
        """Close clusters (mask over them)."""
        table = self._table
        table.close(table.slots[which])
        self._known = None

    def refit(self) -> Potential:
        """Close clusters without weight, and move the others to their minimising centres."""
        table = self._table
        totals = self.close_empty()
        is_crowded = table.is_crowded
        value = table.refit(totals)
        if is_crowded or table.layout is not self.rows.layout:
            self._lay_out_anew(table)
        return Potential(self.n_clusters, *value)

    # -- slots -------------------------------------------------------------------------------------

    def _totals(self) -> Totals:
        return self.rows.totals(self._table.used)

    def _number_of(self) -> NDArray[np.int32]:
        """Return the number of the cluster in each slot, -1 for free ones and for no slot."""
        numbers = np.full(self._table.n_slots + 1, -1, np.int32)
        numbers[self._table.slots] = np.arange(self.n_clusters)
        return numbers

    def _new_table(self, clusters: ClusterList) -> CentreTable:
        layout = self.rows.layout
        return TABLES[layout.costs](self.partition, layout, clusters, self.rows.pool)

    def _lay_out_anew(self, table: CentreTable) -> None:
        """Lay the clusters out without free slots between them."""
        old, n_old = table.slots, table.n_slots
        clusters = ClusterList(self.centres()[1], table.names, table.next_rank)
        self._table = self._new_table(clusters)
        names = np.full(n_old, -1)
        names[old] = self._table.slots
        self.rows.relabel(names, self._table.n_slots)
