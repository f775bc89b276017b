"""Round numbers in columns, which are no clusters.

People report their height in whole inches and their way to work in fives of minutes; some give the
exact number. So a few values are frequent, at equal distances, whatever the rows are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import median_filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats

FREQUENT = 3.0  # times the median number of occurrences of the values nearby
NEARBY = 11  # values
LEAST_SHARE = 0.25  # of the rows have frequent values,
FEWEST = 5  # of which there are so many: two or three may be clusters
COARSER = 2.0  # times the median step: frequent values so far apart are round numbers


def without_round_numbers(
    rows: NDArray[np.floating], rng: np.random.RandomState
) -> NDArray[np.floating]:
    """Return rows (n, d) in which round numbers have uniform noise as wide as the step to the next.

    The other entries of such columns have noise as wide as the step between all values. Columns
    without round numbers are unchanged; if there are no others, the rows themselves are returned.
    """
    widths = [_widths(column) for column in rows.T]
    if not any(width.any() for width in widths):
        return rows
    noise = (rng.random_sample(rows.shape) - 0.5) * np.column_stack(widths)
    return (rows + noise).astype(rows.dtype)


def _widths(column: NDArray[np.floating]) -> Floats:
    """Return how far the entries of a column are spread (n,): zeros without round numbers."""
    values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    is_frequent = counts >= FREQUENT * median_filter(counts, NEARBY)
    if is_frequent.sum() < FEWEST or counts[is_frequent].sum() < LEAST_SHARE * len(column):
        return np.zeros(len(column))
    step, coarse = (float(np.median(np.diff(v))) for v in (values, values[is_frequent]))
    if coarse < COARSER * step:
        return np.zeros(len(column))
    return np.where(is_frequent, coarse, step)[inverse]
