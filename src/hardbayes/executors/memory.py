"""A labelling of rows in memory (or mapped into it), and how it changes from sweep to sweep.

What goes out to a tile is a small named tuple of arrays; what comes back is labels and exactly
additive totals. So neither the tiles nor the number of threads can change a bit of the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.carried_bounds import (
    CarriedBounds,
    has_little_room,
    no_bounds,
    worth_carrying,
)
from hardbayes.executors.centre_table import CentreTable, Known
from hardbayes.executors.exact_totals import NO_SNAPS, NO_TOTALS
from hardbayes.executors.few_rows import Plan, sweep_few
from hardbayes.executors.opening import Opening
from hardbayes.kernels.partition.nearest import assign
from hardbayes.matrices import inverse_permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.centre_table import Drift
    from hardbayes.executors.few_rows import Sweeps
    from hardbayes.kernels.partition.bounds import Bounds
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition


# Part of the rows that scores in less than the data's own precision may leave in doubt.
DOUBTFUL = 1 / 16


class MemoryExecutor(Opening):
    """One data set, its labels, and the passes over it; made as `DataRows` are."""

    def start(self, centres: Floats, table: CentreTable | None = None) -> None:
        """Begin at these centres (k, d), with no row assigned."""
        super().start(centres, table)
        self._coarse = False  # scores leave too many rows in doubt

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
            self._in_totals = self.labels
            if n_dear:  # whose clusters are not known yet
                self._in_totals = self.labels.copy()
                np.copyto(self._in_totals, self._committed, where=self._dear.view(np.bool_))
                if self._many_dear(n_dear) or has_little_room(self.n_rows):
                    self._bounds = None
        if self._bounds is not None:
            self._bounds.forget_drift()
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
        if self._in_totals is self.labels:  # they have followed already
            return self._n_changed
        n_moves = int(np.count_nonzero(self._in_totals != self.labels))
        if n_moves:
            self._totals.move(self.rows, self._in_totals, self.labels, n_moves, self.pool)
        if self._in_totals is self._committed:
            return n_moves
        return int(np.count_nonzero(self._committed != self.labels))

    def recount(self) -> int:
        """Bring the totals up to the labels for good; return how many rows changed cluster."""
        n_changed = self.collect()
        self.commit()
        return n_changed

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
