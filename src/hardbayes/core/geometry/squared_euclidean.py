"""Squared Euclidean distance: the Gaussian of Kulis & Jordan 2012."""

import math
from collections.abc import Iterable

import numpy as np
from scipy.spatial.distance import cdist

from hardbayes.core.arrays import Floats, Layout, Matrix, is_sparse
from hardbayes.core.geometry.base import EPSILON, Geometry

# Bound on entries in working coordinates: their squares, over any number of columns, are finite.
FARTHEST = 1e140


def distance_rounding(n_columns: int) -> float:
    """Return a bound on the computed squared distance of equal points, in working units."""
    return n_columns * (4.0 * EPSILON) ** 2


class SquaredEuclidean(Geometry):
    """``D(x, c) = |x - c|^2``, from ``phi(t) = t^2``."""

    distance_costs = True
    rotation_invariant = True
    needs_mean = False
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
        return cdist(centres, others, "sqeuclidean")

    def layout(self, sparse: bool, dtype: np.dtype) -> Layout:
        """Return how passes over rows of this dtype read centres.

        A distance in float32 tells most centres apart, in half the time. Other costs are
        differences of larger numbers.
        """
        return Layout(dtype if sparse else np.dtype(np.float32), sparse, "distance", None)

    def exact_form(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return a copy of the centres and ``|c|^2``: distances are taken from centres."""
        return centres.copy(), np.sum(centres * centres, axis=1)

    def constant_potential(self, rows: Matrix) -> Floats | None:
        """Return None: a distance taken directly has no constant."""
        return None

    def row_constants(self, blocks: Iterable[Matrix]) -> Floats:
        """Return one zero."""
        return np.zeros(1)

    def as_distances(self, costs: Floats) -> Floats:
        """Return the square roots."""
        return np.sqrt(costs)

    def equality_rounding(self, n_columns: int) -> float:
        """Return a bound on the computed squared distance of equal dense points."""
        return distance_rounding(n_columns)

    def cost_rounding(
        self, n_columns: int, constants: Floats, rows: Matrix, mean: Floats
    ) -> float | Floats:
        """Return one bound for dense rows; sparse ones have their distances from ``|x|^2``."""
        if not is_sparse(rows):
            return distance_rounding(n_columns)
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        return super().cost_rounding(n_columns, squares, rows, mean)

    def objective_rounding(self, weight: float, constants_size: float, mean: Floats) -> float:
        """Return the bound for a row times the weight of all rows."""
        return distance_rounding(len(mean)) * weight

    def check_scale(self, n_columns: int, weight: float, largest: float) -> None:
        """Raise ValueError where sums of squared distances do not fit float64."""
        if largest == 0:
            return
        log2_squares = math.log2(4.0 * n_columns) + 2.0 * math.log2(largest)
        log2_weight = math.log2(weight)
        limits = np.finfo(np.float64)
        smallest = log2_squares + min(log2_weight, 0.0)
        if not limits.minexp < smallest or not log2_squares < limits.maxexp:
            raise ValueError(
                f"Squared distances between rows of X do not fit float64: X holds values near "
                f"{largest:g}. Multiply X by a suitable power of ten, or remove such rows."
            )
        if not log2_squares + log2_weight < limits.maxexp - 1:
            raise ValueError(
                f"The 'sample_weight' parameter is too large: with values of X near {largest:g} "
                "the objective would not fit float64. Scale the weights and cluster_penalty down."
            )

    def check_reach(self, matrix: Matrix, scale: float, squares: str) -> None:
        """Raise ValueError where squares of new rows, multiplied by ``scale``, do not fit float64.

        ``squares`` begins the sentence, for example "Squared residuals".
        """
        values = matrix.data if is_sparse(matrix) else matrix
        if float(np.finfo(values.dtype).max) * scale <= FARTHEST:
            return  # no value of this type is too large
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        if largest * scale > FARTHEST:
            raise ValueError(
                f"{squares} do not fit float64: X holds values near {largest:g}. "
                "Remove rows with such values."
            )
