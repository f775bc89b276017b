"""Windows of rows, and what each adds to the summary: the micro step.

Rows are taken up in windows of a fixed size by their number in the whole stream, so how the stream
is cut into calls changes nothing. In a window, one sweep of the engine with the micro-clusters'
means as centres gives each row to a micro-cluster or opens one for it; where there are then too
many, the cheapest pairs unite, and what the dearest union cost is what a row must cost from then on
to open one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from hardbayes.core.arrays import GIVEN_ORDER, Floats, Matrix, is_sparse
from hardbayes.core.frame import column_range
from hardbayes.dp_means.moves.births import open_clusters
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.problem import opening_costs, rows_in_memory
from hardbayes.mini_batch.summary import Numbers, Summary

if TYPE_CHECKING:
    from hardbayes.core.frame import Frame
    from hardbayes.core.geometry import Geometry
    from hardbayes.core.pool import Pool
    from hardbayes.dp_means.centres import CentreTable
    from hardbayes.dp_means.memory import MemoryRows

# Rows of a window. Larger ones need fewer calls for as many rows, but centres stand still for
# longer, and as many rows wait until results are read.
WINDOW = 1024


class Window(NamedTuple):
    """Some rows of a stream, next to each other."""

    matrix: Matrix
    weights: Floats | None  # (n,); None where all are one
    times: Floats | None  # (n,); None where rows are numbered

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def total_weight(self) -> float:
        """Return the sum of the weights; it may be infinite."""
        with np.errstate(over="ignore"):
            return float(len(self) if self.weights is None else self.weights.sum())

    def part(self, rows: slice) -> Window:
        """Return some of the rows."""
        some = (None if each is None else each[rows] for each in self[1:])
        return Window(self.matrix[rows], *some)

    def like(self, as_sparse: bool) -> Window:
        """Return the rows as CSR or as an array, as the first rows of the stream were."""
        if is_sparse(self.matrix) == as_sparse:
            return self
        matrix = self.matrix.toarray() if is_sparse(self.matrix) else sparse.csr_array(self.matrix)
        return Window(matrix, self.weights, self.times)

    def copy(self) -> Window:
        """Return the rows in memory of their own: the user may fill theirs with others."""
        return Window(self.matrix.copy(), *(None if a is None else a.copy() for a in self[1:]))


def joined(windows: list[Window]) -> Window:
    """Return the rows of several windows as one."""
    if len(windows) == 1:
        return windows[0]
    matrices = [window.matrix for window in windows]
    if is_sparse(matrices[0]):
        matrix = sparse.csr_array(sparse.vstack(matrices, format="csr"))
        matrix.has_sorted_indices = matrix.has_canonical_format = True
    else:
        matrix = np.concatenate(matrices)
    weights, times = None, None
    if any(window.weights is not None for window in windows):
        every = (np.ones(len(w)) if w.weights is None else w.weights for w in windows)
        weights = np.concatenate(list(every))
    if windows[0].times is not None:
        times = np.concatenate([window.times for window in windows])
    return Window(matrix, weights, times)


class Absorbed(NamedTuple):
    """What became of the rows of a window."""

    numbers: Numbers  # (n,): the micro-cluster of each row; -1 where there is none yet
    touched: Numbers  # (t,): the micro-clusters that got rows
    weights: Floats  # (t,): how much
    costs: Floats  # (t,): of those rows around the micro-clusters' new means


class MicroStep:
    """Takes up windows into a summary.

    Parameters
    ----------
    geometry : Geometry
    pool : Pool
    """

    def __init__(self, geometry: Geometry, pool: Pool) -> None:
        self.pool = pool
        self._geometry = geometry
        self._table: CentreTable | None = None  # of all micro-clusters; None: make it anew

    def forget(self) -> None:
        """Make the table of centres anew: the micro-clusters have changed otherwise."""
        self._table = None

    def absorb(
        self,
        matrix: Matrix,
        weights: Floats,
        frame: Frame,
        summary: Summary,
        opening: float,
        prior_weight: float,
    ) -> tuple[Summary, Absorbed]:
        """Give each row to a micro-cluster, or open one for it; return the new summary.

        ``weights`` (n,) or (1,); ``opening``: what a row must cost to open a micro-cluster.
        """
        rows = self._rows(matrix, weights, frame)
        partition = self._partition(rows, summary, opening, prior_weight)
        table = self._table_for(rows, summary, partition)
        costs = opening_costs(rows, partition, rows.weights)
        if rows.assign(table.view(), costs).n_above:
            open_clusters(rows, table, partition, costs, GIVEN_ORDER, partition.max_clusters)
        number_of = np.full(table.n_slots, -1)
        number_of[table.slots] = np.arange(len(table.slots))
        numbers = number_of[rows.labels()]
        summary = summary.with_room(len(table.slots) - len(summary))
        touched, means, weights, costs = self._add(rows, numbers, summary, partition)
        if self._table is not None:
            table.move(table.slots[touched], means)
        if table.is_crowded:
            self.forget()
        alive = summary.weights > 0  # but for the centre that the first window began with
        if not alive.all():
            self.forget()
            place = np.where(alive, np.cumsum(alive) - 1, -1)
            summary, numbers = summary.take(np.flatnonzero(alive)), place[numbers]
            kept = alive[touched]
            touched, weights, costs = place[touched[kept]], weights[kept], costs[kept]
        return summary, Absorbed(numbers, touched, weights, costs)

    def _rows(self, matrix: Matrix, weights: Floats, frame: Frame) -> MemoryRows:
        low, high = column_range(matrix)
        largest = np.maximum(np.abs(low - frame.shift), np.abs(high - frame.shift))
        return rows_in_memory(matrix, self._geometry, frame, weights, largest, self.pool)

    def _partition(
        self, rows: MemoryRows, summary: Summary, opening: float, prior_weight: float
    ) -> Partition:
        """Return what the micro step minimises; its prior mean is that of all rows so far."""
        mean = np.zeros(rows.n_columns)
        if self._follows_mean(prior_weight):
            one = np.zeros(1, np.intp)
            window = rows.totals(1, np.zeros(rows.n_rows, np.int32))
            weight = window.weights(one)[0] + summary.weights.sum()
            if weight > 0:
                mean = (window.sums(one)[0] + summary.sums.sum(axis=0)) / weight
        most = len(summary) + rows.n_rows + 1
        return Partition(self._geometry, opening, prior_weight, mean, most)

    def _follows_mean(self, prior_weight: float) -> bool:
        """Whether centres or costs depend on the mean of all rows, which each window moves."""
        return bool(prior_weight) or self._geometry.needs_mean

    def _table_for(self, rows: MemoryRows, summary: Summary, partition: Partition) -> CentreTable:
        """Return the means of all micro-clusters as kernels read them."""
        from hardbayes.dp_means.centres import TABLES, ClusterList

        if self._table is not None:
            return self._table
        if len(summary):
            centres = partition.centres(summary.weights, summary.sums)
        else:  # the first row that counts; it stays there, or leaves the centre empty
            weights = np.broadcast_to(rows.weights, rows.n_rows)
            first = rows.take(np.array([np.argmax(weights > 0)]))
            centres = partition.opening_centres(first.dense(), first.weights_at())
        kind = TABLES[rows.layout.costs]
        table = kind(partition, rows.layout, ClusterList.of(centres), self.pool)
        if not self._follows_mean(partition.prior_weight):
            self._table = table
        return table

    def _add(
        self, rows: MemoryRows, numbers: Numbers, summary: Summary, partition: Partition
    ) -> tuple[Numbers, Floats, Floats, Floats]:
        """Add rows to their micro-clusters; return which these are, their means, and what came.

        IN/OUT summary.
        """
        from hardbayes.dp_means.state import PartitionState

        touched, inverse = np.unique(numbers, return_inverse=True)
        place = np.asarray(inverse, np.int32)
        came = rows.totals(len(touched), place)
        before = summary.take(touched)
        summary.add(touched, came)
        weights = summary.weights[touched]
        sums = summary.sums[touched]
        if not weights.all():  # a centre without weight: its rows cost nothing wherever it is
            sums[weights == 0] = rows.take(np.zeros(1, np.intp)).dense()
        means = self._geometry.inside(sums / np.where(weights > 0, weights, 1.0)[:, np.newaxis])
        costs = PartitionState(rows, partition).costs_at(means, place)
        costs = np.asarray(np.bincount(place, rows.weights * costs, len(touched)), np.float64)
        old = np.flatnonzero(before.weights > 0)
        centres = before.take(old).means(self._geometry)
        moved = before.weights[old] * self._geometry.divergence(centres, means[old])
        summary.scatter[touched] += costs
        summary.scatter[touched[old]] += moved
        return touched, means, came.weights(np.arange(len(touched))), costs
