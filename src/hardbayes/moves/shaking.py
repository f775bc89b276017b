"""Shaking an allocation out of a local optimum: one feature is dealt anew, at random.

Of the ways tried (a feature dropped and another grown, one added and the cheapest dropped, two at
once) this reached the best known objectives soonest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def shaken(membership: NDArray[np.uint8], rng: np.random.RandomState) -> NDArray[np.uint8]:
    """Return membership (n, k) with one column, k > 0, replaced by tosses of a coin."""
    shaken = membership.copy()
    shaken[:, rng.randint(membership.shape[1])] = rng.randint(2, size=len(membership))
    return shaken
