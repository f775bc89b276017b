"""What a divergence is: one convex function of a number, and its slope."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


class Geometry(ABC):
    """A separable Bregman divergence.

    ``D(x, c) = sum_j phi(x_j) - phi(c_j) - phi'(c_j) (x_j - c_j)``

    with a strictly convex ``phi``. It is affine in the row once ``sum phi(x_j)`` is set aside, and
    the mean minimises the sum of divergences to a centre: that is all the engine needs.
    A subclass gives `generator` (phi) and `gradient` (phi'), elementwise.
    """

    #: Costs are squared Euclidean distances: bounds, shifts and rescaling apply.
    squared_distance: bool = False
    #: Rows are divided by their sums before anything else.
    normalise_rows: bool = False
    #: Entries are at least zero; a column of zeros then says nothing about any cluster.
    nonnegative: bool = False
    #: Costs from here on stand for infinity.
    infinite_cost: float = np.inf
    #: What entries must be, in words; None where every finite number will do.
    domain: str | None = None

    @abstractmethod
    def generator(self, x: Floats) -> Floats:
        """Return phi of each entry. ``phi(0)`` must be 0 for sparse rows to stay sparse."""

    @abstractmethod
    def gradient(self, c: Floats) -> Floats:
        """Return phi' of each entry, finite for every centre that can occur."""

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return where entries lie outside the domain."""
        return np.zeros(values.shape, bool)

    def default_prior_weight(self, has_zeros: bool) -> float:
        """Pseudo-rows that each cluster carries under ``prior_weight="auto"``."""
        return 0.0

    def affine(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return ``theta`` (k, d), ``offset`` (k,): cost = constant_i + offset - <x, theta>."""
        theta = self.gradient(centres)
        return theta, np.sum(centres * theta - self.generator(centres), axis=1)

    def divergence(self, x: Floats, c: Floats) -> Floats:
        """Return ``D(x, c)`` of rows (..., d) by the definition."""
        theta = self.gradient(c)
        return np.sum(self.generator(x) - self.generator(c) - theta * (x - c), axis=-1)

    def potential(self, centres: Floats) -> Floats:
        """Return ``sum_j phi(c_j)`` of each centre."""
        return np.sum(self.generator(centres), axis=-1)

    def between(self, centres: Floats, others: Floats) -> Floats:
        """Return ``D(c, c')`` for all pairs of centres (k, l), quickly rather than exactly."""
        theta, offset = self.affine(others)
        products = np.einsum("id,jd->ij", centres, theta)  # not BLAS: the same bits anywhere
        return self.potential(centres)[:, np.newaxis] + offset - products
