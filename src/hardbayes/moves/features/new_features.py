"""New features grown from residuals where a fit has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.features.memory import Allocator
    from hardbayes.matrices import Floats


# A column of which others leave no more than this share is one of theirs.
SPANNED = 1e-9


def with_feature(
    components: Floats,
    membership: NDArray[np.uint8],
    component: Floats,
    rows: NDArray[np.uint8],
) -> tuple[Floats, NDArray[np.uint8]]:
    """Return components and membership with one feature more."""
    return np.concatenate([components, component[np.newaxis]]), np.concatenate(
        [membership, rows[:, np.newaxis]], axis=1
    )


def best_new_feature(
    rows: Allocator,
    components: Floats,
    membership: NDArray[np.uint8],
    inverse: Floats,
    costs: Floats,
    rng: np.random.RandomState,
) -> tuple[float, Floats, NDArray[np.uint8]]:
    """Return the gain, component (d,) and rows (n,) of a feature grown from residuals.

    ``inverse`` (k, k) of Z'WZ at least-squares components. The gain is what the fit term falls by
    when all components are refitted.
    """
    candidate = rows.grow(components, membership, costs, rng)
    joined = rows.join(components, membership, candidate)
    overlap = (rows.weights * joined.rows) @ membership
    left = joined.weight - overlap @ inverse @ overlap
    if not left > SPANNED * joined.weight:  # nothing joins it, or other columns span it
        return 0.0, candidate, joined.rows
    return float(joined.total @ joined.total / left), candidate, joined.rows
