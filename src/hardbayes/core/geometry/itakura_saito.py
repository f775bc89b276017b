"""Itakura-Saito divergence of waiting times: the exponential and gamma of Jiang et al. 2012."""

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.geometry.base import Geometry

# Ratio of entries that is accepted: costs are about as large, and beside one that is larger the
# others would be lost in their sum.
WIDEST = 1e20


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

    def statistic(self, matrix: Matrix) -> Matrix:
        """Return the rows; raise ValueError where ratios are so large that sums lose others."""
        values = matrix.data if is_sparse(matrix) else matrix
        least, most = float(values.min(initial=np.inf)), float(values.max(initial=0.0))
        if least > 0 and most / WIDEST > least:
            raise ValueError(
                f"X holds values from {least:g} to {most:g}. Beside such a ratio no others count in "
                "float64. Divide each column by its median, which changes no cost, or remove rows "
                "with extreme values."
            )
        return matrix

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the entries that are not positive."""
        return values <= 0

    def inside(self, means: Floats) -> Floats:
        """Return means, with those that rounding made <= 0 set to the smallest number."""
        return np.maximum(means, np.finfo(np.float64).tiny)
