"""Divergences for which sparse rows can be priced by their entries alone."""

from abc import ABC, abstractmethod

import numpy as np

from hardbayes.geometry.base import Floats


class KeepsStock(ABC):
    """A geometry whose ``N phi(T / N)`` follows from a few sums over columns, the stock.

    A sparse row changes such sums in its own columns only.
    """

    @abstractmethod
    def stocked(self, totals: Floats) -> list[Floats]:
        """Return what each entry of totals T adds to each sum: arrays shaped as T."""

    @abstractmethod
    def kept(self, sizes: Floats, stock: list[Floats]) -> Floats:
        """Return ``N phi(T / N)`` of clusters of weights N with these sums, elementwise."""


def t_log_t(t: Floats) -> Floats:
    """Return ``t log t``, 0 at zero; several times as fast as SciPy's for numbers >= 0."""
    return t * np.log(np.maximum(t, np.finfo(np.float64).tiny))
