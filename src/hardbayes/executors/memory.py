"""Rows in memory (or mapped into it): numba kernels over tiles of rows, on our own threads.

What goes out to a tile is a small named tuple of arrays; what comes back is labels and exactly
additive totals. So neither the tiles nor the number of threads can change a bit of the result.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.carried_bounds import CarriedBounds, no_bounds, worth_carrying
from hardbayes.executors.centre_table import CentreTable, bare_centres, bare_point
from hardbayes.executors.exact_totals import ExactTotals
from hardbayes.executors.reading import entries_per_row, working_rows
from hardbayes.executors.rearranging import Rearranging
from hardbayes.kernels.costs import all_costs, costs
from hardbayes.kernels.nearest import assign
from hardbayes.kernels.newcomers import consider, next_opening
from hardbayes.kernels.rows import Batch, Centres, SparseRows, new_batch
from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.pool import Pool
    from hardbayes.geometry.base import Floats, Geometry
    from hardbayes.kernels.rows import DenseRows
    from hardbayes.matrices import Matrix

# A tile is this many multiply-adds when nothing is skipped: about a millisecond, so that Ctrl-C is
# prompt.
TILE_WORK = 1 << 24
BATCH_BYTES = 1 << 17


class MemoryExecutor(Rearranging):
    """One data set, its labels, and the passes over it.

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
        self.dtype = rows.values.dtype
        self._largest = largest
        self._totals = ExactTotals(weights, self.n_rows, largest)
        self.unseen: NDArray[np.bool_] | None = None
        self.labels = np.empty(0, np.int32)
        self._bounds: CarriedBounds | None = None
        self._batches: dict[int, Batch] = {}

    # -- starting -------------------------------------------------------------------------------

    def total(self) -> tuple[float, Floats]:
        """Return the weight and the total (d,) of all rows."""
        weights, totals = self.totals_of(np.zeros(self.n_rows, np.int32), 1)
        return float(weights[0]), totals[0]

    def totals_of(self, labels: NDArray[np.int32], n_clusters: int) -> tuple[Floats, Floats]:
        """Return weights (k,) and totals (k, d) of any labelling."""
        totals = ExactTotals(self.weights, self.n_rows, self._largest)
        totals.clear(n_clusters, self.n_columns)
        nowhere = np.full(self.n_rows, -1, np.int32)
        totals.move(self.rows, nowhere, labels, self.n_rows, self.pool)
        return totals.of(np.arange(n_clusters))

    def see_columns(self, seen: NDArray[np.bool_]) -> None:
        """Tell which columns hold any mass; the others cost alike at every centre."""
        self.unseen = None if seen.all() else ~seen

    def start(self, centres: Floats) -> None:
        """Begin at these centres (k, d), with no row assigned."""
        self.table = self._table_of(centres)
        self.labels = np.full(self.n_rows, -1, np.int32)
        self._collected = np.full(self.n_rows, -1, np.int32)
        self._totals.clear(len(self.table.rank), self.n_columns)
        self._dear = np.zeros(self.n_rows, np.uint8)
        self._bounds = None

    def _table_of(self, centres: Floats) -> CentreTable:
        return CentreTable(self.geometry, self.dtype, centres, self.is_sparse, self.unseen)

    @cached_property
    def mean(self) -> Floats:
        """Overall mean (d,)."""
        weight, total = self.total()
        return total / weight

    @cached_property
    def _radius(self) -> NDArray[np.float32] | None:
        """How far each row (n,) is from the mean, rounded up, where bounds are on costs."""
        if self.geometry.squared_distance:
            return None
        mean = bare_point(self.dtype, self.mean)
        squares = self._all_costs(mean, np.zeros(1, np.intp), slice(0, self.n_rows))[:, 0]
        return (np.sqrt(squares) * (1 + 1e-6)).astype(np.float32)

    def take_labels(self, labels: NDArray[np.intp]) -> None:
        """Set the labels from numbers of the living clusters, oldest first."""
        self.labels[:] = self.table.alive[labels]

    # -- a sweep --------------------------------------------------------------------------------

    def assign(self, prices: Floats, last: bool = False) -> int:
        """Give every row to its cheapest centre; return how many are dearer than their price.

        ``last`` says that no further assignment follows, so that bounds are not worth their room.
        """
        centres = self.table.view()
        blocks = centres.n_blocks
        if last or not worth_carrying(self.table):
            self._bounds = None
            bounds = no_bounds(blocks)
        else:
            if self._bounds is None:
                if self._radius is not None:
                    self.table.follow(self.mean)
                self._bounds = CarriedBounds(self.n_rows, self.table, self._radius)
            bounds = self._bounds.view(blocks)
        found: list[int] = []

        def task(worker: int, start: int, stop: int) -> None:
            found.append(
                assign(
                    self.rows, self.weights, prices, self.constants, centres, bounds,
                    self.labels, self._dear, self._batch(worker, centres), start, stop,
                )
            )  # fmt: skip

        self._over_tiles(task, self.n_rows, len(centres.rank))
        if self._bounds is not None:
            self._bounds.settle()
        return sum(found)

    def visiting_order(self, visits: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
        """Return rows in the order of their visits: all of them, or if few are dear only those."""
        n_dear = int(np.count_nonzero(self._dear))
        if 8 * n_dear < self.n_rows:
            ids = np.flatnonzero(self._dear).astype(visits.dtype)
            return ids[np.argsort(visits[ids])]
        order = np.empty_like(visits)
        order[visits] = np.arange(self.n_rows, dtype=visits.dtype)
        return order

    def dear_rows(self, turns: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
        """Which of the rows ``turns`` are dearer than their price, in the same order."""
        return turns[self._dear[turns] == 1]

    def settle(self, ids: NDArray[np.signedinteger]) -> None:
        """Spare these rows the coming calls of `consider`."""
        self._dear[ids] = 2

    def forget_dear(self) -> None:
        """Clear the marks of dear and settled rows."""
        self._dear[:] = 0

    def consider(
        self,
        prices: Floats,
        ids: NDArray[np.signedinteger],
        visits: NDArray[np.signedinteger],
        births: list[int],
        first_slot: int,
    ) -> None:
        """Let rows choose among slots from ``first_slot`` on that opened before their visit.

        ``ids`` names the rows; empty means all that are not settled. ``births``: the visits at
        which the last so many slots opened.
        """
        centres = self.table.view()
        known = self._bounds
        bounds = no_bounds(centres.n_blocks) if known is None else known.view(centres.n_blocks)
        radii = bounds.upper if known is None else known.radii(self.table)
        first, last = first_slot // self.table.lanes, centres.n_blocks
        slots = (last - first) * self.table.lanes
        opened = np.full(len(self.table.rank), np.iinfo(np.int64).max)
        opened[self.table.used - len(births) : self.table.used] = births
        visible_from = np.where(self.table.rank >= 0, opened, -1)
        block_opened = visible_from.reshape(-1, self.table.lanes).max(axis=1)

        def task(worker: int, start: int, stop: int) -> None:
            consider(
                self.rows, self.weights, prices, self.constants, centres, bounds, radii,
                self.labels, self._dear, ids, visits, opened, block_opened, first, last,
                self._batch(worker, centres), start, stop,
            )  # fmt: skip

        self._over_tiles(task, len(ids) if len(ids) else self.n_rows, slots)

    def next_opening(
        self, prices: Floats, ids: NDArray[np.signedinteger], first_slot: int, start: int
    ) -> int:
        """Position in ``ids``, from ``start`` on, of the next dear row that must open a cluster."""
        centres = self.table.view()
        first, last = first_slot // self.table.lanes, centres.n_blocks
        if first_slot == self.table.used:
            last = first
        size = self._tile_rows(max(1, last - first) * self.table.lanes)
        batch = self._batch(0, centres)
        while start < len(ids):  # in short calls, so that Ctrl-C is prompt
            stop = min(start + size, len(ids))
            position: int = next_opening(
                self.rows, self.weights, prices, self.constants, centres, self._dear, ids,
                first, last, batch, start, stop,
            )  # fmt: skip
            if position < stop:
                return position
            start = stop
        return len(ids)

    def open(self, row: int, centre: Floats) -> int:
        """Open a cluster for this row; return its slot."""
        slot = self.table.open(centre)
        self.labels[row] = slot
        self._dear[row] = 2
        if self._bounds is not None:
            self._bounds.upper[row] = np.inf
        return slot

    # -- refitting ------------------------------------------------------------------------------

    def collect(self) -> int:
        """Bring the totals up to the labels; return how many rows changed cluster."""
        self._totals.grow(len(self.table.rank))
        n_changed = int(np.count_nonzero(self._collected != self.labels))
        if n_changed:
            self._totals.move(self.rows, self._collected, self.labels, n_changed, self.pool)
        return n_changed

    def same_partition(self) -> bool:
        """Whether the labels make the same set partition as when last committed."""
        slots = len(self.table.rank)
        pairs = np.unique(self._collected.astype(np.int64) * slots + self.labels)
        return len(pairs) == len(np.unique(pairs // slots)) == len(np.unique(pairs % slots))

    def commit(self) -> None:
        """Take the present labels as those that the totals stand for."""
        self._collected[:] = self.labels

    def recount(self) -> int:
        """Bring the totals up to the labels for good; return how many rows changed cluster."""
        n_changed = self.collect()
        self.commit()
        return n_changed

    def totals(self) -> tuple[Floats, Floats]:
        """Return weights (k,) and totals (k, d) of the living clusters, oldest first."""
        return self._totals.of(self.table.alive)

    def close(self, which: NDArray[np.bool_]) -> None:
        """Drop living clusters (mask over them, oldest first)."""
        self.table.close(self.table.alive[which])

    def recentre(self, centres: Floats) -> None:
        """Move the living clusters to these centres (k, d), oldest first."""
        alive = self.table.alive
        crowded = self.table.crowded
        if self._bounds is not None and self.table.used > self._bounds.known and not crowded:
            self._bounds.welcome(self.table, self.labels)
        drift = self.table.write(alive, centres)
        if crowded:
            alive = self._lay_out_anew(alive, centres)
        if self._bounds is not None:
            self._bounds.add_drift(alive, drift)

    def _lay_out_anew(self, alive: NDArray[np.intp], centres: Floats) -> NDArray[np.intp]:
        """Lay the living clusters out at these centres; return their new slots."""
        new_slot = np.full(len(self.table.rank), -1, np.int32)
        slots = self.table.lay_out(centres, self.table.rank[alive])
        new_slot[alive] = slots
        self._totals.rearrange(alive, slots, len(self.table.rank))
        self.labels = new_slot[self.labels]
        self.commit()
        if self._bounds is not None:
            upper = self._bounds.upper
            self._bounds = None  # the old bounds go before the new ones come
            self._bounds = CarriedBounds(self.n_rows, self.table, self._radius)
            self._bounds.upper[:] = upper
        return slots

    # -- looking at rows and clusters --------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """Number of living clusters."""
        return len(self.table.alive)

    @property
    def n_slots(self) -> int:
        """Number of slots in use, dead ones included: where the next birth goes."""
        return self.table.used

    def row(self, i: int) -> Floats:
        """Return one row (d,) in working coordinates, float64."""
        return self.dense_rows(slice(i, i + 1))[0]

    def weight(self, i: int) -> float:
        """Return the weight of one row."""
        return float(np.broadcast_to(self.weights, self.n_rows)[i])

    @property
    def has_orphans(self) -> bool:
        """Whether some row's cluster is gone: one that held rows of no weight alone."""
        return bool((self.table.rank[self.labels] < 0).any())

    def cluster_numbers(self) -> NDArray[np.int32]:
        """Return labels (n,) as numbers of the living clusters, oldest first."""
        numbers = np.full(len(self.table.rank), -1, np.int32)
        numbers[self.table.alive] = np.arange(self.n_clusters)
        return numbers[self.labels]

    # -- numbers --------------------------------------------------------------------------------

    def costs(self) -> Floats:
        """Return each row's cost (n,) at its own centre."""
        centres = self.table.view()
        out = np.empty(self.n_rows)

        def task(worker: int, start: int, stop: int) -> None:
            costs(self.rows, self.constants, centres, self.labels, out, start, stop)

        self._over_tiles(task, self.n_rows, 1)
        return out

    def costs_at(self, centre: Floats) -> Floats:
        """Return each row's cost (n,) at one point (d,)."""
        table = bare_centres(self.geometry, self.dtype, centre[np.newaxis], self.unseen)
        return self._all_costs(table, np.zeros(1, np.intp), slice(0, self.n_rows))[:, 0]

    def forget_bounds(self) -> None:
        """Give the bounds' memory back; the next assignment starts without them."""
        self._bounds = None

    def costs_of(self, part: slice) -> Floats:
        """Return the costs (m, k) of some rows at every living centre, oldest first."""
        return self._all_costs(self.table.view(), self.table.alive, part)

    def all_costs(self) -> Floats:
        """Return every row's cost at every living centre (n, k), oldest first."""
        return self.costs_of(slice(0, self.n_rows))

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

    def potential(
        self, prior_weight: float, prior_mean: Floats, centres: Floats
    ) -> tuple[float, float]:
        """Return ``sum_c (n_c + eta) phi(mu_c) - eta phi(m)``, and what float64 drops of it."""
        return self._totals.potential(
            self.table.alive, self.geometry, prior_weight, prior_mean, centres
        )

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

    def _tile_rows(self, slots: int) -> int:
        return min(max(TILE_WORK // (slots * self.entries_per_row), 64), 8192)

    def _over_tiles(self, task: Callable[[int, int, int], None], n: int, slots: int) -> None:
        """Run ``task(worker, start, stop)`` over n rows, each of which may meet so many slots."""
        size = self._tile_rows(slots)

        def tile_task(tile: int, worker: int) -> None:
            task(worker, tile * size, min((tile + 1) * size, n))

        self.pool.run(tile_task, -(-n // size))
