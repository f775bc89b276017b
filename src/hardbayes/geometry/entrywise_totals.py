"""Divergences whose cluster potentials are updated in the columns of a row's entries alone."""

from abc import ABC, abstractmethod

from hardbayes.matrices import Floats


class EntrywiseTotals(ABC):
    """A geometry whose ``N phi(T / N)`` is a function of N, ``sum_j T_j`` and ``sum_j f(T_j)``.

    N is the weight of a cluster and T its total (d,). A sparse row changes both sums in its own
    columns only, so the potential of a cluster with or without the row costs as many operations as
    the row has entries.
    """

    @abstractmethod
    def entry_terms(self, totals: Floats) -> Floats:
        """Return ``f(T_j)`` of each entry of totals, elementwise."""

    @abstractmethod
    def cluster_potential(self, weights: Floats, sums: Floats, term_sums: Floats) -> Floats:
        """Return ``N phi(T / N)`` from N, ``sum_j T_j`` and ``sum_j f(T_j)``, elementwise."""
