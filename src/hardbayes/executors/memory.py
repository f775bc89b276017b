"""A labelling of rows in memory (or mapped into it), and how it changes from sweep to sweep.

What goes out to a tile is a small named tuple of arrays; what comes back is labels and exactly
additive totals. So neither the tiles nor the number of threads can change a bit of the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.executors.carried_bounds import (
    CarriedBounds,
    has_little_room,
    no_bounds,
    worth_carrying,
)
from hardbayes.executors.centre_table import CentreTable, Known
from hardbayes.executors.exact_totals import NO_SNAPS, NO_TOTALS
from hardbayes.executors.few_rows import Plan, is_few, sweep_few
from hardbayes.executors.opening import Opening
from hardbayes.kernels.costs import costs
from hardbayes.kernels.nearest import assign
from hardbayes.matrices import inverse_permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.centre_table import Drift
    from hardbayes.executors.few_rows import Sweeps
    from hardbayes.geometry.base import Floats
    from hardbayes.kernels.nearest import Bounds
    from hardbayes.structure.partition import Partition


# Part of the rows that scores in less than the data's own precision may leave in doubt.
DOUBTFUL = 1 / 16


class MemoryExecutor(Opening):
    """One data set, its labels, and the passes over it; made as `DataRows` are."""

    def __init__(self, *data: Any) -> None:
        super().__init__(*data)
        self._totals = self._no_totals()
        self._table: CentreTable | None = None
        self.labels = np.empty(0, np.int32)
        self._bounds: CarriedBounds | None = None
        self._coarse = False  # scores leave too many rows in doubt

    # -- starting -------------------------------------------------------------------------------

    def start(self, centres: Floats, table: CentreTable | None = None) -> None:
        """Begin at these centres (k, d), with no row assigned.

        ``table``: the same centres laid out for rows of this kind, which nobody will change.
        """
        self._known = Known(centres, np.arange(len(centres)), len(centres))
        self._table = table
        self.labels = np.full(self.n_rows, -1, np.int32)
        self._collected = np.full(self.n_rows, -1, np.int32)  # labels when last committed
        self._counted = self._collected  # labels that the totals stand for
        self._totals.clear(len(centres), self.n_columns)
        self._dear = np.zeros(self.n_rows, np.uint8)
        self._bounds = None
        self._coarse = False

    @property
    def table(self) -> CentreTable:
        """The centres, laid out when a pass first asks for them.

        Until then they are known as they are, and labels and totals go by their numbers.
        """
        if self._table is None:
            self._table = CentreTable(
                self.geometry, self.dtype, self._known, self.is_sparse, self.unseen, self.pool,
                self.geometry.squared_distance and self.is_few(),
            )  # fmt: skip
            if self._totals.made:
                numbers = np.arange(len(self._known.centres))
                self._rename(numbers, len(numbers), self._table.alive, len(self._table.rank))
        return self._table

    @property
    def _alive(self) -> NDArray[np.intp]:
        """Slots of the living clusters, oldest first."""
        return np.arange(self.n_clusters) if self._table is None else self._table.alive

    def take_labels(self, labels: NDArray[np.intp]) -> None:
        """Set the labels from numbers of the living clusters, oldest first."""
        self.labels[:] = self.table.alive[labels]

    # -- a sweep --------------------------------------------------------------------------------

    def assign(self, prices: Floats, counting: bool = False, last: bool = False) -> int:
        """Give every row to its cheapest centre; return how many are dearer than their price.

        ``counting`` lets the totals follow at once, while the rows are at hand; `collect` will do
        what is left. ``last`` says that no further assignment follows, so that bounds are not worth
        their room.
        """
        centres = self.table.view()
        bounds = self._bounds_for(centres.n_blocks, last)
        found: list[tuple[int, int, int]] = []
        totals, snaps = self._totals, (NO_SNAPS, NO_SNAPS)
        if counting:
            totals.grow(len(self.table.rank))
            counting = totals.can_be_shared(self.pool)
            snaps = totals.quanta.snaps, totals.quanta.weight_snaps

        def task(worker: int, start: int, stop: int) -> None:
            found.append(
                assign(
                    self.rows, self.weights, prices, self.constants, centres, bounds,
                    self.labels, self._dear, totals.share(worker) if counting else NO_TOTALS,
                    *snaps, self._batch(worker, centres), start, stop,
                )
            )  # fmt: skip

        self._over_tiles(task, self.n_rows, len(centres.rank))
        n_dear, self._n_changed, n_doubtful = map(sum, zip(*found, strict=True))
        if counting:
            totals.add_shares()
            self._counted = self.labels
            if n_dear:  # whose clusters are not known yet
                self._counted = self.labels.copy()
                np.copyto(self._counted, self._collected, where=self._dear.view(np.bool_))
                if self._many_dear(n_dear) or has_little_room(self.n_rows):
                    self._bounds = None
        if self._bounds is not None:
            self._bounds.settle()
        self._coarse = n_doubtful > DOUBTFUL * self.n_rows and self.dtype != self.rows.values.dtype
        return n_dear

    def _bounds_for(self, blocks: int, last: bool) -> Bounds:
        """Return what is known of the rows before they meet so many blocks of centres."""
        if last or not worth_carrying(self.table):
            self._bounds = None
            return no_bounds(self.table)
        if self._bounds is not None:
            self._bounds.look_around(self.table)
        else:
            if self._radius is not None:
                self.table.follow(self.mean)
            self._bounds = CarriedBounds(self.n_rows, self.table, self._radius)
        return self._bounds.view(blocks)

    def is_few(self) -> bool:
        """Whether sweeps are worth doing in one call; with squared distances and no prior."""
        return is_few(self.n_rows, self.n_columns, self.n_clusters)

    def sweep_on(
        self,
        penalty: float,
        max_clusters: int,
        visits: NDArray[np.signedinteger],
        n_clusters: int | None,
        patience: int,
        max_steps: int,
    ) -> Sweeps:
        """Sweep with births and refits until at most ``patience`` rows change, in one call.

        ``visits`` (n,): each row's place in the visiting order; ``n_clusters``: how many there were
        after the last sweep. May stop earlier.
        """
        order = inverse_permutation(visits)
        counted = -1 if n_clusters is None else n_clusters
        plan = Plan(penalty, max_clusters, order, counted, patience, max_steps)
        alive, before, known = self._alive, self.labels, self._known
        if self._table is not None:
            before = self.cluster_numbers()
            known = Known(self._table.exact[alive], self._table.rank[alive], self._table.next_rank)
        swept = sweep_few(self, before, self._totals, alive, known, plan)
        self.labels = swept.labels
        ranks = swept.centres.rank
        self._take_out(np.flatnonzero(ranks >= 0), swept.centres.exact, ranks, swept.next_rank)
        return swept

    # -- refitting ------------------------------------------------------------------------------

    def collect(self) -> int:
        """Bring the totals up to the labels; return how many rows changed cluster."""
        self._totals.grow(len(self.table.rank))
        if self._counted is self.labels:  # they have followed already
            return self._n_changed
        n_moves = int(np.count_nonzero(self._counted != self.labels))
        if n_moves:
            self._totals.move(self.rows, self._counted, self.labels, n_moves, self.pool)
        if self._counted is self._collected:
            return n_moves
        return int(np.count_nonzero(self._collected != self.labels))

    def same_partition(self) -> bool:
        """Whether the labels part the rows that have weight as when last committed."""
        slots = len(self.table.rank)
        weighted = self.weights > 0 if len(self.weights) > 1 else slice(None)
        pairs = np.unique(
            self._collected[weighted].astype(np.int64) * slots + self.labels[weighted]
        )
        return len(pairs) == len(np.unique(pairs // slots)) == len(np.unique(pairs % slots))

    def commit(self) -> None:
        """Take the present labels for those that the next are compared with."""
        self._collected[:] = self.labels
        self._counted = self._collected

    def restore(self) -> None:
        """Go back to the labels last committed; bounds on others are worth nothing."""
        if not np.array_equal(self.labels, self._collected):
            self.labels[:] = self._collected
            self._bounds = None

    def recount(self) -> int:
        """Bring the totals up to the labels for good; return how many rows changed cluster."""
        n_changed = self.collect()
        self.commit()
        return n_changed

    def totals(self) -> tuple[Floats, Floats]:
        """Return weights (k,) and totals (k, d) of the living clusters, oldest first."""
        return self._totals.of(self._alive)

    def weights_of_clusters(self) -> Floats:
        """Return weights (k,) of the living clusters, oldest first."""
        return self._totals.weights_of(self._alive)

    def close(self, which: NDArray[np.bool_]) -> None:
        """Drop living clusters (mask over them, oldest first)."""
        self.table.close(self.table.alive[which])

    def refit(self, partition: Partition) -> tuple[float, float]:
        """Move the living clusters to the centres that are best for their members.

        Return ``sum_c (n_c + eta) phi(mu_c) - eta phi(m)``, and what float64 drops of it.
        """
        table, crowded = self.table, self.table.crowded
        if self._bounds is not None and table.used > self._bounds.known and not crowded:
            self._bounds.welcome(table, self.labels)
        drift, value = self._follow_members(partition)
        if crowded:
            self._lay_out_anew(partition)
        if self._bounds is not None:
            self._bounds.add_drift(table.alive, drift)
        if self._coarse:
            self._take_out(table.alive, table.exact, table.rank, table.next_rank)
            self._batches.clear()
            self.dtype, self._coarse = self.rows.values.dtype, False
        return value

    def _follow_members(self, partition: Partition) -> tuple[Drift, tuple[float, float]]:
        """Do what `refit` is about; return how far each centre has moved, too."""
        table, eta, prior_mean = self.table, partition.prior_weight, partition.prior_mean
        if self.geometry.squared_distance and not table.deferred:
            return table.write_means(self._totals.parts, eta, prior_mean)
        weights, totals = self.totals()
        centres = partition.centres(weights, totals)
        drift = table.write(table.alive, centres)
        if self.geometry.squared_distance:
            return drift, self._totals.potential(table.alive, eta, prior_mean)
        return drift, (partition.potential(weights, centres), 0.0)

    def _lay_out_anew(self, partition: Partition) -> None:
        """Lay the living out without holes between them."""
        table, alive, n_slots = self.table, self.table.alive, len(self.table.rank)
        slots = table.lay_out(partition.centres(*self.totals()), table.rank[alive])
        self._rename(alive, n_slots, slots, len(table.rank))
        if self._bounds is not None:
            upper = self._bounds.upper
            self._bounds = None  # the old bounds go before the new ones come
            self._bounds = CarriedBounds(self.n_rows, table, self._radius)
            self._bounds.upper[:] = upper

    def _take_out(
        self, slots: NDArray[np.intp], centres: Floats, ranks: NDArray[np.int64], next_rank: int
    ) -> None:
        """Know the clusters in these slots, oldest first, as they are, until somebody asks."""
        self._table = self._bounds = None
        self._known = Known(centres[slots], ranks[slots], next_rank)
        self._rename(slots, len(ranks), np.arange(len(slots)), len(slots))

    def _rename(
        self, slots: NDArray[np.intp], n_slots: int, new: NDArray[np.intp], n_new: int
    ) -> None:
        """Let labels and totals go by ``new`` slots of so many, in place of these."""
        names = np.full(n_slots + 1, -1, np.int32)  # the last for rows nowhere
        names[slots] = new
        self._totals.rearrange(slots, new, n_new)
        self.labels = names[self.labels]
        self.commit()

    # -- looking at rows and clusters --------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """Number of living clusters."""
        return len(self._known.centres if self._table is None else self._table.alive)

    @property
    def n_slots(self) -> int:
        """Number of slots in use, dead ones included: where the next birth goes."""
        return self.table.used

    def cluster_numbers(self) -> NDArray[np.int32]:
        """Return labels (n,) as numbers of the living clusters, oldest first.

        -1 for rows whose cluster is gone: one that held rows of no weight alone.
        """
        if self._table is None:
            return self.labels.copy()
        numbers = np.full(len(self.table.rank) + 1, -1, np.int32)  # the last for rows nowhere
        numbers[self.table.alive] = np.arange(self.n_clusters)
        return numbers[self.labels]

    # -- numbers --------------------------------------------------------------------------------

    def costs(self) -> Floats:
        """Return each row's cost (n,) at its own centre."""
        known = self._known.centres if self._table is None else self._table.exact
        # Costs of sparse rows begin with the table's own squares.
        if (self._table is None or self._table.deferred) and not self.is_sparse:
            centres = self.bare(known)
        else:
            centres = self.table.view()
        out = np.empty(self.n_rows)

        def task(worker: int, start: int, stop: int) -> None:
            costs(self.rows, self.constants, centres, self.labels, out, start, stop)

        self._over_tiles(task, self.n_rows, 1)
        return out

    def forget_bounds(self) -> None:
        """Give the bounds' memory back; the next assignment starts without them."""
        self._bounds = None

    def costs_of(self, part: slice) -> Floats:
        """Return the costs (m, k) of some rows at every living centre, oldest first."""
        return self._all_costs(self.table.view(), self.table.alive, part)

    def all_costs(self) -> Floats:
        """Return every row's cost at every living centre (n, k), oldest first."""
        return self.costs_of(slice(0, self.n_rows))
