"""What sets clusters apart: sizes, and columns whose means differ from those of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hardbayes.cli.preparation import Preparation
from hardbayes.cli.wording import rounded, shown_name

MOST_COLUMNS = 3
MOST_CLUSTERS = 20
# A mean counts as high or low from this distance on, in standard deviations of all rows.
APART = 0.5
MOST_CELLS = 10_000_000
PART = 1 << 16  # rows


class Profile(NamedTuple):
    """Means of the clusters, in the units of the table, beside those of all rows."""

    sizes: np.ndarray  # (k,): numbers of rows
    means: np.ndarray  # (k, d)
    mean: np.ndarray  # (d,)
    deviation: np.ndarray  # (d,)


@np.errstate(over="ignore", invalid="ignore")  # squares of the largest numbers
def profile(X: Any, labels: np.ndarray, n_clusters: int, preparation: Preparation) -> Profile:
    """Return sizes and means of clusters; without means where they would take much memory."""
    sizes = np.bincount(labels, minlength=n_clusters)
    n, d = X.shape
    if n_clusters * d > MOST_CELLS:
        nothing = np.zeros(0)
        return Profile(sizes, np.zeros((n_clusters, 0)), nothing, nothing)
    totals = np.zeros((n_clusters, d))
    for part, some in _parts(X, labels):
        places = (np.ones(len(some)), (some, np.arange(len(some))))
        sums = sparse.csr_array(places, (n_clusters, len(some))) @ part
        totals += sums.toarray() if sparse.issparse(sums) else sums
    mean = totals.sum(axis=0) / n
    squares = np.zeros(d)
    for part, _ in _parts(X, labels):
        if sparse.issparse(part):
            squares += part.power(2).sum(axis=0) - part.shape[0] * mean**2
        else:
            squares += np.square(part - mean).sum(axis=0)
    deviation = np.sqrt(np.maximum(squares, 0.0) / n)
    if preparation.scale is not None:
        deviation = deviation * preparation.scale
    means = totals / np.maximum(sizes, 1)[:, np.newaxis]
    in_own_units = preparation.in_own_units
    return Profile(sizes, in_own_units(means), in_own_units(mean), deviation)


def _parts(X: Any, labels: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield some rows at a time, as float64, and their labels."""
    for start in range(0, X.shape[0], PART):
        some = slice(start, start + PART)
        yield X[some].astype(np.float64), labels[some]


def profile_lines(found: Profile, names: list[str]) -> list[str]:
    """Return a table of the clusters as lines of text."""
    n = int(found.sizes.sum())
    lines = ["cluster     rows        what sets it apart: its mean (that of all rows)"]
    for k, size in enumerate(found.sizes[:MOST_CLUSTERS]):
        head = f"{k:7d} {size:8,d} {100 * size / n:5.1f} %"
        lines.append(f"{head}  {apart(found, k, names)}".rstrip())
    if len(found.sizes) > MOST_CLUSTERS:
        lines.append(f"    ... and {len(found.sizes) - MOST_CLUSTERS} smaller ones")
    return lines


def _shown(found: Profile, means: np.ndarray, j: int) -> str:
    """Return a mean, zero where it differs from that by rounding."""
    return rounded(means[j] if abs(means[j]) > 1e-9 * found.deviation[j] else 0.0)


def apart(found: Profile, k: int, names: list[str]) -> str:
    """Return the columns whose means are far from those of all rows."""
    if not len(found.mean):
        return ""
    usable = np.isfinite(found.deviation) & (found.deviation > 0)
    distance = np.zeros(len(found.mean))
    distance[usable] = (found.means[k] - found.mean)[usable] / found.deviation[usable]
    order = np.argsort(-np.abs(distance), kind="stable")[:MOST_COLUMNS]
    parts = []
    for word, sign in (("high", 1), ("low", -1)):
        columns = [j for j in order if sign * distance[j] >= APART]
        shown = [
            f"{shown_name(names[j], 24)} {_shown(found, found.means[k], j)} "
            f"({_shown(found, found.mean, j)})"
            for j in columns
        ]
        if shown:
            parts.append(f"{word} {', '.join(shown)}")
    return "; ".join(parts) or "close to the mean of all rows"
