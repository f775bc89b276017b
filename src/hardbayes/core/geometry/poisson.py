"""Generalised I-divergence of counts: the Poisson of Jiang, Kulis & Jordan 2012."""

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Formula, Matrix, chunks, is_sparse, row_sums
from hardbayes.core.geometry.base import Geometry, t_log_t

# Stands for minus the logarithm of zero: above any penalty, yet finite in float32 arithmetic.
NEVER = 1e30


# Of the sum of a row: beside a centre of zero less costs too little to stand for infinity, and the
# sum of the row loses it.
NEGLIGIBLE = 1e-20


def without_negligible(matrix: Matrix) -> Matrix:
    """Return rows with zeros in place of positive entries far below the sum of their row.

    The matrix itself where it has none.
    """
    with np.errstate(over="ignore"):
        limits = NEGLIGIBLE * np.minimum(row_sums(matrix), np.finfo(np.float64).max)
    if is_sparse(matrix):
        small = (matrix.data > 0) & (matrix.data < np.repeat(limits, np.diff(matrix.indptr)))
        if not small.any():
            return matrix
        kept = matrix.copy()
        kept.data[small] = 0.0
        kept.eliminate_zeros()
        return kept
    kept = matrix
    for part in chunks(*matrix.shape):
        small = (matrix[part] > 0) & (matrix[part] < limits[part, np.newaxis])
        if small.any():
            kept = matrix.copy() if kept is matrix else kept
            kept[part][small] = 0.0
    return kept


class Poisson(Geometry):
    """``D(x, c) = sum_j x_j log(x_j / c_j) - x_j + c_j`` for counts and rates.

    The cost is (practically) infinite at a centre with a zero where the row has none. On data with
    zeros no other row would join a cluster opened at one row, so ``prior_weight="auto"`` is 10.
    Entries below 1e-20 of the sum of their row count as zeros.
    """

    degree: int | None = 1
    formula = Formula.T_LOG_T
    nonnegative = True
    infinite_cost = 1e-20 * NEVER
    domain = "numbers >= 0"

    def statistic(self, matrix: Matrix) -> Matrix:
        """Return the rows with zeros in place of entries that nothing could tell from them."""
        return without_negligible(matrix)

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
        # Several times as fast as SciPy's kl_div.
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(x / c)
        logs = np.where(x > 0, logs, 0.0)
        return np.minimum(x * logs - x + c, NEVER)

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the negative entries."""
        return values < 0

    def default_prior_weight(self, has_border: bool) -> float:
        """Return ten pseudo-rows where zeros would make costs infinite."""
        return 10.0 if has_border else 0.0

    def empty_opening_costs(
        self, weights: Floats, prior_weight: float, prior_mean: Floats
    ) -> NDArray[np.float64]:
        """Return ``eta log(1 + w / eta) sum_j m_j``: each column is proportional to its mean."""
        costs = prior_weight * np.log1p(weights / prior_weight)
        return costs * prior_mean.sum()
