"""Rows in memory by their positions: what single-row algorithms read, and borders of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import (
    Centres,
    DirectForm,
    Floats,
    Matrix,
    TotalsForm,
    centres_without_scores,
    is_sparse,
)
from hardbayes.core.pool import Pool, Tiling
from hardbayes.core.rows import KernelRows, SparseRows, entries_per_row, working_rows
from hardbayes.dp_means.compiled.births import find_openings
from hardbayes.dp_means.compiled.single_row import move_rows
from hardbayes.dp_means.compiled.sums import all_costs, two_cheapest
from hardbayes.dp_means.compiled.sweeping import mark_border
from hardbayes.dp_means.incremental import IncrementalPartition
from hardbayes.dp_means.incremental_totals import IncrementalTotals
from hardbayes.dp_means.trials import GroupedRows, MoveTotals, MovingClusters, totals_of

Positions = NDArray[np.intp] | slice

ALL = slice(None)
ENTRIES_A_CALL = 1 << 22  # of rows compared with centres, so that Ctrl-C is prompt


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
    n_all : int or None
        How many rows the data has, where the matrix is a copy of some of them.
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
        n_all: int | None = None,
    ) -> None:
        self.rows = rows
        self.shape = shape
        self.weights = weights
        self.constants = constants
        self.dtype = dtype
        self.pool = pool
        self._ids = ids
        self.n_all = shape[0] if n_all is None else n_all
        self.n_rows = shape[0] if ids is None else len(ids)
        self.n_columns = shape[1]

    def take(self, ids: NDArray[np.intp]) -> LocalRows:
        """Return some of these rows, by their positions; nothing is copied."""
        return LocalRows(
            self.rows, self.shape, self.weights, self.constants, self.dtype, self.pool,
            self.at(ids), self.n_all,
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

    def costs_of(self, form: DirectForm, labels: NDArray[np.signedinteger]) -> Floats:
        """Return the cost (n,) of every row at the one of these centres that its label names."""
        everywhere = np.arange(self.n_rows)
        return self.group(
            everywhere, labels.astype(np.intp), np.arange(len(form.exact) + 1)
        ).choose(form)

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

    def group(
        self, positions: NDArray[np.intp], groups: NDArray[np.intp], first: NDArray[np.intp]
    ) -> GroupedRows:
        """Return rows in groups (m,), each with slots of its own, to try divisions on."""
        return GroupedRows(self, self.at(positions), groups, first)

    def move_rows_with_local_penalties(
        self,
        clusters: MovingClusters,
        groups: NDArray[np.intp],
        pairs: NDArray[np.int32],
        places: NDArray[np.int64],
        penalties: tuple[float, float],
        room: int,
        max_passes: int,
    ) -> MoveTotals:
        """Move rows (n,) one by one while the objective falls, where groups (n,) pay for clusters.

        Costs are squared distances. ``penalties``: for a group's use of a cluster, and for a
        cluster. IN/OUT places (n,); pairs (groups, slots): rows of positive weight in each.
        """
        tally, gain = np.array([room, 0]), np.zeros(1)
        size = max(64, ENTRIES_A_CALL // (len(clusters.sizes) * self.entries_per_row))
        for _ in range(max_passes):
            before = tally[1]
            for start in range(0, self.n_rows, size):
                move_rows(
                    self.rows, self.weights, self.constants, clusters.table, clusters.sizes,
                    clusters.members, self.ids, groups, pairs, places, *penalties,
                    clusters.prior_weight, tally, gain, start, min(start + size, self.n_rows),
                )  # fmt: skip
            if tally[1] == before:
                break
        return MoveTotals(int(tally[1]), float(gain[0]))

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


# Half the width of the middle strip, where 1 is the distance from a border to a centre. The strips
# beside it, equally wide, end a little beyond the centres.
REACH = 3 / 8


class Borders(NamedTuple):
    """Pairs of clusters that are the two cheapest of some rows, and the rows between them."""

    pairs: NDArray[np.int64]  # (m, 2), the lower number first
    weights: Floats  # (m, 3): of rows left of the middle strip, in it, and right of it
    squares: Floats  # (m, 3): sums of squared weights of the same rows


def count_borders(blocks: Iterable[tuple[Floats, Floats]], k: int) -> Borders:
    """Count rows by the position between their two cheapest of k >= 2 centres.

    ``blocks``: costs (m, k) of some rows, up to a constant of each row, and the weights (m,). The
    position is the difference of the two costs: 0 on the border, 1 or -1 in the mean of all rows
    of either cluster.
    """
    excess = np.zeros((k, k))
    found = [(*_two_cheapest(costs, some, excess), some) for costs, some in blocks]
    cheapest, second, margins, weights = (
        np.concatenate(parts) for parts in zip(*found, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        means = excess / np.bincount(cheapest, weights, k)[:, np.newaxis]
        position = margins / ((means + means.T) / 2.0)[cheapest, second]
    lower, upper = np.minimum(cheapest, second), np.maximum(cheapest, second)
    strip = np.where(position < REACH, 1, np.where(cheapest == lower, 0, 2))
    near = position < 3 * REACH  # false where a cluster has no rows and no position
    codes, weights = (3 * (k * lower + upper) + strip)[near], weights[near]
    sums, squares = (
        np.bincount(codes, values, 3 * k * k).reshape(-1, 3).astype(np.float64)
        for values in (weights, weights**2)
    )
    pairs = np.flatnonzero(sums.any(axis=1))
    return Borders(np.column_stack(np.divmod(pairs, k)), sums[pairs], squares[pairs])


def _two_cheapest(
    costs: Floats, weights: Floats, excess: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    m = len(costs)
    cheapest, second, margins = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    two_cheapest(costs, weights, cheapest, second, margins, excess)
    return cheapest, second, margins
