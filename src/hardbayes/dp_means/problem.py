"""From a data matrix to rows and clusters that a fit can run on, and back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, chunks, is_sparse, total_weight
from hardbayes.core.frame import (
    SMALLEST_PENALTY,
    Frame,
    check_size,
    cluster_bound,
    frame_for,
    power_of_two_scale,
)
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import FARTHEST
from hardbayes.core.pool import Pool, import_whole
from hardbayes.dp_means.objective import Partition

if TYPE_CHECKING:
    from hardbayes.dp_means.local_rows import LocalRows
    from hardbayes.dp_means.memory import MemoryRows
    from hardbayes.dp_means.rows import Rows
    from hardbayes.dp_means.state import PartitionState


# What exact sums keep of a row, by the largest entry, the rows and their weight: see `totals`.
FINEST = 2.0**-102


@dataclass(frozen=True)
class Problem:
    """A data set in working coordinates.

    Its weights are divided by a power of two so that none is large.
    """

    rows: Rows
    frame: Frame
    geometry: Geometry
    weight_unit: float  # working weight of a weight of one
    largest: float  # largest absolute value of a shifted entry, in the user's units

    @property
    def unit(self) -> float:
        """Objective in working units of an objective of one in the user's: a power of two."""
        return self.frame.unit * self.weight_unit

    @cached_property
    def mean(self) -> Floats:
        """Overall mean (d,) in working coordinates."""
        return overall_mean(self.rows)

    @property
    def rounding(self) -> float:
        """What rounding may do to the objective, in the user's units."""
        rows = self.rows
        mean = self.mean if self.geometry.needs_mean else np.zeros(rows.n_columns)
        size = self.geometry.objective_rounding(rows.total_weight, rows.constants_size, mean)
        return size / self.unit

    def partition(self, penalty: float, prior_weight: float, max_clusters: int | None) -> Partition:
        """Return the structure to fit; ``penalty`` and ``prior_weight`` in the user's units."""
        needs_mean = prior_weight or self.geometry.needs_mean
        return Partition(
            self.geometry,
            penalty * self.unit,
            prior_weight * self.weight_unit,
            self.mean if needs_mean else np.zeros(self.rows.n_columns),
            max_clusters or cluster_bound(self.rows.n_columns),
        )

    def state(self, partition: Partition) -> PartitionState:
        """Return the state of a fit, with no clusters yet."""
        from hardbayes.dp_means.state import PartitionState

        return PartitionState(self.rows, partition)

    def opening_costs(self, partition: Partition) -> Floats:
        """Return what it costs each row to open a cluster: (n,), or (1,) where all pay the same."""
        return opening_costs(self.rows, partition)

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
        weights = self.rows.weights / self.weight_unit
        if len(weights) == 1:
            return np.bincount(labels, minlength=n_clusters) * weights
        return np.asarray(np.bincount(labels, weights, n_clusters), np.float64)

    def check_penalty(self, penalty: float, name: str = "cluster_penalty") -> None:
        """Raise where the penalty is lost beside the scale of the data."""
        check_size(name, penalty, self.unit, "distances between", self.largest)

    def check_penalty_of_hidden_rows(self, penalty: float) -> None:
        """Raise where sums lose how rows differ, and the penalty is no larger than that.

        For rows beside an entry that hides them (`core.validation.cells`).
        """
        if not self.geometry.distance_costs:
            return
        rows = self.rows
        weight = total_weight(rows.weights, rows.n_rows)
        lost = rows.n_rows * weight * self.largest * self.frame.scale * FINEST
        least = max(SMALLEST_PENALTY, rows.n_columns * lost**2)
        check_size("cluster_penalty", penalty, self.unit, "distances between", self.largest, least)


def overall_mean(rows: Rows) -> Floats:
    """Return the mean (d,) of all rows."""
    one = np.zeros(1, np.intp)
    totals = rows.totals(1, np.zeros(1, np.int32))
    return totals.sums(one)[0] / totals.weights(one)[0]


def opening_costs(rows: Rows, partition: Partition, weights: Floats | None = None) -> Floats:
    """Return what it costs each row to open a cluster; (1,) where all pay the same.

    Else (n,), or a function of rows, as the rows have it. ``weights`` (n,) or (1,) take the place
    of those of rows in memory.
    """
    if not partition.prior_weight:
        return np.array([partition.penalty])
    return rows.opening(partial(opening_costs_of, partition=partition, weights=weights))


def opening_costs_of(
    local: LocalRows, partition: Partition, weights: Floats | None = None
) -> Floats:
    """Return what it costs each of some rows (m,) to open a cluster."""
    matrix, own = local.matrix(), local.weights_at()
    if weights is not None:
        own = np.broadcast_to(weights, local.shape[0])[local.ids]
    rounding = partition.geometry.cost_rounding(
        local.n_columns, local.constants_at(), matrix, partition.prior_mean
    )
    return partition.opening_costs(matrix, own, rounding)


def rows_in_memory(
    matrix: Matrix,
    geometry: Geometry,
    frame: Frame,
    weights: Floats,
    largest: Floats,
    pool: Pool,
    kind: type[MemoryRows] | None = None,
) -> MemoryRows:
    """Return the rows of a matrix seen through a frame.

    ``largest`` (d,): bounds on the absolute values of each column once shifted; ``kind``: which
    rows in memory, where these are to be a block of others.
    """
    # Compiled kernels come in with executors: numba is imported at the first fit, and no earlier.
    import_whole("hardbayes.dp_means.memory")
    from hardbayes.core.rows import entries_per_row, kernel_rows, working_rows
    from hardbayes.dp_means.memory import MemoryRows

    scale = np.array([frame.scale])
    if geometry.row_unit is not None:
        scale = 1.0 / geometry.row_sizes(matrix)
        largest = np.ones(len(largest))
    else:
        largest = largest * frame.scale
    rows, shape = kernel_rows(matrix, frame.shift, scale), matrix.shape
    parts = chunks(shape[0], entries_per_row(rows, shape))
    constants = geometry.row_constants(working_rows(rows, shape, part) for part in parts)
    layout = geometry.layout(is_sparse(matrix), matrix.dtype)
    return (kind or MemoryRows)(rows, shape, weights, constants, largest, layout, pool)


def pose(matrix: Matrix, geometry: Geometry, weights: Floats | None, pool: Pool) -> Problem:
    """Pose the problem for a checked matrix (float32 or float64; C-contiguous or canonical CSR)."""
    frame, largest = frame_for(matrix, geometry)
    weights = np.ones(1) if weights is None else weights
    weight_unit = power_of_two_scale(float(weights.max()))
    weight = total_weight(weights, matrix.shape[0])
    geometry.check_scale(matrix.shape[1], weight, float(largest.max()))
    rows = rows_in_memory(matrix, geometry, frame, weights * weight_unit, largest, pool)
    problem = Problem(rows, frame, geometry, weight_unit, float(largest.max()))
    # Sparse rows have no bounds on costs, and to keep costs at the anchor takes time.
    if geometry.needs_mean and not rows.layout.sparse:
        rows.layout = rows.layout._replace(anchor=problem.mean)
    return problem
