"""Moves on whole columns of Z, judged by the exact change of the objective.

Dropping a feature, merging two into one, or putting a combination of two in the place of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats


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
        (n, k), d = membership.shape, components.shape[1]
        kept = [a for a in range(k) if a not in self.removed]
        n_new = 0 if self.pair is None else 1
        # Made whole at once: on a hundred rows NumPy's delete and stack cost more than a sweep.
        others, columns = (
            np.zeros((len(kept) + n_new, d)),
            np.empty((n, len(kept) + n_new), np.uint8),
        )
        others[: len(kept)] = components[kept]
        columns[:, : len(kept)] = membership[:, kept]
        if self.pair is not None:
            first, second = (membership[:, at].astype(np.int8) for at in self.pair)
            alpha, beta, delta = self.combination
            columns[:, -1] = alpha * first + beta * second + delta * first * second
        return others, columns


def best_drop(inverse: Floats, components: Floats, penalty: float) -> ColumnMove:
    """Return the feature whose loss costs least; ``inverse`` (k, k) of Z'WZ."""
    changes = drop_costs(inverse, components) - penalty
    cheapest = int(np.argmin(changes))
    return ColumnMove(float(changes[cheapest]), [cheapest])


def drop_costs(inverse: Floats, components: Floats) -> Floats:
    """Return by how much the fit term rises (k,) if a feature is dropped and the rest refitted."""
    return np.einsum("kd,kd->k", components, components) / np.diagonal(inverse)
