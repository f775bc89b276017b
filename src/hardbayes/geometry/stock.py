"""Divergences for which sparse rows can be priced by their entries alone."""

from abc import ABC, abstractmethod

from hardbayes.geometry.base import Floats


class KeepsStock(ABC):
    """A geometry whose ``N phi(T / N)`` follows from a few sums over columns, the stock.

    A sparse row changes such sums in its own columns only.
    """

    @abstractmethod
    def stock(self, totals: Floats) -> Floats:
        """Return the sums (k, s) of clusters with totals T (k, d)."""

    @abstractmethod
    def stock_change(self, totals: Floats, added: Floats) -> Floats:
        """Return by how much the stock (k, s) changes with ``added`` (m,) to ``totals`` (k, m)."""

    @abstractmethod
    def kept(self, sizes: Floats, stock: Floats) -> Floats:
        """Return ``N phi(T / N)`` of clusters of weights N (k,) with this stock (k, s)."""
