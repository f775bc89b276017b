"""From a data matrix to something the loop can run on, and back to the user's units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.late_import import import_whole
from hardbayes.matrices import chunks, is_sparse, total_weight
from hardbayes.problems.frame import Frame, frame_for, power_of_two_scale
from hardbayes.structure.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.pool import Pool

# A bound on k * d where the user sets no cap: four arrays of this many doubles are a gigabyte.
LARGEST_TABLE = 1 << 25
ALWAYS_ALLOWED = 64
SMALLEST_PENALTY = 1e-290
FARTHEST = 1e140  # in working coordinates; its square, over any number of columns, is a number


@dataclass(frozen=True)
class Problem:
    """A data set in working coordinates.

    Its weights are divided by a power of two so that none is large.
    """

    executor: MemoryExecutor
    frame: Frame
    geometry: Geometry
    weight_unit: float  # working weight of a weight of one
    largest: float  # largest absolute value of a shifted entry, in the user's units

    @property
    def unit(self) -> float:
        """Objective in working units of an objective of one in the user's: a power of two."""
        return self.frame.unit * self.weight_unit

    @property
    def mean(self) -> Floats:
        """Overall mean (d,) in working coordinates."""
        return self.executor.mean

    @property
    def rounding(self) -> float:
        """What rounding may do to the objective, in the user's units.

        Squared distances are summed as they are, but those of equal points may be squares of a
        rounding error; other costs are what is left of ``phi(x) + offset - <x, theta>``, whose size
        the overall mean's theta tells.
        """
        executor = self.executor
        if self.geometry.squared_distance:
            largest = distance_rounding(executor.n_columns)
            return largest * total_weight(executor.weights, executor.n_rows) / self.unit
        weights = executor.weights_of(slice(None))
        theta, offset = self.geometry.affine(self.mean[np.newaxis])
        at_mean = float(np.abs(offset[0]) + np.abs(theta[0] * self.mean).sum())
        size = float(weights @ np.abs(executor.constants)) + float(weights.sum()) * at_mean
        return (executor.n_columns + 8) * float(np.finfo(np.float64).eps) * size / self.unit

    def partition(self, penalty: float, prior_weight: float, max_clusters: int | None) -> Partition:
        """Return the structure to fit; ``penalty`` and ``prior_weight`` in the user's units."""
        return Partition(
            self.geometry,
            penalty * self.unit,
            prior_weight * self.weight_unit,
            self._prior_mean(prior_weight),
            max_clusters or cluster_bound(self.executor.n_columns),
        )

    def _prior_mean(self, prior_weight: float) -> Floats:
        # Where costs are distances and nothing is shrunk, nobody asks for the mean.
        if prior_weight or not self.geometry.squared_distance:
            return self.mean
        return np.zeros(self.executor.n_columns)

    def centres_in_frame(self, centres: Floats) -> Floats:
        """Return points (k, d) given in the user's coordinates as the rows are seen here."""
        centres = self.frame.to_working(centres)
        if not np.abs(centres).max() < FARTHEST:
            raise ValueError(
                "The 'init' parameter holds centres so far from the rows of X that squared "
                "distances do not fit float64. Remove them."
            )
        if self.geometry.row_unit is not None:
            centres = centres / self.geometry.row_sizes(centres)[:, np.newaxis]
        return centres

    def weights_of(self, labels: NDArray[np.int32], n_clusters: int) -> Floats:
        """Return the weight (k,) of each cluster, in the user's units."""
        weights = self.executor.weights / self.weight_unit
        if len(weights) == 1:
            return np.bincount(labels, minlength=n_clusters) * weights
        return np.asarray(np.bincount(labels, weights, n_clusters), np.float64)

    def check_penalty(self, penalty: float) -> None:
        """Raise where the penalty is lost beside the scale of the data."""
        check_size("cluster_penalty", penalty, self.unit, "distances between", self.largest)


def distance_rounding(n_columns: int) -> float:
    """Return what rounding may make of the squared distance of equal points, in working units."""
    return n_columns * (4.0 * float(np.finfo(np.float64).eps)) ** 2


def opening_prices(
    executor: MemoryExecutor, partition: Partition, weights: Floats | None = None
) -> Floats:
    """Return what it costs each row to open a cluster: (n,), or (1,) where all pay the same.

    ``weights`` (n,) or (1,) replace those of the rows. With a prior no less than what rounding may
    make of the cost of rows where they should cost nothing: equal rows stay together.
    """
    if not partition.prior_weight:
        return np.array([partition.penalty])
    weights = np.broadcast_to(executor.weights if weights is None else weights, executor.n_rows)
    prices = np.empty(executor.n_rows)
    for part in chunks(executor.n_rows, executor.entries_per_row):
        rows = executor.rows_at(part)
        if is_sparse(rows):
            prices[part] = partition.penalty + partition.geometry.opening_costs(
                rows, weights[part], partition.prior_weight, partition.prior_mean
            )
        else:
            prices[part] = partition.prices(rows, weights[part])
        rounding = weights[part] * cost_rounding(executor, partition, part, rows)
        np.maximum(prices[part], rounding, out=prices[part])
    return prices


