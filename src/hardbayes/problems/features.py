"""From a data matrix to rows whose features can be searched, and back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.features.tiles import Tiles
from hardbayes.geometry import geometry_for
from hardbayes.late_import import import_whole
from hardbayes.problems.frame import frame_for, power_of_two_scale
from hardbayes.problems.partition import check_size

if TYPE_CHECKING:
    from hardbayes.executors.features.memory import Allocator
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.pool import Pool
    from hardbayes.problems.frame import Frame

# A bound on the features where the user sets no cap: beyond it they are the rows themselves.
MOST_COMPONENTS = 64


@dataclass(frozen=True)
class FeatureProblem:
    """A data set in working coordinates, its weights divided so that none is large.

    Components are scaled like the rows but not shifted: a row far from zero needs features that
    reach there.
    """

    tiles: Tiles
    frame: Frame
    weight_unit: float  # working weight of a weight of one
    largest: float  # largest absolute value of a shifted entry, in the user's units
    pool: Pool

    @property
    def unit(self) -> float:
        """Objective in working units of an objective of one in the user's: a power of two."""
        return self.frame.unit * self.weight_unit

    @property
    def nothing(self) -> float:
        """Fit terms up to here are rounding."""
        return self.tiles.nothing * self.tiles.n_rows

    def cap(self, max_components: int | None) -> int:
        """Return the number of features at which a search stops opening more."""
        return min(max_components or MOST_COMPONENTS, self.tiles.n_rows)

    def allocator(self) -> Allocator:
        """Return what one start passes over the rows with."""
        # Compiled kernels come in with executors: numba is imported at the first fit.
        import_whole("hardbayes.executors.features.memory")
        from hardbayes.executors.features.memory import Allocator

        return Allocator(self.tiles, self.pool)

    @cached_property
    def mean(self) -> Floats:
        """Weighted mean (d,) of the rows in working coordinates."""
        return self.allocator().mean()

    def sampled(self, rng: np.random.RandomState) -> FeatureProblem:
        """Return the problem for as many rows, drawn at random, as one tile may hold."""
        return replace(self, tiles=self.tiles.sampled(rng))

    def components_to_user(self, components: Floats) -> Floats:
        """Return components (k, d) in the user's units, float64."""
        return components / self.frame.scale

    def check_penalty(self, penalty: float) -> None:
        """Raise where the penalty is lost beside the scale of the data."""
        check_size("component_penalty", penalty, self.unit, "squares of", self.largest)


def pose_features(matrix: Matrix, weights: Floats | None, pool: Pool) -> FeatureProblem:
    """Pose the problem for a checked matrix (float32 or float64; C-contiguous or canonical CSR)."""
    frame, largest = frame_for(matrix, geometry_for("squared_euclidean"))
    weights = np.ones(1) if weights is None else weights
    weight_unit = power_of_two_scale(float(weights.max()))
    geometry_for("squared_euclidean").check_scale(matrix.shape, weights, float(largest.max()))
    tiles = Tiles(matrix, frame, weights * weight_unit)
    return FeatureProblem(tiles, frame, weight_unit, float(largest.max()), pool)
