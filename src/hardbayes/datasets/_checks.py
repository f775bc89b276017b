"""Checks of the generators' arguments, and the drawing of labels."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_counts(function: str, minimum: int = 1, **counts: Any) -> None:
    """Raise unless these parameters of a function are integers of at least `minimum`."""
    for name, value in counts.items():
        is_integer = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_integer or value < minimum:
            raise (ValueError if is_integer else TypeError)(
                f"The {name!r} parameter of {function} must be an integer of at least {minimum}. "
                f"Got {value!r} instead."
            )


def check_above(function: str, bound: float, **numbers: Any) -> None:
    """Raise unless these parameters of a function are finite numbers above `bound`."""
    for name, value in numbers.items():
        is_real = isinstance(value, Real) and not isinstance(value, bool)
        if not is_real or not bound < value < np.inf:
            raise (ValueError if is_real else TypeError)(
                f"The {name!r} parameter of {function} must be a finite number above {bound:g}. "
                f"Got {value!r} instead."
            )


def check_rows_for_clusters(n_samples: int, n_clusters: int, *, function: str) -> None:
    """Raise if there are more clusters than rows: every cluster has at least one row."""
    if n_clusters > n_samples:
        raise ValueError(
            f"The 'n_clusters' parameter of {function} must be at most n_samples={n_samples}, "
            f"so that every cluster has a row. Got {n_clusters} instead."
        )


def draw_labels(rng: np.random.RandomState, n_samples: int, n_clusters: int) -> NDArray[np.int32]:
    """Draw labels in random order, with cluster sizes that differ by one row at most."""
    return rng.permutation(np.arange(n_samples, dtype=np.int32) % np.int32(n_clusters))
