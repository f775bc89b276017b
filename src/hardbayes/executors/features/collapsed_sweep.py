"""A collapsed sweep: rows one after another, features opened and closed between them."""

import numpy as np

from hardbayes.executors.features.protocol import Allocation
from hardbayes.executors.features.tiles import Tile, Tiles
from hardbayes.kernels.features.collapsing import (
    DONE,
    OPENS,
    ROUNDING,
    STANDS_ALONE,
    collapse,
    new_collapsed,
)
from hardbayes.matrices import Floats

WINDOW = 1 << 12  # rows in one call, so that an interrupt need not wait for a whole tile


class CollapsedSweep:
    """One sweep over all rows, in order, from a copy of an allocation at least squares.

    ``gram`` (k, k) = Z'WZ of full rank.
    """

    def __init__(
        self,
        tiles: Tiles,
        allocation: Allocation,
        gram: Floats,
        penalty: float,
        max_components: int,
    ) -> None:
        self._tiles = tiles
        self._penalty = penalty
        self._max_components = max_components
        components, self._membership = allocation.copy()
        self._state = new_collapsed(components, np.linalg.inv(gram), tiles.origin)
        self._changed = 0

    def run(self) -> tuple[Allocation, int]:
        """Visit every row; return the allocation, and how many changes were made."""
        for number in range(len(self._tiles.slices)):
            tile = self._tiles.read(number)
            at, stop = 0, len(tile.rows)
            while at < stop:
                end = min(stop, at + WINDOW)
                why, row, _, changed = self._collapse(tile, self._opening_cost(), at, end)
                self._changed += changed
                if why == OPENS:
                    self._open(tile, row)
                elif why == STANDS_ALONE:
                    self._try_to_close(tile, row)
                at = end if why == DONE else row + 1
        return Allocation(self._state.components, self._membership), self._changed

    def _opening_cost(self) -> float:
        is_full = len(self._state.components) >= self._max_components
        return np.inf if is_full else self._penalty

    def _collapse(
        self, tile: Tile, opening_cost: float, start: int, stop: int
    ) -> tuple[int, int, float, int]:
        return collapse(
            tile.rows, tile.weights, self._state, opening_cost, self._tiles.negligible, start, stop,
            self._membership[tile.part],
        )  # fmt: skip

    def _open(self, tile: Tile, row: int) -> None:
        """Give a row that was taken away a feature of its own, and put it back."""
        state, weight = self._state, float(tile.weights[row if len(tile.weights) > 1 else 0])
        own = self._membership[tile.part.start + row].astype(np.float64)
        overlap = state.inverse @ own
        corner = 1.0 / weight + own @ overlap
        inverse = np.block([[state.inverse, -overlap[:, np.newaxis]], [-overlap, corner]])
        residual = tile.rows[row] - (own @ state.components - self._tiles.origin)
        column = np.zeros((len(self._membership), 1), np.uint8)
        column[tile.part.start + row] = 1
        self._membership = np.hstack([self._membership, column])
        self._lay_out(np.vstack([state.components, residual]), inverse)
        self._changed += 1

    def _try_to_close(self, tile: Tile, row: int) -> None:
        """Close the feature that only one row keeps independent, if that row is cheaper without."""
        before, membership = self._state, self._membership
        own = membership[tile.part.start + row].astype(np.float64)
        closed = int(np.argmax(np.abs(before.inverse @ own)))
        kept = np.arange(len(own)) != closed
        # Least squares without one column: of the other rows, none is explained less well.
        share = before.inverse[kept, closed] / before.inverse[closed, closed]
        inverse = before.inverse[np.ix_(kept, kept)] - np.outer(share, before.inverse[closed, kept])
        components = before.components[kept] - np.outer(share, before.components[closed])
        self._membership = np.ascontiguousarray(membership[:, kept])
        self._lay_out(components, inverse)
        why, _, cost, _ = self._collapse(tile, np.inf, row, row + 1)
        if why == DONE and cost < self._penalty * (1.0 - ROUNDING):
            self._changed += 1
        else:
            self._state, self._membership = before, membership

    def _lay_out(self, components: Floats, inverse: Floats) -> None:
        self._state = new_collapsed(components, inverse, self._tiles.origin)
