"""Squared Euclidean distance: the Gaussian of Kulis & Jordan 2012."""

import numpy as np
from scipy.spatial.distance import cdist

from hardbayes.geometry.base import Geometry
from hardbayes.matrices import Floats


class SquaredEuclidean(Geometry):
    """``D(x, c) = |x - c|^2``, from ``phi(t) = t^2``."""

    squared_distance = True
    translation_invariant = True
    degree = 2

    def generator(self, x: Floats) -> Floats:
        """Return the squares."""
        return x * x

    def gradient(self, c: Floats) -> Floats:
        """Return twice the entries."""
        return 2.0 * c

    def affine(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return ``2 c`` and ``|c|^2``, the same bits as by the definition."""
        return 2.0 * centres, np.sum(centres * centres, axis=1)

    def terms(self, x: Floats, c: Floats) -> Floats:
        """Return the squared differences."""
        return (x - c) ** 2

    def between(self, centres: Floats, others: Floats) -> Floats:
        """Return the squared distances of all pairs (k, l)."""
        distances: Floats = cdist(centres, others, "sqeuclidean")
        return distances
