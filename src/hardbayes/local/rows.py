"""Rows in memory, by their positions: what single-row algorithms read of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardbayes.kernels.partition.births import find_openings
from hardbayes.kernels.partition.costs import all_costs
from hardbayes.kernels.partition.local import mark_border
from hardbayes.kernels.partition.rows import SparseRows
from hardbayes.local.cluster_totals import totals_of
from hardbayes.local.groups import GroupedRows, MovingClusters, Relocated
from hardbayes.local.incremental import IncrementalPartition
from hardbayes.local.incremental_totals import IncrementalTotals
from hardbayes.local.local_clusters import regroup_rows, relocate_rows
from hardbayes.local.reading import KernelRows, entries_per_row, working_rows
from hardbayes.local.tiling import Tiling
from hardbayes.matrices import Floats, Matrix, is_sparse
from hardbayes.pool import Pool
from hardbayes.tuples import Centres, DirectForm, TotalsForm, centres_without_scores

Positions = NDArray[np.intp] | slice

ALL = slice(None)


class LocalRows:
    """Rows that are in memory; position p is row ``ids[p]`` of the matrix.

    Parameters
    ----------
    rows : DenseRows or SparseRows
        Of the whole matrix.
    shape : (N, d)
        Of the whole matrix.
    weights : array (N,), or (1,) for all rows
    constants : array (N,) of ``phi(x)``, or (1,) where costs are squared distances
    dtype : dtype
        Of scores. Kernels are compiled for it, though none of these passes scores.
    pool : Pool
    ids : array (n,) or None
        Which rows; None for all.
    """

    def __init__(
        self,
        rows: KernelRows,
        shape: tuple[int, int],
        weights: Floats,
        constants: Floats,
        dtype: np.dtype,
        pool: Pool,
        ids: NDArray[np.intp] | None = None,
    ) -> None:
        self.rows = rows
        self.shape = shape
        self.weights = weights
        self.constants = constants
        self.dtype = dtype
        self.pool = pool
        self._ids = ids
        self.n_rows = shape[0] if ids is None else len(ids)
        self.n_columns = shape[1]

    def take(self, ids: NDArray[np.intp]) -> LocalRows:
        """Return some of these rows, by their positions; nothing is copied."""
        return LocalRows(
            self.rows, self.shape, self.weights, self.constants, self.dtype, self.pool,
            self.at(ids),
        )  # fmt: skip

    @cached_property
    def ids(self) -> NDArray[np.intp]:
        """Row of the matrix at each position (n,)."""
        return np.arange(self.shape[0]) if self._ids is None else self._ids

    def at(self, positions: Positions) -> NDArray[np.intp]:
        """Return the rows of the matrix at these positions."""
        if self._ids is None and not isinstance(positions, slice):
            return positions
        return self.ids[positions]

    @property
    def is_sparse(self) -> bool:
        """Whether rows are stored by their entries."""
        return isinstance(self.rows, SparseRows)

    @cached_property
    def entries_per_row(self) -> int:
        """How many numbers a row holds, in the mean."""
        return entries_per_row(self.rows, self.shape)

    def matrix(self, positions: Positions = ALL) -> Matrix:
        """Return rows in working coordinates (m, d) float64, as CSR where they are sparse."""
        whole = self._ids is None and isinstance(positions, slice)
        which = positions if whole else self.at(positions)
        return working_rows(self.rows, self.shape, which)

    def dense(self, positions: Positions = ALL) -> Floats:
        """Return rows in working coordinates (m, d) float64."""
        rows = self.matrix(positions)
        return rows.toarray() if is_sparse(rows) else rows

    def weights_at(self, positions: Positions = ALL) -> Floats:
        """Return the weights (m,) of rows."""
        return np.broadcast_to(self.weights, self.shape[0])[self.at(positions)]

    def constants_at(self, positions: Positions = ALL) -> Floats:
        """Return ``phi(x)`` (m,) of rows."""
        return np.broadcast_to(self.constants, self.shape[0])[self.at(positions)]

    def centres(self, form: DirectForm) -> Centres:
        """Return centres (k, d) in slots 0 to k - 1."""
        return centres_without_scores(form, self.dtype)

    def costs(self, form: DirectForm) -> Floats:
        """Return the cost (n, k) of every row at each of these centres, by the direct formula."""
        centres = self.centres(form)
        out = np.empty((self.n_rows, len(form.exact)))

        def task(worker: int, start: int, stop: int) -> None:
            all_costs(self.rows, self.constants, centres, self.ids, out, start, stop)

        Tiling(self.entries_per_row, self.pool).run(task, self.n_rows, out.shape[1])
        return out

    def openings(self, opening: Floats, form: DirectForm) -> NDArray[np.int64]:
        """Return the positions of the rows that open a cluster, one row after the other.

        Every row costs more than its ``opening`` (n,) or (1,) cost everywhere so far. It opens a
        cluster at its own centre, in ``form`` (n, d), unless one opened before costs it no more.
        """
        candidates = self.centres(form)
        found = np.empty(self.n_rows, np.int64)
        n_found = 0
        size = Tiling(self.entries_per_row, self.pool).most_rows(self.n_rows)
        for start in range(0, self.n_rows, size):  # in short calls, so that Ctrl-C is prompt
            n_found = find_openings(
                self.rows, self.weights, opening, self.constants, candidates, self.ids, found,
                n_found, start, min(start + size, self.n_rows),
            )  # fmt: skip
        return found[:n_found]

    def near_border(
        self,
        form: DirectForm,
        places: NDArray[np.intp],
        sizes: Floats,
        prior_weight: float,
        largest_weight: float,
        slack: float,
    ) -> NDArray[np.bool_]:
        """Return for which rows (n,) moving alone might pay; and which are alone in their cluster.

        ``places`` (n,): the cluster of each row; ``sizes`` (k,): weights with the prior's.
        """
        centres, factors = self.centres(form), sizes / (sizes + largest_weight)
        marks = np.empty(self.n_rows, bool)

        def task(worker: int, start: int, stop: int) -> None:
            mark_border(
                self.rows, self.weights, self.constants, centres, sizes, factors, self.ids, places,
                prior_weight, slack, marks, start, stop,
            )  # fmt: skip

        Tiling(self.entries_per_row, self.pool).run(task, self.n_rows, len(sizes))
        return marks

    # -- algorithms that work on rows in memory ----------------------------------------------------

    def grouped(
        self, positions: NDArray[np.intp], groups: NDArray[np.intp], first: NDArray[np.intp]
    ) -> GroupedRows:
        """Return rows in groups (m,), each with slots of its own, to try divisions on."""
        return GroupedRows(self, self.at(positions), groups, first)

    def relocate_with_local_penalties(
        self,
        clusters: MovingClusters,
        groups: NDArray[np.intp],
        pairs: NDArray[np.int32],
        places: NDArray[np.int64],
        penalties: tuple[float, float],
        room: int,
        max_passes: int,
    ) -> Relocated:
        """Move rows one by one, where groups (n,) pay for the clusters they use.

        ``penalties``: for a group's use of a cluster, and for a cluster (`local.local_clusters`).
        """
        return relocate_rows(self, clusters, groups, pairs, places, *penalties, room, max_passes)

    def regroup(
        self,
        form: DirectForm,
        by_group: NDArray[np.intp],
        starts: NDArray[np.intp],
        labels: NDArray[np.int32],
        local_penalty: float,
    ) -> NDArray[np.int32]:
        """Return labels (n,) after each group has opened and closed local clusters."""
        return regroup_rows(self, form, by_group, starts, labels, local_penalty)

    def moving(
        self,
        form: DirectForm | TotalsForm,
        weights: Floats,
        members: NDArray[np.int64],
        prior_weight: float,
    ) -> MovingClusters:
        """Return clusters (slots,) at these centres that follow every row that moves."""
        sizes = weights + prior_weight
        if isinstance(form, DirectForm):
            return MovingClusters(sizes, members, prior_weight, self.centres(form))
        return MovingClusters(sizes, members, prior_weight, totals_of(form, sizes))

    def incremental(
        self,
        form: DirectForm | TotalsForm,
        labels: NDArray[np.int32],
        weights: Floats,
        n_slots: int,
        rng: np.random.RandomState,
    ) -> IncrementalPartition | IncrementalTotals:
        """Return a partition of all rows that gains or loses one cluster at a time."""
        if isinstance(form, DirectForm):
            return IncrementalPartition(self, labels, weights, form.exact, n_slots, rng)
        return IncrementalTotals(self, form, labels, weights, n_slots, rng)
