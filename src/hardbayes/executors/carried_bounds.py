"""Bounds on what centres cost, carried from sweep to sweep while they move, are born and die."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from hardbayes.kernels.partition.bounds import NARROW, TINY, Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.centre_table import CentreTable, Drift
    from hardbayes.matrices import Floats

# What bounds, labels and the rest of a row's state may take in all; beyond it rows have one lower
# bound.
STATE_BYTES = 48e6
BYTES_WITHOUT_LOWER = 17
# Nanoseconds to keep one bound, beside some 5 + 0.3 d to score a row against one block.
BOUND_COST = 25
# And to keep those on costs, which are wider than those on distances, for a row.
COST_BOUNDS = 50
# Entries of centres that are compared with each other, for each row.
LOOKS_A_ROW = 8
FEW = 64  # newborn centres looked at together


def has_little_room(n_rows: int) -> bool:
    """Whether bounds and one more labelling take more than rows may have for their state."""
    return n_rows * (BYTES_WITHOUT_LOWER + 8) > STATE_BYTES


def cell_of(table: CentreTable) -> int:
    """Return how many blocks are scored before the two least scores are found.

    The fewer columns, the more: then a bound costs more than the scores that it may spare.
    """
    return 1 if table.sparse else int(np.ceil(BOUND_COST / (5 + 0.3 * table.n_columns)))


def no_bounds(table: CentreTable) -> Bounds:
    """Return bounds for kernels that must look at every centre."""
    nothing, one = np.empty(0, np.float32), np.zeros(1, np.float32)
    shifts, cell = np.zeros(1), cell_of(table)
    return Bounds(
        nothing, nothing.reshape(0, 1), nothing, nothing, one, one, shifts, shifts, 0.0, 0.0,
        -(-len(table.rank) // table.lanes // cell) * cell, cell,
    )  # fmt: skip


def worth_carrying(table: CentreTable) -> bool:
    """Whether bounds spare more than they cost."""
    if table.used == 1 or table.geometry.squared_distance:
        return table.used > 1
    if table.sparse:  # of thousands of columns some theta always moves far
        return False
    blocks = -(-table.used // table.lanes)
    return blocks * (5 + 0.3 * table.n_columns) > COST_BOUNDS


class CarriedBounds:
    """An upper bound on what each row's own centre costs it, lower bounds on what others would.

    On distances, where costs are squared distances. ``radius`` (n,): each row's distance from the
    table's anchor, or None there.
    """

    def __init__(self, n_rows: int, table: CentreTable, radius: NDArray | None = None) -> None:
        slots = len(table.rank)
        blocks = slots // table.lanes
        affordable = max(1, int((STATE_BYTES / n_rows - BYTES_WITHOUT_LOWER) // 4))
        self.cell = cell_of(table)
        self.span = -(-blocks // affordable // self.cell) * self.cell
        self.width = self.span * table.lanes  # slots in a group
        groups = -(-blocks // self.span)
        self.upper = np.full(n_rows, np.inf, np.float32)
        self.lower = np.full((n_rows, groups), -np.inf, np.float32)  # rules nothing out
        self.radius = np.ones(1, np.float32) if radius is None else radius
        self.precision = table.precision
        self.farthest = table.anchor_length
        self.half = np.zeros(slots, np.float32)
        self.drift = np.zeros(slots, np.float32)
        self.shift = np.zeros(slots)
        self._least_shift = np.zeros(slots)
        self.known = table.used  # slots that the lower bounds speak of
        self._on_distances = radius is None
        self._starts = np.arange(0, slots, self.width)

    def view(self, blocks: int) -> Bounds:
        """Return the arrays for a kernel that looks at so many blocks."""
        used = -(-blocks // self.span)
        least = self._least_shift[:used]  # nothing, on distances
        if not self._on_distances:
            least = np.minimum.reduceat(self._least_shift, self._starts)[:used]
            least[np.isinf(least)] = 0.0  # groups of dead slots
        return Bounds(
            self.upper,
            self.lower,
            self.half,
            self.drift,
            np.maximum.reduceat(self.drift, self._starts)[:used],
            self.radius,
            self.shift,
            least,
            self.precision,
            self.farthest,
            self.span,
            self.cell,
        )

    def look_around(self, table: CentreTable) -> None:
        """Find half the distance from each centre to the next, where that takes little time."""
        alive, d = table.alive, table.n_columns
        cheap = len(alive) ** 2 * d <= LOOKS_A_ROW * len(self.upper)
        self.half[:] = 0
        if self._on_distances and cheap and len(alive) > 1:
            self.half[alive] = 0.5 * NARROW * table.gaps()

    def add_drift(self, slots: NDArray[np.intp], drift: Drift) -> None:
        """Note how far the centres of these slots have moved."""
        self.drift[slots] = drift.distance * (1 + 1e-6)
        if self._on_distances:
            return
        self.shift[slots] = drift.most
        self._least_shift[:] = np.inf  # nobody goes to a slot that is dead
        self._least_shift[slots] = drift.least

    def forget_drift(self) -> None:
        """Take the bounds as they are for those at the present centres."""
        self.drift[:] = 0
        if not self._on_distances:
            self.shift[:] = 0
            self._least_shift[:] = 0

    def radii(self, table: CentreTable) -> NDArray[np.float32]:
        """Return for each slot how near a row must be to its centre to need no newborn.

        By the triangle inequality: half the distance to the nearest newborn. Zero, which spares
        nobody the look, where there are so many that some would be near anyway, and where costs are
        no squared distances.
        """
        if not self._on_distances or table.used - self.known > FEW:
            return np.zeros(table.used, np.float32)
        return (0.5 * NARROW * self._to_newborn(table, self.known, table.used)).astype(np.float32)

    def welcome(self, table: CentreTable, labels: NDArray[np.int32]) -> None:
        """Bound the distances to newborn centres, before any centre moves.

        A row is no nearer to a newborn than its own centre is, less its distance to that. Where
        costs are no squared distances, nothing is known of the newborn.
        """
        groups = range(self.known // self.width, -(-table.used // self.width))
        for group in groups if self._on_distances else ():
            first = max(group * self.width, self.known)
            last = min((group + 1) * self.width, table.used)
            nearest = self._to_newborn(table, first, last) * NARROW
            nearest[self.known :] = 0  # their members are dealt with below
            low = (nearest.astype(np.float32)[labels] - self.upper) * np.float32(NARROW) - TINY
            if group * self.width < self.known:
                np.minimum(low, self.lower[:, group], out=low)
            self.lower[:, group] = low
        if not self._on_distances:
            self.lower[:, groups.start : groups.stop] = -np.inf
        # To members of the newborn, nothing is known of the centres they left.
        self.lower[labels >= self.known] = -np.inf
        self.known = table.used

    @staticmethod
    def _to_newborn(table: CentreTable, first: int, last: int) -> Floats:
        """Return each slot's distance (slots,) to the nearest other of slots first to last."""
        nearest = np.full(table.used, np.inf)
        for start in range(first, last, FEW):
            stop = min(start + FEW, last)
            distances = cdist(table.exact[: table.used], table.exact[start:stop])
            distances[np.arange(start, stop), np.arange(stop - start)] = np.inf
            np.minimum(nearest, distances.min(axis=1), out=nearest)
        return nearest
