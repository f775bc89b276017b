"""Profiles of the largest clusters, and the columns that tell them apart best."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.estimators.summaries import Moments, Profile, moments, profiles
from hardbayes.reports.facts.data import Data

MOST_PROFILES = 24  # clusters whose profiles are printed
MOST_COLUMNS = 60  # columns from which on not all means are printed
N_APART = 8  # columns of a profile
N_TELLING = 6  # columns printed beside rows


class Profiles(NamedTuple):
    """What sets the largest clusters apart."""

    every: Moments  # of all rows
    found: list[Profile]  # with all columns where there are few
    n_clusters: int
    telling: list[int]  # columns that tell clusters apart, the best first
    complete: bool  # whether profiles have all columns that vary


def profiles_of(data: Data, labels: NDArray[np.int32], n_clusters: int) -> Profiles:
    """Return the profiles of the largest clusters."""
    n_columns = data.values.shape[1]
    complete = n_columns <= MOST_COLUMNS
    rows = data.rows if data.scaled else None
    largest = sorted(
        profiles(
            data.values, labels, n_clusters, rows=rows, weights=data.weights,
            n_columns=n_columns if complete else N_APART,
        ),
        key=lambda each: -each.size,
    )[:MOST_PROFILES]  # fmt: skip
    found = sorted(largest, key=lambda each: each.cluster)
    every = moments(data.values, slice(None), data.weights)
    apart: dict[int, float] = {}
    for each in found:
        for column, difference in zip(each.columns, each.differences, strict=True):
            gain = each.share * float(difference) ** 2
            apart[int(column)] = apart.get(int(column), 0.0) + gain
    ranked = sorted(apart, key=lambda column: (-apart[column], column))
    telling = ranked[:N_TELLING] or list(range(min(N_TELLING, n_columns)))
    return Profiles(every, found, n_clusters, telling, complete)
