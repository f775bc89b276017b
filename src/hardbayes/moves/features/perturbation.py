"""A perturbation of an allocation, to leave a local optimum: one column of Z drawn anew.

Of the ways tried (a feature dropped and another grown, one added and the cheapest dropped, two at
once) this reached the best known objectives soonest.
"""

import numpy as np
from numpy.random import RandomState

from hardbayes.executors.features.protocol import Allocation


def perturbed(allocation: Allocation, max_components: int, rng: RandomState) -> Allocation:
    """Return a copy with one column, or one more below the cap, of random zeros and ones.

    Components need a refit.
    """
    components, membership = allocation
    n, k = membership.shape
    column = rng.randint(min(k + 1, max_components))
    if column == k:
        components = np.vstack([components, np.zeros(components.shape[1])])
        membership = np.column_stack([membership, np.zeros(n, np.uint8)])
    else:
        components, membership = allocation.copy()
    membership[:, column] = rng.randint(2, size=n)
    return Allocation(components, membership)
