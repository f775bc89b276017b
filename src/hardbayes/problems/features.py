"""From a data matrix to rows whose features can be searched, and back to the user's units."""

from dataclasses import dataclass

import numpy as np

from hardbayes.executors.features.protocol import FeatureRows
from hardbayes.geometry import geometry_for
from hardbayes.late_import import import_whole
from hardbayes.matrices import Floats, Matrix
from hardbayes.pool import Pool
from hardbayes.problems.frame import Frame, frame_for, power_of_two_scale
from hardbayes.problems.partition import check_size

# The cap on the number of features where the user sets none.
MOST_COMPONENTS = 64


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
        return min(max_components or MOST_COMPONENTS, self.rows.describe().n_rows)

    def components_to_user(self, components: Floats) -> Floats:
        """Return components (k, d) in the user's units, float64."""
        return components / self.frame.scale

    def check_penalty(self, penalty: float) -> None:
        """Raise if the penalty vanishes beside the scale of the data."""
        check_size("component_penalty", penalty, self.unit, "squares of", self.largest)


def pose_features(matrix: Matrix, weights: Floats | None, pool: Pool) -> FeatureProblem:
    """Pose the problem for a checked matrix (float32 or float64; C-contiguous or canonical CSR)."""
    geometry = geometry_for("squared_euclidean")
    frame, largest = frame_for(matrix, geometry)
    weights = np.ones(1) if weights is None else weights
    weight_unit = power_of_two_scale(float(weights.max()))
    geometry.check_scale(matrix.shape, weights, float(largest.max()))
    rows = feature_rows(matrix, frame, weights * weight_unit, pool)
    return FeatureProblem(rows, frame, weight_unit, float(largest.max()))


def feature_rows(matrix: Matrix, frame: Frame, weights: Floats, pool: Pool) -> FeatureRows:
    """Return the rows of a matrix in the coordinates of a frame; weights (n,) or (1,)."""
    # With kernels comes numba: not before the first fit.
    import_whole("hardbayes.executors.features.memory")
    from hardbayes.executors.features.memory import MemoryFeatureRows
    from hardbayes.executors.features.tiles import Tiles

    return MemoryFeatureRows(Tiles(matrix, frame.shift, frame.scale, weights), pool)
