"""Fitted features: everything needed to find those of new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hardbayes.engine.problem import FARTHEST, check_reach
from hardbayes.executors.frame import Frame
from hardbayes.executors.tiles import Tiles
from hardbayes.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.late_import import import_whole
from hardbayes.matrices import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.pool import Pool
    from hardbayes.geometry.base import Floats, Geometry
    from hardbayes.matrices import Matrix


@dataclass(frozen=True)
class FittedFeatures:
    """Components (k, d) in float64, scaled as by ``frame`` and not shifted."""

    geometry: ClassVar[Geometry] = SquaredEuclidean()
    frame: Frame
    components: Floats

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers."""
        return {
            "working_shift": self.frame.shift,
            "working_scale": self.frame.scale,
            "working_components": self.components,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> FittedFeatures:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        try:
            shift, scale, components = (
                arrays.pop(f"working_{name}") for name in ("shift", "scale", "components")
            )
            sound = (
                not arrays
                and components.ndim == 2
                and shift.shape == components.shape[1:]
                and components.dtype == shift.dtype == np.float64
                and (np.abs(components) < FARTHEST).all()
                and np.isfinite(shift).all()
                and 2.0**-1000 < scale < 2.0**1000
            )
        except (KeyError, AttributeError, TypeError) as error:
            raise ValueError(f"The saved model is incomplete: {error}") from None
        if not sound:
            raise ValueError("The saved model contradicts itself: its components cannot be used.")
        return cls(Frame(shift, scale, 2), np.ascontiguousarray(components))

    def allocate(self, matrix: Matrix, pool: Pool) -> tuple[NDArray[np.bool_], Floats]:
        """Return the features (n, k) of each row, and its squared residual (n,) with them."""
        import_whole("hardbayes.executors.allocator")
        from hardbayes.executors.allocator import Allocator

        check_reach(matrix, self.frame, "Squared residuals")
        frame = self.frame
        if is_sparse(matrix):  # components are not shifted, so rows need not be either
            frame = Frame(np.zeros(len(frame.shift)), frame.scale, 2)
        membership = np.zeros((matrix.shape[0], len(self.components)), np.uint8)
        rows = Allocator(Tiles(matrix, frame, np.ones(1)), pool)
        sums = rows.sweep(self.components, membership)
        return membership.view(np.bool_), sums.costs / self.frame.unit

    def rebuild(self, membership: NDArray[np.bool_]) -> Floats:
        """Return the rows (n, d) that have these features (n, k), in the user's units."""
        return membership.astype(np.float64) @ self.components / self.frame.scale
