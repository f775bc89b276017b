"""Kullback-Leibler divergence of histograms: the multinomial of Jiang, Kulis & Jordan 2012."""

import numpy as np

from hardbayes.core.arrays import Matrix
from hardbayes.core.geometry.poisson import Poisson


class KullbackLeibler(Poisson):
    """``D(x, c) = sum_j x_j log(x_j / c_j)`` for rows normalised to sum one.

    This is the Poisson's divergence: its other terms cancel where both sides sum to one.

    Parameters
    ----------
    length_as_weight : bool, default=False
        Whether a row of N counts has weight N, as in the multinomial likelihood
        ``N KL(x / N || c)``. Equivalent to ``sample_weight=X.sum(axis=1)``; weights that are passed
        are multiplied by it.
    """

    degree = None
    row_unit = "sum"

    def __init__(self, length_as_weight: bool = False) -> None:
        self.length_as_weight = length_as_weight

    def unit_vectors(self, rows: Matrix) -> Matrix:
        """Return the square roots of the shares: their distances are Hellinger's."""
        return np.sqrt(rows)
