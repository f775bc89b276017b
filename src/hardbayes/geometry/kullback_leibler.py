"""Kullback-Leibler divergence of histograms: the multinomial of Jiang, Kulis & Jordan 2012."""

from hardbayes.geometry.poisson import Poisson


class KullbackLeibler(Poisson):
    """``D(x, c) = sum_j x_j log(x_j / c_j)`` for rows normalised to sum one.

    The Poisson's divergence: the rest of it cancels where both sides sum to one.

    Parameters
    ----------
    length_as_weight : bool, default=False
        Whether a row of N counts weighs N, as the multinomial likelihood has it:
        ``N KL(x / N || c)``. The same as ``sample_weight=X.sum(axis=1)``; weights that are passed
        multiply it.
    """

    degree = None
    row_unit = "sum"

    def __init__(self, length_as_weight: bool = False) -> None:
        self.length_as_weight = length_as_weight
