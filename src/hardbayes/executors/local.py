"""Some of the rows, and the few clusters that each of them may choose among.

Moves try things out here: nothing of the fit changes until a move is judged and taken over.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.kernels.partition.local import add_up, choose, project, relocate, spread
from hardbayes.kernels.partition.totals import no_totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.rearranging import Rearranging
    from hardbayes.kernels.partition.rows import Centres
    from hardbayes.matrices import Floats

# Entries of rows compared with centres in one call: enough to be worth it, and at most so many
# between two looks at whether somebody pressed Ctrl-C.
ENTRIES_A_CALL = 1 << 20
MOST_ENTRIES_A_CALL = 1 << 22
OUT_OF_REACH = 1e300

Tiles = list[tuple[int, int]]


class MovingClusters(NamedTuple):
    """Clusters that follow every row that moves; slots without members are not yet open."""

    sizes: Floats  # (slots,): weights with the prior's
    members: NDArray[np.int64]  # (slots,): rows of any weight
    prior_weight: float
    table: Centres

    @property
    def centres(self) -> Floats:
        """Where they are now (slots, d)."""
        return self.table.exact


class LocalRows:
    """Rows ``ids`` (m,) in groups (m,); group g owns slots ``first[g]`` to ``first[g + 1]``.

    Rows may come several times over, in different groups. Where they are sorted by group (for
    `choose` and `along` they need not be), groups run side by side.
    """

    def __init__(
        self,
        executor: Rearranging,
        ids: NDArray[np.intp],
        groups: NDArray[np.intp],
        first: NDArray[np.intp],
    ) -> None:
        self._executor = executor
        self.ids = ids
        self.groups = groups
        self.first = first
        widest = int(first[-1]) // (len(first) - 1)  # groups are alike
        self._entries = max(1, widest) * executor.entries_per_row  # that a row is compared with
        self.n_slots = int(first[-1])
        self.places = np.zeros(len(ids), np.int64)
        nothing = np.zeros(executor.n_columns)
        self._snaps = (nothing, nothing)

    def choose(self, centres: Floats, closed: NDArray[np.bool_] | None = None) -> Floats:
        """Give every row to the cheapest centre (slots, d) of its group; return its cost.

        Nobody goes to slots that are ``closed`` (slots,).
        """
        executor = self._executor
        table = executor.bare(centres)
        if closed is not None:
            table.exact_offset[closed] = OUT_OF_REACH
        out = np.empty(len(self.ids))
        self._run(
            lambda _, start, stop: choose(
                executor.rows, executor.constants, table, self.ids, self.groups, self.first,
                self.places, out, start, stop,
            ),
            self._tiles,
        )  # fmt: skip
        return out

    def totals(self) -> tuple[Floats, Floats]:
        """Return weights (slots,) and totals (slots, d) of the rows where they are."""
        executor = self._executor
        totals = no_totals(self.n_slots, self._executor.n_columns)
        self._run(
            lambda _, start, stop: add_up(
                executor.rows, executor.weights, self.ids, self.places, totals, self._snaps,
                start, stop,
            ),
            self._units,
        )  # fmt: skip
        return totals.weight_coarse, totals.coarse

    def stretch(self, directions: Floats, centres: Floats) -> Floats:
        """Return the directions (g, d) after one step towards each group's widest one."""
        executor = self._executor
        totals = no_totals(len(directions), self._executor.n_columns)
        middles = np.einsum("ij,ij->i", directions, centres)
        self._run(
            lambda _, start, stop: spread(
                executor.rows, executor.weights, self.ids, self.groups, directions, middles,
                totals, self._snaps, start, stop,
            ),
            self._units,
        )  # fmt: skip
        stretched = totals.coarse - totals.weight_coarse[:, np.newaxis] * centres
        length = np.sqrt(np.einsum("ij,ij->i", stretched, stretched))
        return stretched / np.where(length > 0, length, 1.0)[:, np.newaxis]

    def along(self, directions: Floats, centres: Floats) -> Floats:
        """Return each row's coordinate (m,) along its group's direction, from the centre."""
        out = np.empty(len(self.ids))
        middles = np.einsum("ij,ij->i", directions, centres)
        self._run(
            lambda _, start, stop: project(
                self._executor.rows, self.ids, self.groups, directions, middles, out, start, stop
            ),
            self._tiles,
        )
        return out

    def relocate(
        self, clusters: MovingClusters, penalty: float, room: int, max_passes: int = 1
    ) -> int:
        """Let rows move one by one while the objective falls; return the number of moves.

        ``room``: how many clusters may be opened, in slots without rows.
        """
        executor = self._executor
        near = np.empty(len(self.ids), bool)
        units = self._units
        tally = np.array([[room, 0]] * len(units))
        some = np.zeros(len(units), bool)  # whether a pass is for those near to moving only

        def task(unit: int, start: int, stop: int) -> None:
            # Passes within one call, as long as that is short.
            at_once = max_passes if len(units[unit]) == 1 else 1
            relocate(
                executor.rows, executor.weights, executor.constants, clusters.table,
                clusters.sizes, clusters.members, self.ids, self.groups, self.first, self.places,
                penalty, clusters.prior_weight, near, some[unit], tally[unit], at_once, start,
                stop,
            )  # fmt: skip

        for _ in range(max_passes if any(len(unit) > 1 for unit in units) else 1):
            before = tally[:, 1].copy()
            self._run(task, units)
            still = before == tally[:, 1]
            if still.all() and not some.any():
                break
            some = ~still
        return int(tally[:, 1].sum())

    def moving(self, weights: Floats, centres: Floats, prior_weight: float) -> MovingClusters:
        """Return the clusters of these rows, with weights (slots,) and centres (slots, d)."""
        executor = self._executor
        weighted = slice(None) if len(executor.weights) == 1 else executor.weights[self.ids] > 0
        members = np.bincount(self.places[weighted], minlength=self.n_slots)
        return executor.moving(weights, members, centres, prior_weight)

    @cached_property
    def _tiles(self) -> list[Tiles]:
        """Tiles of which each can be run apart from the others, where every row is."""
        return [[tile] for tile in _cut(0, len(self.ids), ENTRIES_A_CALL // self._entries)]

    @cached_property
    def _units(self) -> list[Tiles]:
        """Tiles of whole groups, to be run apart; those of a group that is large, in order."""
        size = max(64, ENTRIES_A_CALL // self._entries)
        largest = MOST_ENTRIES_A_CALL // self._entries
        ends = np.append(np.flatnonzero(np.diff(self.groups)) + 1, len(self.ids))
        units = []
        start = 0
        while start < len(self.ids):
            # As many groups as make a call worth it; one at least.
            last = np.searchsorted(ends, start + size, side="right") - 1
            stop = int(ends[max(last, np.searchsorted(ends, start, side="right"))])
            units.append(_cut(start, stop, largest))
            start = stop
        return units

    def _run(self, task: Callable[[int, int, int], None], units: list[Tiles]) -> None:
        """Run ``task(unit, start, stop)`` over tiles: units side by side, each in order.

        Who runs what never depends on the number of threads.
        """

        def run(unit: int, worker: int) -> None:
            for start, stop in units[unit]:
                task(unit, start, stop)

        self._executor.pool.run(run, len(units))


def _cut(start: int, stop: int, size: int) -> Tiles:
    """Cut a range of rows into tiles (start, stop) of this size."""
    size = max(64, size)
    return [(begin, min(begin + size, stop)) for begin in range(start, stop, size)]
