"""From a data matrix to rows whose features can be searched, and what features cost.

Rows are in working coordinates; a solution goes back to the user's units. Each row has any set of
features, and is explained by the sum of their components.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, total_weight
from hardbayes.core.frame import Frame, check_size, frame_for, power_of_two_scale
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.pool import Pool, import_whole
from hardbayes.features.rows import FeatureRows

# The cap on the number of features where the user sets none.
MAX_COMPONENTS = 64
# A column is dependent if no more than this share of it is outside the span of those before it: the
# rounding of Cholesky's factorisation. `compiled.layout` has the same; it loads numba.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class FeatureProblem:
    """A data set in working coordinates, its weights divided so that none is large.

    Components are scaled like the rows but not shifted: features must reach rows far from zero.
    """

    rows: FeatureRows
    frame: Frame
    weight_unit: float  # working weight of a weight of one
    largest: float  # largest absolute value of a shifted entry, in the user's units

    @property
    def unit(self) -> float:
        """Objective in working units of an objective of one in the user's: a power of two."""
        return self.frame.unit * self.weight_unit

    def cap(self, max_components: int | None) -> int:
        """Return the number of features at which a search stops opening more."""
        return min(max_components or MAX_COMPONENTS, self.rows.describe().n_rows)

    def components_to_user(self, components: Floats) -> Floats:
        """Return components (k, d) in the user's units, float64."""
        return components / self.frame.scale

    @property
    def rounding(self) -> float:
        """What rounding may do to the objective, in the user's units."""
        about = self.rows.describe()
        nothing = np.zeros(about.n_columns)
        size = SquaredEuclidean().objective_rounding(
            total_weight(about.weights, about.n_rows), 0.0, nothing
        )
        return size / self.unit

    def check_penalty(self, penalty: float) -> None:
        """Raise if the penalty vanishes beside the scale of the data."""
        check_size("component_penalty", penalty, self.unit, "squares of", self.largest)


def pose_features(
    matrix: Matrix, weights: Floats | None, pool: Pool, n_fixed: int = 0
) -> FeatureProblem:
    """Pose the problem for a checked matrix (float32 or float64; C-contiguous or canonical CSR).

    ``n_fixed``: one where the first feature is a base that all rows have and keep.
    """
    geometry = SquaredEuclidean()
    frame, largest = frame_for(matrix, geometry)
    weights = np.ones(1) if weights is None else weights
    weight_unit = power_of_two_scale(float(weights.max()))
    weight = total_weight(weights, matrix.shape[0])
    geometry.check_scale(matrix.shape[1], weight, float(largest.max()))
    rows = feature_rows(matrix, frame, weights * weight_unit, pool, n_fixed)
    return FeatureProblem(rows, frame, weight_unit, float(largest.max()))


def feature_rows(
    matrix: Matrix, frame: Frame, weights: Floats, pool: Pool, n_fixed: int = 0
) -> FeatureRows:
    """Return the rows of a matrix in the coordinates of a frame; weights (n,) or (1,)."""
    # With kernels comes numba: not before the first fit.
    import_whole("hardbayes.features.memory")
    from hardbayes.features.memory import MemoryFeatureRows
    from hardbayes.features.tiles import Tiles

    return MemoryFeatureRows(Tiles(matrix, frame.shift, frame.scale, weights), pool, n_fixed)


@dataclass(frozen=True)
class FeatureAllocation:
    """``sum_i w_i |x_i - z_i A|^2 + penalty * K`` over K, binary rows z_i and components A.

    Broderick, Kulis & Jordan 2013, eq. 6, with at most ``max_components`` features (eq. 15). With a
    penalty of zero it is their K-features (eq. 14). All numbers are in working coordinates.
    """

    penalty: float
    max_components: int

    def total(self, fit: float, n_components: int) -> float:
        """Return the objective."""
        return fit + self.penalty * n_components


def independent_columns(gram: Floats) -> NDArray[np.bool_]:
    """Return which columns of Z (k,) are outside the span of those before them, from Z'WZ."""
    left = gram.astype(np.float64)
    kept = np.zeros(len(gram), bool)
    for k in range(len(gram)):
        if left[k, k] > DEPENDENT * gram[k, k]:
            kept[k] = True
            left = left - np.outer(left[:, k], left[k]) / left[k, k]
    return kept


def independent_least_squares(
    components: Floats, gram: Floats, correction: Floats
) -> tuple[NDArray[np.bool_], Floats]:
    """Return which columns of Z (k,) are independent, and least-squares components of those.

    ``gram`` (k, k) = Z'WZ; ``correction`` (k, d) = Z'WR, R being the residuals at ``components``.
    """
    kept = independent_columns(gram)
    target = correction[kept] + gram[kept] @ components
    return kept, np.linalg.solve(gram[np.ix_(kept, kept)], target)
