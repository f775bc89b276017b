"""Logistic loss of binary profiles: the Bernoulli of Jiang, Kulis & Jordan 2012."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from hardbayes.core.arrays import Floats, Formula
from hardbayes.core.geometry.base import Geometry, t_log_t

# A centre at 0 or 1 is treated as this far from it. An entry at the other end then costs 690 nats,
# above any sensible penalty, and small enough that the other columns still count in the sum.
CLOSE = 1e-300
CERTAIN = -np.log(CLOSE)
ALMOST_ONE = np.nextafter(1.0, 0.0)  # the nearest to one that float64 has


class Logistic(Geometry):
    """``D(x, c) = sum_j x_j log(x_j / c_j) + (1 - x_j) log((1 - x_j) / (1 - c_j))``.

    For zeros and ones, or shares between them; pass n as the weight of a share of n trials (the
    binomial). On data with zeros or ones ``prior_weight="auto"`` is 10: the cost of every other row
    at a cluster opened at one row would be (practically) infinite.
    """

    unit_interval = True
    formula = Formula.BINARY
    domain = "numbers from 0 to 1"

    def generator(self, x: Floats) -> Floats:
        """Return ``x log x + (1 - x) log(1 - x)``."""
        # At one the factor is zero; the logarithm only has to be finite.
        return t_log_t(x) + (1.0 - x) * np.log1p(-np.minimum(x, ALMOST_ONE))

    def gradient(self, c: Floats) -> Floats:
        """Return the log odds."""
        with np.errstate(divide="ignore"):
            return np.clip(np.log(c) - np.log1p(-c), -CERTAIN, CERTAIN)

    def terms(self, x: Floats, c: Floats) -> Floats:
        """Return each column's divergence."""
        yes, no = np.maximum(c, CLOSE), np.maximum(1.0 - c, CLOSE)
        return rel_entr(x, yes) + rel_entr(1.0 - x, no)

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the entries below 0 or above 1."""
        return (values < 0) | (values > 1)

    def at_border(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the zeros and ones."""
        return (values == 0) | (values == 1)

    def inside(self, means: Floats) -> Floats:
        """Return means clipped to [0, 1]."""
        return np.clip(means, 0.0, 1.0)

    def default_prior_weight(self, has_border: bool) -> float:
        """Return ten pseudo-rows where zeros or ones would make costs infinite."""
        return 10.0 if has_border else 0.0
