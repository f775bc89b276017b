"""Moves on whole columns of Z, judged by the exact change of the objective.

Dropping a feature, merging two into one, or putting a combination of two in the place of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats


class ColumnMove(NamedTuple):
    """Columns to take away, the combination of two columns to put in, and what that changes."""

    change: float  # of the objective
    removed: list[int]
    pair: tuple[int, int] | None = None
    combination: tuple[int, int, int] = (0, 0, 0)  # of the two and of their product, elementwise

    def made_on(
        self, components: Floats, membership: NDArray[np.uint8]
    ) -> tuple[Floats, NDArray[np.uint8]]:
        """Return components and membership after the move; a new component waits for a refit."""
        components = np.delete(components, self.removed, axis=0)
        kept = np.ascontiguousarray(np.delete(membership, self.removed, axis=1))
        if self.pair is None:
            return components, kept
        first, second = (membership[:, at].astype(np.int8) for at in self.pair)
        alpha, beta, delta = self.combination
        new = (alpha * first + beta * second + delta * first * second).astype(np.uint8)
        return np.vstack([components, np.zeros(components.shape[1])]), np.column_stack([kept, new])


def best_drop(inverse: Floats, components: Floats, penalty: float) -> ColumnMove:
    """Return the feature whose loss costs least; ``inverse`` (k, k) of Z'WZ."""
    changes = drop_costs(inverse, components) - penalty
    cheapest = int(np.argmin(changes))
    return ColumnMove(float(changes[cheapest]), [cheapest])


def drop_costs(inverse: Floats, components: Floats) -> Floats:
    """Return by how much the fit term rises (k,) if a feature is dropped and the rest refitted."""
    return np.einsum("kd,kd->k", components, components) / np.diagonal(inverse)
