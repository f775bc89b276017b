"""A collapsed sweep: rows one after another, features opened and freed between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.kernels.features.collapsing import (
    DONE,
    OPENS,
    ROUNDING,
    STANDS_ALONE,
    collapse,
    new_collapsed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.features.tiles import Tile, Tiles
    from hardbayes.matrices import Floats

WINDOW = 1 << 12  # rows in one call, so that an interrupt need not wait for a whole tile


class CollapsedSweep:
    """One sweep over all rows, in order.

    Parameters
    ----------
    tiles : Tiles
    components : array (k, d)
        At least squares.
    gram : array (k, k)
        Z'WZ, of full rank.
    membership : array (n, k)
    penalty : float
    max_components : int
    """

    def __init__(
        self,
        tiles: Tiles,
        components: Floats,
        gram: Floats,
        membership: NDArray[np.uint8],
        penalty: float,
        max_components: int,
    ) -> None:
        self._tiles = tiles
        self._penalty = penalty
        self._max_components = max_components
        self._state = new_collapsed(components.copy(), np.linalg.inv(gram), tiles.origin)
        self.membership = membership.copy()
        self.changed = 0

    @property
    def components(self) -> Floats:
        """Components (k, d) at present."""
        return self._state.components

    def run(self) -> None:
        """Visit every row."""
        for number in range(len(self._tiles.slices)):
            tile = self._tiles.read(number)
            at, stop = 0, len(tile.rows)
            while at < stop:
                end = min(stop, at + WINDOW)
                why, row, _, changed = self._collapse(tile, self._price(), at, end)
                self.changed += changed
                if why == OPENS:
                    self._open(tile, row)
                elif why == STANDS_ALONE:
                    self._try_without(tile, row)
                at = end if why == DONE else row + 1

    def _price(self) -> float:
        has_room = len(self.components) < self._max_components
        return self._penalty if has_room else np.inf

    def _collapse(
        self, tile: Tile, price: float, start: int, stop: int
    ) -> tuple[int, int, float, int]:
        own = self.membership[tile.part]
        nothing = self._tiles.nothing
        return collapse(tile.rows, tile.weights, self._state, price, nothing, start, stop, own)

    def _open(self, tile: Tile, row: int) -> None:
        """Give a row that was taken away a feature of its own, and put it back."""
        state, weight = self._state, float(tile.weights[row if len(tile.weights) > 1 else 0])
        own = self.membership[tile.part.start + row].astype(np.float64)
        reach = state.inverse @ own
        corner = 1.0 / weight + own @ reach
        inverse = np.block([[state.inverse, -reach[:, np.newaxis]], [-reach, corner]])
        residual = tile.rows[row] - (own @ state.components - self._tiles.origin)
        column = np.zeros((len(self.membership), 1), np.uint8)
        column[tile.part.start + row] = 1
        self.membership = np.hstack([self.membership, column])
        self._lay_out(np.vstack([state.components, residual]), inverse)
        self.changed += 1

    def _try_without(self, tile: Tile, row: int) -> None:
        """Free the feature that stands by one row alone, if the row does well enough without."""
        before, membership = self._state, self.membership
        own = membership[tile.part.start + row].astype(np.float64)
        freed = int(np.argmax(np.abs(before.inverse @ own)))
        kept = np.arange(len(own)) != freed
        # The others lose nothing by it, the row aside: least squares without one column.
        share = before.inverse[kept, freed] / before.inverse[freed, freed]
        inverse = before.inverse[np.ix_(kept, kept)] - np.outer(share, before.inverse[freed, kept])
        components = before.components[kept] - np.outer(share, before.components[freed])
        self.membership = np.ascontiguousarray(membership[:, kept])
        self._lay_out(components, inverse)
        why, _, cost, _ = self._collapse(tile, np.inf, row, row + 1)
        if why == DONE and cost < self._penalty * (1.0 - ROUNDING):
            self.changed += 1
        else:
            self._state, self.membership = before, membership

    def _lay_out(self, components: Floats, inverse: Floats) -> None:
        self._state = new_collapsed(components, inverse, self._tiles.origin)
