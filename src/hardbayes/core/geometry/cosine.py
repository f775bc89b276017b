"""Cosine distance of directions: the von Mises-Fisher limit."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.core.arrays import Floats, Formula, Matrix
from hardbayes.core.geometry.base import Geometry


class Cosine(Geometry):
    """``D(x, c) = |x| - <x, c / |c|>``: ``1 - cos`` for rows divided by their lengths.

    It is the Bregman divergence of ``phi(c) = |c|``, which is convex but not strictly convex: only
    the direction of a centre matters. The mean of the rows of a cluster has the direction that
    minimises their cost, and ``N phi(mu)`` is the length of their total.
    """

    row_unit = "length"
    formula = Formula.LENGTH

    def potential(self, centres: Floats) -> Floats:
        """Return the lengths."""
        return np.sqrt(np.einsum("...d,...d->...", centres, centres))

    def affine(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return the directions, and offsets of zero; a centre at the origin has direction zero."""
        return self.directions(centres), np.zeros(len(centres))

    def divergence(self, x: Floats, c: Floats) -> Floats:
        """Return ``|x| |x / |x| - c / |c||^2 / 2``, which does not cancel for close directions."""
        lengths, others = self.potential(x), self.potential(c)
        gap = self.directions(x) - self.directions(c)
        apart = lengths * np.einsum("...d,...d->...", gap, gap) / 2.0
        return np.where(others > 0, apart, lengths)

    def directions(self, points: Floats) -> Floats:
        """Return points (..., d) divided by their lengths; the origin is unchanged."""
        lengths = self.potential(points)
        return points / np.where(lengths > 0, lengths, 1.0)[..., np.newaxis]

    def unit_vectors(self, rows: Matrix) -> Matrix:
        """Return the rows, which have length one."""
        return rows

    def shown(self, centres: Floats) -> Floats:
        """Return centres of length one."""
        return self.directions(centres)

    def sparse_potential(self, rows: csr_array) -> NDArray[np.float64]:
        """Return the lengths of sparse rows (n,)."""
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())

    def opening_costs(
        self, rows: csr_array, weights: Floats, prior_weight: float, prior_mean: Floats
    ) -> NDArray[np.float64]:
        """Return ``w |x| + eta |m| - |w x + eta m|`` of each sparse row (n,)."""
        lengths, length = weights * self.sparse_potential(rows), float(self.potential(prior_mean))
        products = weights * (rows @ prior_mean)
        prior = prior_weight * length
        square = lengths**2 + 2.0 * prior_weight * products + prior**2
        # The difference of squares over the sum of their roots: the roots' difference cancels.
        gap = 2.0 * (lengths * prior - prior_weight * products)
        return np.maximum(gap, 0.0) / (lengths + prior + np.sqrt(np.maximum(square, 0.0)))
