"""Rows in memory (or mapped into it), and passes over them that ask for no labels.

Kernels run over tiles of rows, on our own threads.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.centre_table import bare_centres, bare_point
from hardbayes.executors.exact_totals import ExactTotals, Quanta
from hardbayes.executors.reading import entries_per_row, working_rows
from hardbayes.kernels.partition.costs import all_costs
from hardbayes.kernels.partition.rows import Batch, Centres, SparseRows, new_batch
from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.geometry.base import Geometry
    from hardbayes.kernels.partition.rows import DenseRows
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.pool import Pool

# A tile is at most this many multiply-adds when nothing is skipped: some milliseconds, so that
# Ctrl-C is prompt. Much less than that would be lost beside the call of a kernel.
TILE_WORK = 1 << 26
WORTH_CALLING = 1 << 24
ROW_WORK = 1 << 11  # what a row takes, however short
BATCH_BYTES = 1 << 17


def score_type(rows: DenseRows | SparseRows, geometry: Geometry) -> np.dtype:
    """Return the type in which rows are scored; where that leaves doubt, float64 decides.

    A distance is known in float32 well enough to tell most centres apart, in half the time. Other
    costs are what is left of larger numbers.
    """
    if geometry.squared_distance and not isinstance(rows, SparseRows):
        return np.dtype(np.float32)
    return rows.values.dtype


class DataRows:
    """One data set in working coordinates.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    shape : (n, d)
    geometry : Geometry
    weights : array (n,), or (1,) for all rows alike
    constants : array (n,) of ``phi(x)``, or (1,) where costs are squared distances
    largest : array (d,)
        Bounds on the absolute values of each column in working coordinates.
    pool : Pool
    """

    def __init__(
        self,
        rows: DenseRows | SparseRows,
        shape: tuple[int, int],
        geometry: Geometry,
        weights: Floats,
        constants: Floats,
        largest: Floats,
        pool: Pool,
    ) -> None:
        self.rows = rows
        self.shape = self.n_rows, self.n_columns = shape
        self.geometry = geometry
        self.weights = weights
        self.constants = constants
        self.pool = pool
        self.dtype = score_type(rows, geometry)
        self._quanta = Quanta(weights, shape[0], largest)
        self.unseen: NDArray[np.bool_] | None = None
        self._batches: dict[int, Batch] = {}

    # -- the rows ---------------------------------------------------------------------------------

    def rows_at(self, which: slice | NDArray[np.intp]) -> Matrix:
        """Return rows in working coordinates (m, d) float64, as CSR where they are sparse."""
        return working_rows(self.rows, self.shape, which)

    def dense_rows(self, which: slice | NDArray[np.intp]) -> Floats:
        """Return rows in working coordinates (m, d) float64."""
        rows = self.rows_at(which)
        return rows.toarray() if is_sparse(rows) else rows

    @property
    def is_sparse(self) -> bool:
        """Whether rows are known by their entries."""
        return isinstance(self.rows, SparseRows)

    @property
    def entries_per_row(self) -> int:
        """How many numbers a row holds, in the mean."""
        return entries_per_row(self.rows, self.shape)

    def row(self, i: int) -> Floats:
        """Return one row (d,) in working coordinates, float64."""
        return self.dense_rows(slice(i, i + 1))[0]

    def weights_of(self, ids: NDArray[np.signedinteger] | slice) -> Floats:
        """Return the weights of these rows."""
        return np.broadcast_to(self.weights, self.n_rows)[ids]

    # -- sums and costs ---------------------------------------------------------------------------

    def totals_of(self, labels: NDArray[np.int32], n_clusters: int) -> tuple[Floats, Floats]:
        """Return weights (k,) and totals (k, d) of any labelling."""
        totals = self._no_totals()
        totals.clear(n_clusters, self.n_columns)
        nowhere = np.full(self.n_rows, -1, np.int32)
        totals.move(self.rows, nowhere, labels, self.n_rows, self.pool)
        return totals.of(np.arange(n_clusters))

    def see_columns(self, seen: NDArray[np.bool_]) -> None:
        """Tell which columns hold any mass; the others cost alike at every centre."""
        self.unseen = None if seen.all() else ~seen

    def _no_totals(self) -> ExactTotals:
        return ExactTotals(self.weights, self._quanta)

    @cached_property
    def mean(self) -> Floats:
        """Overall mean (d,)."""
        weights, totals = self.totals_of(np.zeros(self.n_rows, np.int32), 1)
        return totals[0] / weights[0]

    @cached_property
    def _radius(self) -> NDArray[np.float32] | None:
        """How far each row (n,) is from the mean, rounded up, where bounds are on costs."""
        if self.geometry.squared_distance:
            return None
        mean = bare_point(self.dtype, self.mean)
        squares = self._all_costs(mean, np.zeros(1, np.intp), slice(0, self.n_rows))[:, 0]
        return (np.sqrt(squares) * (1 + 1e-6)).astype(np.float32)

    def bare(self, centres: Floats) -> Centres:
        """Return centres (k, d), slot by slot in the order given, for kernels without scores."""
        return bare_centres(self.geometry, self.dtype, centres, self.unseen)

    def costs_at(self, centre: Floats) -> Floats:
        """Return each row's cost (n,) at one point (d,)."""
        table = self.bare(centre[np.newaxis])
        return self._all_costs(table, np.zeros(1, np.intp), slice(0, self.n_rows))[:, 0]

    def _all_costs(self, centres: Centres, slots: NDArray[np.intp], part: slice) -> Floats:
        n = part.stop - part.start
        out = np.empty((n, len(slots)))

        def task(worker: int, start: int, stop: int) -> None:
            all_costs(
                self.rows, self.constants, centres, slots, out, part.start,
                part.start + start, part.start + stop,
            )  # fmt: skip

        self._over_tiles(task, n, len(slots))
        return out

    # -- tiles ------------------------------------------------------------------------------------

    def _batch_size(self) -> int:
        """Rows scored together: as many as stay in cache, one where rows are sparse."""
        if self.is_sparse:
            return 1
        return min(max(BATCH_BYTES // (self.dtype.itemsize * self.n_columns), 16), 256)

    def _batch(self, worker: int, centres: Centres) -> Batch:
        """Return a thread's room for scoring, made anew when there are more blocks."""
        batch = self._batches.get(worker)
        if batch is None or batch.smallest.shape[1] < centres.n_blocks:
            batch = self._batches[worker] = new_batch(self._batch_size(), centres)
        return batch

    def _most_rows(self, slots: int) -> int:
        """Rows of a tile at most, where each may meet so many slots."""
        return max(64, TILE_WORK // self._row_work(slots))

    def _row_work(self, slots: int) -> int:
        return slots * self.entries_per_row + ROW_WORK

    def _borders(self, n: int, slots: int) -> list[int]:
        """Return where the tiles of n rows begin and end.

        Each thread has its part of the rows, in tiles that become smaller: few calls at first, and
        in the end nobody waits long for the last.
        """
        most = self._most_rows(slots)
        least = max(64, WORTH_CALLING // self._row_work(slots))
        parts = max(1, min(self.pool.n_threads, n // least))
        borders = [0]
        for part in range(parts):
            stop = n * (part + 1) // parts
            while borders[-1] < stop:
                left = stop - borders[-1]
                size = left if parts == 1 or left <= least else max(least, left // 2)
                borders.append(borders[-1] + min(size, most))
        return borders

    def _over_tiles(self, task: Callable[[int, int, int], None], n: int, slots: int) -> None:
        """Run ``task(worker, start, stop)`` over n rows, each of which may meet so many slots."""
        borders = self._borders(n, slots)
        self.pool.run(
            lambda tile, worker: task(worker, borders[tile], borders[tile + 1]), len(borders) - 1
        )
