"""Generalised I-divergence of counts: the Poisson of Jiang, Kulis & Jordan 2012."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import kl_div

from hardbayes.geometry.base import Geometry, t_log_t
from hardbayes.geometry.stock import KeepsStock
from hardbayes.matrices import Floats

# Stands for minus the logarithm of zero: dearer than any penalty, yet finite in float32 arithmetic.
NEVER = 1e30


class Poisson(KeepsStock, Geometry):
    """``D(x, c) = sum_j x_j log(x_j / c_j) - x_j + c_j`` for counts and rates.

    A centre with a zero where the row has none is (as good as) infinitely dear. On data with zeros
    a cluster opened at one row would then attract nobody, so ``prior_weight="auto"`` is 10 there.
    """

    degree: int | None = 1
    nonnegative = True
    infinite_cost = 1e-20 * NEVER
    domain = "numbers >= 0"

    def generator(self, x: Floats) -> Floats:
        """Return ``x log x - x``."""
        return t_log_t(x) - x

    def gradient(self, c: Floats) -> Floats:
        """Return ``log c``, a huge negative number for zero."""
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(c), -NEVER)

    def affine(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms, and the sums: ``c log c - (c log c - c)`` is ``c``."""
        return self.gradient(centres), np.sum(centres, axis=1)

    def terms(self, x: Floats, c: Floats) -> Floats:
        """Return each column's divergence, huge where c is zero and x is not."""
        return np.minimum(kl_div(x, c), NEVER)

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return where entries are negative."""
        return values < 0

    def default_prior_weight(self, has_border: bool) -> float:
        """Ten pseudo-rows where zeros would make costs infinite."""
        return 10.0 if has_border else 0.0

    def empty_opening_costs(
        self, weights: Floats, prior_weight: float, prior_mean: Floats
    ) -> NDArray[np.float64]:
        """Return ``eta log(1 + w / eta) sum_j m_j``: all columns are alike but for their m."""
        costs: NDArray[np.float64] = prior_weight * np.log1p(weights / prior_weight)
        return costs * prior_mean.sum()

    def stocked(self, totals: Floats) -> Floats:
        """Return ``T log T``."""
        return t_log_t(np.maximum(totals, 0.0))  # but for rounding

    def kept(self, sizes: Floats, sums: Floats, stock: Floats) -> Floats:
        """Return ``sum_j T_j log(T_j / N) - T_j``."""
        return stock - sums * (np.log(np.where(sizes > 0, sizes, 1.0)) + 1.0)
