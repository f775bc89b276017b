"""A fitted partition: everything needed to place new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.problem import FARTHEST, cluster_bound, executor_for, opening_prices
from hardbayes.executors.frame import Frame, power_of_two_scale
from hardbayes.matrices import is_sparse
from hardbayes.structure.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.executors.pool import Pool
    from hardbayes.geometry.base import Floats, Geometry
    from hardbayes.matrices import Matrix


@dataclass(frozen=True)
class FittedPartition:
    """Centres (k, d) in the working coordinates of ``frame``, and what they were fitted with."""

    partition: Partition
    frame: Frame
    centres: Floats

    @property
    def geometry(self) -> Geometry:
        """The divergence."""
        return self.partition.geometry

    def to_arrays(self) -> dict[str, Any]:
        """Return everything but the geometry, as arrays and numbers."""
        return {
            "working_penalty": self.partition.penalty,
            "working_prior_weight": self.partition.prior_weight,
            "working_mean": self.partition.prior_mean,
            "working_shift": self.frame.shift,
            "working_scale": self.frame.scale,
            "working_centres": self.centres,
        }

    @classmethod
    def from_arrays(
        cls, geometry: Geometry, max_clusters: int | None, arrays: dict[str, Any]
    ) -> FittedPartition:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        try:
            penalty, prior_weight, mean, shift, scale, centres = (
                arrays.pop(f"working_{name}")
                for name in (
                    "penalty", "prior_weight", "mean", "shift", "scale", "centres",
                )
            )  # fmt: skip
            d = centres.shape[1]
            sound = (
                not arrays
                and centres.ndim == 2
                and len(centres) > 0
                and mean.shape == shift.shape == (d,)
                and all(array.dtype == np.float64 for array in (centres, mean, shift))
                and all((np.abs(array) < FARTHEST).all() for array in (centres, mean))
                and np.isfinite(shift).all()
                and penalty >= 0
                and 0 <= prior_weight < np.inf
                and 2.0**-1000 < scale < 2.0**1000
            )
        except (KeyError, AttributeError, IndexError, TypeError) as error:
            raise ValueError(f"The saved model is incomplete: {error}") from None
        if not sound:
            raise ValueError("The saved model contradicts itself: its centres cannot be placed.")
        partition = Partition(
            geometry, penalty, prior_weight, mean, max_clusters or cluster_bound(d)
        )
        return cls(partition, Frame(shift, scale, geometry.degree or 0), centres)

    def place(self, matrix: Matrix, pool: Pool) -> Placement:
        """Give each row of a checked matrix to its cheapest centre."""
        if is_sparse(matrix) and self.frame.shift.any():
            return self._unshifted().place(matrix, pool)
        self._check_range(matrix)
        largest = np.ones(len(self.frame.shift))  # totals are not asked for
        executor = executor_for(matrix, self.geometry, self.frame, np.ones(1), largest, pool)
        if self.geometry.nonnegative:
            executor.see_columns(self.partition.prior_mean > 0)
        executor.start(self.centres)
        executor.assign(np.array([np.inf]), last=True)
        return Placement(executor, self)

    def _unshifted(self) -> FittedPartition:
        """Return the same model in a frame without a shift, which sparse rows could not take."""
        centres = self.frame.from_working(self.centres)
        scale = power_of_two_scale(float(np.abs(centres).max()))
        frame = Frame(np.zeros(len(self.frame.shift)), scale, self.frame.degree)
        partition = replace(
            self.partition,
            penalty=self.partition.penalty / self.frame.unit * frame.unit,
            prior_mean=frame.to_working(self.frame.from_working(self.partition.prior_mean)),
        )
        return FittedPartition(partition, frame, frame.to_working(centres))

    def _check_range(self, matrix: Matrix) -> None:
        """Raise where squared distances to new rows do not fit float64."""
        most = float(np.finfo(matrix.dtype).max)
        if not self.geometry.squared_distance or most * self.frame.scale <= FARTHEST:
            return
        values = matrix.data if is_sparse(matrix) else matrix
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        if largest * self.frame.scale > FARTHEST:
            raise ValueError(
                f"Squared distances to the fitted centres do not fit float64: X holds values near "
                f"{largest:g}. Remove rows with such values."
            )


@dataclass(frozen=True)
class Placement:
    """Rows placed at the centres of a fitted partition; costs in the user's units."""

    executor: MemoryExecutor
    model: FittedPartition

    def labels(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster."""
        return self.executor.cluster_numbers()

    def costs(self) -> Floats:
        """Return each row's cost at its own centre."""
        return self.executor.costs() / self.model.frame.unit

    def all_costs(self) -> Floats:
        """Return each row's cost at every centre (n, k)."""
        return self.executor.all_costs() / self.model.frame.unit

    def novel(self) -> NDArray[np.bool_]:
        """Return which rows would rather open a cluster of their own."""
        return self.executor.costs() > opening_prices(self.executor, self.model.partition)
