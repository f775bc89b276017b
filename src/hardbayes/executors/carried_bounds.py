"""Bounds on distances, carried from sweep to sweep while centres move, are born and die."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from hardbayes.kernels.nearest import NARROW, TINY, Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.centre_table import CentreTable
    from hardbayes.geometry.base import Floats

# What bounds, labels and the rest of a row's state may take in all; beyond it rows have one lower
# bound.
STATE_BYTES = 48e6
BYTES_WITHOUT_LOWER = 17
# Nanoseconds to keep one bound, beside some 5 + 0.3 d to score a row against one block.
BOUND_COST = 25
FEW = 64  # newborn centres looked at together


def no_bounds(blocks: int) -> Bounds:
    """Return bounds for kernels that must look at every centre."""
    nothing = np.empty(0, np.float32)
    return Bounds(nothing, nothing.reshape(0, 1), nothing, np.zeros(1, np.float32), blocks)


class CarriedBounds:
    """An upper bound on each row's distance to its own centre, lower bounds to the others."""

    def __init__(self, n_rows: int, table: CentreTable) -> None:
        slots = len(table.rank)
        blocks = slots // table.lanes
        affordable = max(1, int((STATE_BYTES / n_rows - BYTES_WITHOUT_LOWER) // 4))
        worthwhile = int(np.ceil(BOUND_COST / (5 + 0.3 * table.n_columns)))
        self.span = max(-(-blocks // affordable), worthwhile)
        self.width = self.span * table.lanes  # slots in a group
        groups = -(-blocks // self.span)
        self.upper = np.full(n_rows, np.inf, np.float32)
        self.lower = np.full((n_rows, groups), -1, np.float32)  # rules nothing out
        self.drift = np.zeros(slots, np.float32)
        self.known = table.used  # slots that the lower bounds speak of

    def view(self, blocks: int) -> Bounds:
        """Return the arrays for a kernel that looks at so many blocks."""
        starts = np.arange(0, len(self.drift), self.width)
        group_drift = np.maximum.reduceat(self.drift, starts)[: -(-blocks // self.span)]
        return Bounds(self.upper, self.lower, self.drift, group_drift, self.span)

    def add_drift(self, slots: NDArray[np.intp], distance: Floats) -> None:
        """Note how far the centres of these slots have moved."""
        self.drift[slots] = distance * (1 + 1e-6)

    def radii(self, table: CentreTable) -> NDArray[np.float32]:
        """Return for each slot how near a row must be to its centre to need no newborn.

        By the triangle inequality: half the distance to the nearest newborn. Zero, which spares
        nobody the look, where there are so many that some would be near anyway.
        """
        if table.used - self.known > FEW:
            return np.zeros(table.used, np.float32)
        return (0.5 * NARROW * self._to_newborn(table, self.known, table.used)).astype(np.float32)

    def welcome(self, table: CentreTable, labels: NDArray[np.int32]) -> None:
        """Bound the distances to newborn centres, before any centre moves.

        A row is no nearer to a newborn than its own centre is, less its distance to that.
        """
        for group in range(self.known // self.width, -(-table.used // self.width)):
            first = max(group * self.width, self.known)
            last = min((group + 1) * self.width, table.used)
            nearest = self._to_newborn(table, first, last) * NARROW
            nearest[self.known :] = 0  # their members are dealt with below
            low = (nearest.astype(np.float32)[labels] - self.upper) * np.float32(NARROW) - TINY
            if group * self.width < self.known:
                np.minimum(low, self.lower[:, group], out=low)
            self.lower[:, group] = low
        # To members of the newborn, nothing is known of the centres they left.
        self.lower[labels >= self.known] = -1
        self.known = table.used

    @staticmethod
    def _to_newborn(table: CentreTable, first: int, last: int) -> Floats:
        """Return each slot's distance (slots,) to the nearest other of slots first to last."""
        nearest = np.full(table.used, np.inf)
        for start in range(first, last, FEW):
            stop = min(start + FEW, last)
            distances = cdist(table.centres[: table.used], table.centres[start:stop])
            distances[np.arange(start, stop), np.arange(stop - start)] = np.inf
            np.minimum(nearest, distances.min(axis=1), out=nearest)
        return nearest
