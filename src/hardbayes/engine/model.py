"""A fitted partition: everything needed to place new rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardbayes.engine.problem import executor_for, opening_prices
from hardbayes.executors.frame import Frame
from hardbayes.executors.memory import MemoryExecutor
from hardbayes.executors.pool import Pool
from hardbayes.geometry.base import Floats, Geometry
from hardbayes.structure.partition import Partition
from hardbayes.validation import Matrix


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

    def place(self, matrix: Matrix, pool: Pool) -> "Placement":
        """Give each row of a checked matrix to its cheapest centre."""
        executor = executor_for(matrix, self.geometry, self.frame, 1.0, None, pool)
        if not self.geometry.squared_distance:
            executor.see_columns(self.partition.prior_mean > 0)
        executor.start(self.centres)
        executor.assign(np.array([np.inf]), last=True)
        return Placement(executor, self)


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
