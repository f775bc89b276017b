"""Itakura-Saito divergence of waiting times: the exponential and gamma of Jiang et al. 2012."""

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.geometry.base import Geometry


class ItakuraSaito(Geometry):
    """``D(x, c) = a sum_j x_j / c_j - log(x_j / c_j) - 1``, from ``phi(t) = -a log t``.

    It compares ratios: costs do not depend on the unit of the rows.

    Parameters
    ----------
    shape : float, default=1.0
        The shape ``a`` of the gamma distribution; 1 is the exponential.
    """

    degree = 0
    nonnegative = True
    domain = "numbers > 0"
    max_ratio = 1e20  # costs are about as large, and beside a larger one the others would be lost

    def __init__(self, shape: float = 1.0) -> None:
        if not 0 < shape < np.inf:
            raise ValueError(
                "The 'shape' parameter of ItakuraSaito must be a number > 0. "
                f"Got {shape!r} instead."
            )
        self.shape = shape

    def generator(self, x: Floats) -> Floats:
        """Return ``-a log x``."""
        return -self.shape * np.log(x)

    def gradient(self, c: Floats) -> Floats:
        """Return ``-a / c``."""
        return -self.shape / c

    def terms(self, x: Floats, c: Floats) -> Floats:
        """Return each column's divergence, accurate where x is close to c."""
        beyond = (x - c) / c
        near = np.abs(beyond) < 0.5
        logs = np.where(near, np.log1p(np.where(near, beyond, 0.0)), np.log(x) - np.log(c))
        return self.shape * (beyond - logs)

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the entries that are not positive."""
        return values <= 0

    def inside(self, means: Floats) -> Floats:
        """Return means, with those that rounding made <= 0 set to the smallest number."""
        return np.maximum(means, np.finfo(np.float64).tiny)
