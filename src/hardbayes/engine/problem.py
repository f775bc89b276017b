"""From a data matrix to something the loop can run on, and back to the user's units."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from hardbayes.executors.frame import Frame, chunks, frame_for, framed_rows, row_constants
from hardbayes.executors.memory import MemoryExecutor
from hardbayes.executors.pool import Pool
from hardbayes.geometry.base import Floats, Geometry
from hardbayes.structure.partition import Partition

# A bound on k * d where the user sets no cap: four arrays of this many doubles are a gigabyte.
LARGEST_TABLE = 1 << 25
ALWAYS_ALLOWED = 1024
SMALLEST_PENALTY = 1e-290


@dataclass(frozen=True)
class Problem:
    """A data set in working coordinates, with its overall mean."""

    executor: MemoryExecutor
    frame: Frame
    geometry: Geometry

    @cached_property
    def mean(self) -> Floats:
        """Overall mean (d,) in working coordinates."""
        weight, total = self.executor.total()
        return total / weight

    def partition(
        self, penalty: float, prior_weight: float, max_clusters: int | None
    ) -> Partition:
        """Return the structure to fit; ``penalty`` in the user's units."""
        return Partition(
            self.geometry,
            penalty * self.frame.unit,
            prior_weight,
            self._prior_mean(prior_weight),
            max_clusters or cluster_bound(self.executor.n_columns),
        )

    def _prior_mean(self, prior_weight: float) -> Floats:
        # Where costs are distances and nothing is shrunk, nobody asks for the mean.
        if prior_weight or not self.geometry.squared_distance:
            return self.mean
        return np.zeros(self.executor.n_columns)

    def check_penalty(self, penalty: float) -> None:
        """Raise where the penalty is lost beside the scale of the data."""
        if penalty > 0 and penalty * self.frame.unit < SMALLEST_PENALTY:
            largest = 1.0 / self.frame.scale
            raise ValueError(
                f"The 'cluster_penalty' parameter, {penalty:g}, is too small beside values of X near "
                f"{largest:g} to be compared in float64. Remove such rows, or rescale X and the penalty."
            )

    def prices(self, partition: Partition) -> Floats:
        """Return what it costs each row to open a cluster: (n,), or (1,) where all pay the same."""
        return opening_prices(self.executor, partition)


def opening_prices(executor: MemoryExecutor, partition: Partition) -> Floats:
    """Return what it costs each row to open a cluster: (n,), or (1,) where all pay the same."""
    if not partition.prior_weight:
        return np.array([partition.penalty])
    weights = np.broadcast_to(executor.weights, executor.n_rows)
    prices = np.empty(executor.n_rows)
    for part in row_slices(executor):
        prices[part] = partition.prices(executor.dense_rows(part.start, part.stop), weights[part])
    return prices


def cluster_bound(n_columns: int) -> int:
    """Return the number of clusters at which a fit without a cap stops opening more."""
    return max(ALWAYS_ALLOWED, LARGEST_TABLE // n_columns)


def row_slices(executor: MemoryExecutor) -> list[slice]:
    """Return slices of rows small enough to be made dense."""
    return chunks(np.broadcast_to(0.0, (executor.n_rows, executor.n_columns)))


def executor_for(
    matrix: Floats | sparse.csr_array,
    geometry: Geometry,
    frame: Frame,
    largest: float,
    weights: Floats | None,
    pool: Pool,
) -> MemoryExecutor:
    """Return an executor over the rows of a matrix seen through a frame."""
    rows = framed_rows(matrix, geometry, frame)
    if weights is None:
        weights = np.ones(1)
    constants = row_constants(rows, geometry)
    return MemoryExecutor(rows, matrix.shape, geometry, weights, constants, largest, pool)


def pose(
    matrix: Floats | sparse.csr_array, geometry: Geometry, weights: Floats | None, pool: Pool
) -> Problem:
    """Pose the problem for a checked matrix (float32 or float64; C-contiguous or canonical CSR)."""
    frame, largest = frame_for(matrix, geometry)
    if geometry.squared_distance:
        check_squares(matrix, weights, frame)
    executor = executor_for(matrix, geometry, frame, largest, weights, pool)
    problem = Problem(executor, frame, geometry)
    if not geometry.squared_distance:
        executor.see_columns(problem.mean > 0)
    return problem


def check_squares(matrix: Floats | sparse.csr_array, weights: Floats | None, frame: Frame) -> None:
    """Raise where sums of squared distances, in the user's units, do not fit float64."""
    n, d = matrix.shape
    weight = n if weights is None else float(np.broadcast_to(weights, n).sum())
    log2_sum = np.log2(max(weight, 1.0)) + np.log2(4.0 * d) - 2.0 * np.log2(frame.scale)
    if not log2_sum < np.finfo(np.float64).maxexp - 1:
        raise ValueError(
            f"Squared distances between rows of X do not fit float64: X holds values near "
            f"{1.0 / frame.scale:g}. Divide X by a power of ten, or remove such rows."
        )
