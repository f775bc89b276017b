"""Kullback-Leibler divergence of histograms: the multinomial of Jiang, Kulis & Jordan 2012."""

from hardbayes.geometry.poisson import Poisson


class KullbackLeibler(Poisson):
    """``D(x, c) = sum_j x_j log(x_j / c_j)`` for rows normalised to sum one.

    The Poisson's divergence: the rest of it cancels where both sides sum to one. A document of N
    words counts N times as much with ``sample_weight=counts.sum(axis=1)``: ``N KL(x / N || c)``.
    """

    degree = None
    row_unit = "sum"
