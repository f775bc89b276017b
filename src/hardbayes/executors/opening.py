"""Births within a sweep: which rows are dear, what they open, and who chooses it.

Rows that a sweep has found dear are marked DEAR until they have a cluster, then PLACED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.carried_bounds import no_bounds
from hardbayes.executors.rearranging import Rearranging
from hardbayes.kernels.partition.births import consider, find_openings
from hardbayes.kernels.partition.nearest import DEAR, PLACED
from hardbayes.matrices import inverse_permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.centre_table import CentreTable
    from hardbayes.matrices import Floats


class Opening(Rearranging):
    """What births may do to the labels of an executor."""

    def start(self, centres: Floats, table: CentreTable | None = None) -> None:
        """Begin at these centres (k, d), with no row assigned."""
        super().start(centres, table)
        self._dear = np.zeros(self.n_rows, np.uint8)

    def in_turn(self, visits: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
        """Return rows in the order of their visits: all of them, or if few are dear only those."""
        if self._many_dear(int(np.count_nonzero(self._dear))):
            return inverse_permutation(visits)
        ids = np.flatnonzero(self._dear).astype(visits.dtype)
        return ids[np.argsort(visits[ids])]

    def _many_dear(self, n_dear: int) -> bool:
        return 8 * n_dear >= self.n_rows

    def dear_rows(self, turns: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
        """Which of the rows ``turns`` are dearer than their price, in the same order."""
        return turns[self._dear[turns] == DEAR]

    def mark_placed(self, ids: NDArray[np.signedinteger]) -> None:
        """Spare these rows the coming calls of `consider`."""
        self._dear[ids] = PLACED

    def forget_dear(self) -> None:
        """Clear the marks of all rows."""
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

        ``ids`` names the rows; empty means all that are not placed. ``births``: the visits at
        which the last so many slots opened.
        """
        centres = self.table.view()
        known = self._bounds
        bounds = no_bounds(self.table) if known is None else known.view(centres.n_blocks)
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

    def openings(
        self, prices: Floats, ids: NDArray[np.signedinteger], centres: Floats
    ) -> NDArray[np.int64]:
        """Positions of those of the dear rows ``ids`` (m,) that open a cluster.

        ``centres`` (m, d): where each of them would; the others can be held by one of these.
        """
        candidates = self.bare(centres)
        opening = np.empty(len(ids), np.int64)
        n_opening = 0
        size = self._most_rows(len(ids))
        for start in range(0, len(ids), size):  # in short calls, so that Ctrl-C is prompt
            n_opening = find_openings(
                self.rows, self.weights, prices, self.constants, candidates, ids, opening,
                n_opening, start, min(start + size, len(ids)),
            )  # fmt: skip
        return opening[:n_opening]

    def open(self, ids: NDArray[np.signedinteger], centres: Floats) -> None:
        """Open a cluster for each of these rows (m,), at these centres (m, d)."""
        if not len(ids):
            return
        self.labels[ids] = self.table.open(centres)
        self._dear[ids] = PLACED
        if self._bounds is not None:
            self._bounds.upper[ids] = np.inf