def cost_rounding(
    executor: MemoryExecutor, partition: Partition, part: slice, rows: Matrix
) -> float | Floats:
    """Return what rounding may make of the costs of these rows where they should cost nothing."""
    geometry, n_columns = partition.geometry, executor.n_columns
    if not geometry.squared_distance:
        sizes = np.abs(np.broadcast_to(executor.constants, executor.n_rows)[part])
    elif is_sparse(rows):
        sizes = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    else:
        return distance_rounding(n_columns)
    # What is left of larger numbers: phi(x) + offset - <x, theta>.
    theta, offset = geometry.affine(partition.prior_mean[np.newaxis])
    sizes = sizes + np.abs(offset) + np.abs(rows @ theta[0])
    return (n_columns + 8) * float(np.finfo(np.float64).eps) * sizes


def cluster_bound(n_columns: int) -> int:
    """Return the number of clusters at which a fit without a cap stops opening more."""
    return max(ALWAYS_ALLOWED, LARGEST_TABLE // n_columns)


def executor_for(
    matrix: Matrix,
    geometry: Geometry,
    frame: Frame,
    weights: Floats,
    largest: Floats,
    pool: Pool,
) -> MemoryExecutor:
    """Return an executor over the rows of a matrix seen through a frame.

    ``largest`` (d,): bounds on the absolute values of each column once shifted.
    """
    # Compiled kernels come in with executors: numba is imported at the first fit, and no earlier.
    import_whole("hardbayes.executors.memory")
    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.executors.reading import framed_rows, row_constants

    rows = framed_rows(matrix, geometry, frame)
    constants = row_constants(rows, geometry, matrix.shape[1])
    bounds = np.ones(len(largest)) if geometry.row_unit is not None else largest * frame.scale
    return MemoryExecutor(rows, matrix.shape, geometry, weights, constants, bounds, pool)


def pose(matrix: Matrix, geometry: Geometry, weights: Floats | None, pool: Pool) -> Problem:
    """Pose the problem for a checked matrix (float32 or float64; C-contiguous or canonical CSR)."""
    frame, largest = frame_for(matrix, geometry)
    weights = np.ones(1) if weights is None else weights
    weight_unit = power_of_two_scale(float(weights.max()))
    if geometry.squared_distance:
        check_squares(matrix, weights, float(largest.max()))
    executor = executor_for(matrix, geometry, frame, weights * weight_unit, largest, pool)
    problem = Problem(executor, frame, geometry, weight_unit, float(largest.max()))
    if geometry.nonnegative:
        executor.see_columns(problem.mean > 0)
    return problem


def check_squares(matrix: Matrix, weights: Floats, largest: float) -> None:
    """Raise where sums of squared distances, in the user's units, do not fit float64."""
    if largest == 0:
        return
    n, d = matrix.shape
    log2_squares = math.log2(4.0 * d) + 2.0 * math.log2(largest)
    log2_weight = math.log2(total_weight(weights, n))
    limits = np.finfo(np.float64)
    if not limits.minexp < log2_squares + min(log2_weight, 0.0) or not log2_squares < limits.maxexp:
        raise ValueError(
            f"Squared distances between rows of X do not fit float64: X holds values near "
            f"{largest:g}. Multiply X by a suitable power of ten, or remove such rows."
        )
    if not log2_squares + log2_weight < limits.maxexp - 1:
        raise ValueError(
            f"The 'sample_weight' parameter is too large: with values of X near {largest:g} the "
            "objective would not fit float64. Scale the weights and cluster_penalty down."
        )


def check_size(name: str, penalty: float, unit: float, squares: str, largest: float) -> None:
    """Raise where a penalty is lost beside what it is compared with."""
    if penalty > 0 and penalty * unit < SMALLEST_PENALTY:
        raise ValueError(
            f"The '{name}' parameter, {penalty:g}, is too small to be compared in "
            f"float64 with {squares} values near {largest:g}. "
            "Remove rows with such values, or rescale X and the penalty."
        )


def check_reach(matrix: Matrix, frame: Frame, squares: str) -> None:
    """Raise where squares of new rows, seen through a frame, do not fit float64."""
    values = matrix.data if is_sparse(matrix) else matrix
    if float(np.finfo(values.dtype).max) * frame.scale <= FARTHEST:
        return  # nothing of this type is too far
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest * frame.scale > FARTHEST:
        raise ValueError(
            f"{squares} do not fit float64: X holds values near {largest:g}. "
            "Remove rows with such values."
        )
