"""Whether the columns of a table are in units of their own, and their scales."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# One column with more than this share of the variance would decide alone.
DECIDES_ALONE = 0.9


class Spreads(NamedTuple):
    """Means and standard deviations of columns."""

    mean: np.ndarray
    deviation: np.ndarray

    @property
    def largest_share(self) -> float:
        """Share of the column with the largest variance in the sum of variances."""
        relative = (self.deviation / max(self.deviation.max(), np.finfo(float).tiny)) ** 2
        return float(1.0 / max(relative.sum(), 1.0))


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
