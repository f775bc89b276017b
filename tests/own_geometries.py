"""Divergences as a user might write them."""

import numpy as np

from hardbayes.core.geometry import Geometry


class ItakuraSaito(Geometry):
    """Undefined at zero, and negative phi."""

    nonnegative = True
    domain = "numbers > 0"

    def generator(self, x):
        return -np.log(x)

    def gradient(self, c):
        return -1.0 / c

    def outside(self, values):
        return values <= 0
