"""Where rows are drawn in the plane."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.estimators.summaries import moments
from hardbayes.plot._projection import comparable_rows, project
from hardbayes.reports.numbers import percent

MOST_POINTS = 10_000
WIDTH, HEIGHT = 1200, 900  # of the picture, in units of coordinates
MARGINS = (90, 60, 30, 90)  # left, top, right, bottom


class Plane(NamedTuple):
    """Points of the picture, and what its axes are."""

    rows: NDArray[np.intp]  # numbers of the rows that are drawn
    n_rows: int  # of all rows
    points: NDArray[np.int64]  # (m, 2) coordinates in the picture
    ranges: tuple[tuple[float, float], tuple[float, float]]  # of the axes
    names: tuple[str, str]
    lines: NDArray[np.intp] | None = None  # (l, 2) pairs of points that are linked


def plane_of_rows(model: Any, rows: Any, columns: list[str] | None) -> Plane:
    """Return the plane of two columns, or of the first two principal components of more."""
    n = rows.shape[0]
    kept = spaced(n, MOST_POINTS)
    shown = comparable_rows(model, rows[kept])
    points, _, names = project(shown, np.zeros((1, rows.shape[1])))
    if rows.shape[1] > 2:
        total = float(moments(shown, slice(None), None).variances.sum())
        shares = points.var(axis=0) / total if total else np.zeros(2)
        first, second = (f"component {at + 1}: {percent(shares[at])}" for at in range(2))
        names = (f"{first} of the variance", f"{second} of it")
    elif columns is not None:
        names = (columns[0], columns[1] if rows.shape[1] == 2 else names[1])
    return placed(points, kept, n, names)


def placed(
    points: NDArray[np.float64],
    rows: NDArray[np.intp],
    n_rows: int,
    names: tuple[str, str],
    lines: NDArray[np.intp] | None = None,
) -> Plane:
    """Return points (m, 2) stretched over the picture."""
    left, top, right, bottom = MARGINS
    low, high = points.min(axis=0), points.max(axis=0)
    low, high = low - 0.02 * (high - low), high + 0.02 * (high - low)
    width = np.where(high > low, high - low, 1.0)
    part = np.where(high > low, (points - low) / width, 0.5)
    across = left + part[:, 0] * (WIDTH - left - right)
    down = HEIGHT - bottom - part[:, 1] * (HEIGHT - top - bottom)
    ends = np.column_stack([low, high]).tolist()
    coordinates = np.rint(np.column_stack([across, down])).astype(np.int64)
    return Plane(rows, n_rows, coordinates, (tuple(ends[0]), tuple(ends[1])), names, lines)


def spaced(n: int, most: int) -> NDArray[np.intp]:
    """Return the numbers of at most so many of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
