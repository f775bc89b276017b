"""From a data matrix with groups to what a fit of the hard HDP can run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardbayes.engine.partition.passes import layout_for
from hardbayes.geometry.base import Geometry
from hardbayes.matrices import Floats, Matrix, is_sparse
from hardbayes.pool import Pool
from hardbayes.problems.partition import Problem, check_size, opening_costs, pose, rows_in_memory
from hardbayes.structure.hdp import GroupedPartition
from hardbayes.structure.partition import Partition

if TYPE_CHECKING:
    from hardbayes.executors.protocol import Rows
    from hardbayes.moves.hdp.state import GroupedState


@dataclass(frozen=True)
class GroupedProblem:
    """A data set in working coordinates, and the group of each row."""

    whole: Problem
    same_rows: Rows
    groups: NDArray[np.intp]  # (n,): 0 to n_groups - 1
    n_groups: int

    def grouped(
        self,
        local_penalty: float,
        global_penalty: float,
        prior_weight: float,
        max_clusters: int | None,
    ) -> GroupedPartition:
        """Return the structure to fit; penalties and ``prior_weight`` in the user's units."""
        partition = self.whole.partition(global_penalty, prior_weight, max_clusters)
        return GroupedPartition(partition, local_penalty * self.whole.unit)

    def state(self, grouped: GroupedPartition) -> GroupedState:
        """Return the state of a fit, with no clusters yet."""
        from hardbayes.local.local_clusters import Groups  # with compiled kernels
        from hardbayes.moves.hdp.state import GroupedState

        groups = Groups(self.groups, self.n_groups)
        pool = self.whole.rows.pool

        def gather(means: Matrix, weights: Floats) -> tuple[Rows, Floats]:
            return rows_of_means(means, weights, grouped.partition, pool)

        return GroupedState(
            self.whole.rows, self.same_rows, grouped, groups, gather, self.whole.weight_unit
        )

    def check_penalty(self, name: str, penalty: float) -> None:
        """Raise where a penalty is lost beside the scale of the data."""
        check_size(name, penalty, self.whole.unit, "distances between", self.whole.largest)


def pose_groups(
    matrix: Matrix,
    geometry: Geometry,
    weights: Floats | None,
    groups: NDArray[np.intp],
    n_groups: int,
    pool: Pool,
) -> GroupedProblem:
    """Pose the problem for a checked matrix, with the number of each row's group (n,)."""
    whole = pose(matrix, geometry, weights, pool)
    largest = np.ones(matrix.shape[1])  # only serves layout and rounding, which are set below
    same = rows_in_memory(matrix, geometry, whole.frame, whole.rows.weights, largest, pool)
    same.layout, same.rounding = whole.rows.layout, whole.rows.rounding
    return GroupedProblem(whole, same, groups, n_groups)


def rows_of_means(
    means: Matrix, weights: Floats, partition: Partition, pool: Pool
) -> tuple[Rows, Floats]:
    """Return rows at means (m, d) in working coordinates, and what each pays for a cluster."""
    from hardbayes.executors.memory import MemoryRows
    from hardbayes.local.reading import kernel_rows

    geometry, d = partition.geometry, means.shape[1]
    layout = layout_for(geometry, is_sparse(means), means.dtype)
    if geometry.needs_mean and not layout.sparse:
        layout = layout._replace(anchor=partition.prior_mean)
    largest = np.abs(means).max(axis=0)
    bounds = largest.toarray().ravel() if is_sparse(means) else largest
    constants = geometry.row_constants([means])
    weights = np.ascontiguousarray(weights)
    rows = MemoryRows(
        kernel_rows(means, np.zeros(d), np.ones(1)), means.shape, weights, constants, bounds,
        layout, pool,
    )  # fmt: skip
    return rows, opening_costs(rows, partition, weights)
