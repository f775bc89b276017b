"""Bounds on distances, carried from sweep to sweep while centres move, are born and die."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from hardbayes.kernels.nearest import NARROW, Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.centre_table import CentreTable
    from hardbayes.geometry.base import Floats

# What bounds, labels and the rest of a row's state may take in all; beyond it rows have one lower bound.
STATE_BYTES = 56e6
BYTES_WITHOUT_LOWER = 17
# Nanoseconds to keep one bound, beside some 5 + 0.3 d to score a row against one block.
BOUND_COST = 25


def no_bounds(blocks: int) -> Bounds:
    """Return bounds for kernels that must look at every centre."""
    nothing = np.empty(0, np.float32)
    return Bounds(nothing, nothing.reshape(0, 1), nothing, np.zeros(1, np.float32), blocks)


class CarriedBounds:
    """An upper bound on each row's distance to its own centre, and lower bounds to groups of others."""

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

    def _to_newborn(self, table: CentreTable) -> Floats:
        """Distances (slots, births) between centres and those the bounds do not know yet."""
        distances = cdist(table.centres[: table.used], table.centres[self.known : table.used])
        distances[np.arange(self.known, table.used), np.arange(table.used - self.known)] = np.inf
        return distances

    def radii(self, table: CentreTable) -> NDArray[np.float32]:
        """Return for each slot how near a row must be to its centre to have no use for any newborn.

        By the triangle inequality: half the distance to the nearest of them.
        """
        return (0.5 * NARROW * self._to_newborn(table).min(axis=1)).astype(np.float32)

    def welcome(self, table: CentreTable, labels: NDArray[np.int32]) -> None:
        """Bound the distances to newborn centres, before any centre moves.

        A row is no nearer to a newborn than its own centre is, less its distance to that.
        """
        distances = self._to_newborn(table)
        for group in range(self.known // self.width, -(-table.used // self.width)):
            start = max(group * self.width, self.known) - self.known
            stop = (group + 1) * self.width - self.known
            nearest = distances[:, start:stop].min(axis=1).astype(np.float32) * np.float32(NARROW)
            nearest[self.known :] = 0  # their members are dealt with below
            low = (nearest[labels] - self.upper) * np.float32(NARROW) - np.float32(1e-37)
            if group * self.width < self.known:
                np.minimum(low, self.lower[:, group], out=low)
            self.lower[:, group] = low
        # To members of the newborn, nothing is known of the centres they left.
        self.lower[labels >= self.known] = -1
        self.known = table.used
