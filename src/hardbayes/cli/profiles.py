"""What sets clusters apart, as lines of text in the units of the table."""

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.preparation import Preparation
from hardbayes.cli.wording import rounded, shown_name
from hardbayes.estimators.summaries import Moments, Profile, moments, profiles

MOST_COLUMNS = 3
MOST_CLUSTERS = 20
# A mean counts as high or low from this distance on, in standard deviations of all rows.
APART = 0.5


class Profiles(NamedTuple):
    """Sizes of all clusters, and what sets the first of them apart."""

    sizes: np.ndarray  # (k,): numbers of rows
    first: list[Profile]  # in the units of the model, as are the next
    every: Moments  # of all rows
    preparation: Preparation


@np.errstate(over="ignore", invalid="ignore")  # squares of the largest numbers
def profile(X: Any, labels: np.ndarray, n_clusters: int, preparation: Preparation) -> Profiles:
    """Return sizes of clusters, and the columns whose means differ from those of all rows."""
    found = profiles(X, labels, n_clusters, n_columns=MOST_COLUMNS)
    return Profiles(
        np.bincount(labels, minlength=n_clusters),
        list(islice(found, MOST_CLUSTERS)),
        moments(X, slice(None), None),
        preparation,
    )


def profile_lines(found: Profiles, names: list[str]) -> list[str]:
    """Return a table of the clusters as lines of text."""
    lines = ["cluster     rows        what sets it apart: its mean (that of all rows)"]
    for each in found.first:
        head = f"{each.cluster:7d} {int(each.size):8,d} {100 * each.share:5.1f} %"
        lines.append(f"{head}  {apart(found, each, names)}".rstrip())
    if len(found.sizes) > len(found.first):
        lines.append(f"    ... and {len(found.sizes) - len(found.first)} smaller ones")
    return lines


def apart(found: Profiles, each: Profile, names: list[str]) -> str:
    """Return the columns whose means are far from those of all rows."""
    parts = []
    for word, sign in (("high", 1), ("low", -1)):
        shown = [
            f"{shown_name(names[j], 24)} {_shown(found, j, mean)} "
            f"({_shown(found, j, found.every.means[j])})"
            for j, mean, difference in zip(each.columns, each.means, each.differences, strict=True)
            if sign * difference >= APART
        ]
        if shown:
            parts.append(f"{word} {', '.join(shown)}")
    return "; ".join(parts) or "close to the mean of all rows"


def _shown(found: Profiles, j: int, mean: float) -> str:
    """Return a mean in the units of the table, zero where it differs from that by rounding."""
    scale, shift = found.preparation.scale, found.preparation.shift
    deviation = np.sqrt(found.every.variances[j])
    if scale is not None and shift is not None:
        mean, deviation = mean * scale[j] + shift[j], deviation * scale[j]
    return rounded(mean if abs(mean) > 1e-9 * deviation else 0.0)
