"""Divergences for which rows can be priced by their entries alone."""

from abc import ABC, abstractmethod

from hardbayes.matrices import Floats


class KeepsStock(ABC):
    """A geometry whose ``N phi(T / N)`` follows from N, ``sum_j T_j`` and ``sum_j f(T_j)``.

    A sparse row changes such sums in its own columns only. The last is called the stock.
    """

    @abstractmethod
    def stocked(self, totals: Floats) -> Floats:
        """Return ``f`` of each entry of totals T."""

    @abstractmethod
    def kept(self, sizes: Floats, sums: Floats, stock: Floats) -> Floats:
        """Return ``N phi(T / N)`` of clusters of weights N with these two sums, elementwise."""
