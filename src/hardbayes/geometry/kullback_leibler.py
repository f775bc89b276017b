"""Kullback-Leibler divergence of histograms: the multinomial of Jiang, Kulis & Jordan 2012."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import kl_div, xlogy

from hardbayes.geometry.base import Floats, Geometry

# Stands for minus the logarithm of zero: dearer than any penalty, yet finite in float32 arithmetic.
NEVER = 1e30


class KullbackLeibler(Geometry):
    """``D(x, c) = sum_j x_j log(x_j / c_j) - x_j + c_j`` for rows normalised to sum one.

    A centre with a zero where the row has none is (as good as) infinitely dear. On data with zeros
    a cluster opened at one row would then attract nobody, so ``prior_weight="auto"`` is 10 there.
    """

    normalise_rows = True
    nonnegative = True
    infinite_cost = 1e-20 * NEVER
    domain = "numbers >= 0"

    def generator(self, x: Floats) -> Floats:
        """Return ``x log x - x``."""
        return xlogy(x, x) - x

    def gradient(self, c: Floats) -> Floats:
        """Return ``log c``, a huge negative number for zero."""
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(c), -NEVER)

    def divergence(self, x: Floats, c: Floats) -> Floats:
        """Return the divergences, huge where c has a zero and x has none."""
        return np.sum(np.minimum(kl_div(x, c), NEVER), axis=-1)

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Histograms have no negative entries."""
        return values < 0

    def default_prior_weight(self, has_zeros: bool) -> float:
        """Ten pseudo-rows where zeros would make costs infinite."""
        return 10.0 if has_zeros else 0.0
