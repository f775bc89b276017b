"""Shaking an allocation out of a local optimum: one feature is dealt anew, at random.

Of the ways tried (a feature dropped and another grown, one added and the cheapest dropped, two at
once) this reached the best known objectives soonest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats


def shaken(
    components: Floats,
    membership: NDArray[np.uint8],
    max_components: int,
    rng: np.random.RandomState,
) -> tuple[Floats, NDArray[np.uint8]]:
    """Return components and membership with one column replaced by tosses of a coin.

    Where there is room, it may as well be one more. Components wait for a refit.
    """
    n, k = membership.shape
    column = rng.randint(min(k + 1, max_components))
    if column == k:
        components = np.vstack([components, np.zeros(components.shape[1])])
        membership = np.column_stack([membership, np.zeros(n, np.uint8)])
    else:
        components, membership = components.copy(), membership.copy()
    membership[:, column] = rng.randint(2, size=n)
    return components, membership
