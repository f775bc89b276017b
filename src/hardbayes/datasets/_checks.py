"""Checks of the generators' arguments, and the drawing of labels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_count(name: str, value: Any, *, function: str, minimum: int = 1) -> int:
    """Return `value` as an int, or raise if it is not an integer of at least `minimum`."""
    error: type[Exception] = TypeError
    if isinstance(value, Integral) and not isinstance(value, bool):
        if int(value) >= minimum:
            return int(value)
        error = ValueError
    raise error(
        f"The {name!r} parameter of {function} must be an integer of at least {minimum}. "
        f"Got {value!r} instead."
    )


def check_above(name: str, value: Any, *, function: str, bound: float) -> float:
    """Return `value` as a float, or raise if it is not a finite number above `bound`."""
    error: type[Exception] = TypeError
    if isinstance(value, Real) and not isinstance(value, bool):
        if bound < float(value) < np.inf:
            return float(value)
        error = ValueError
    raise error(
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
