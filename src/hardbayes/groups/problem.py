"""The hard HDP of Kulis & Jordan 2012, section 4: its objective, and what a fit of it runs on.

A local cluster is a pair of a group and a cluster that holds rows of it. So two local clusters of a
group in one cluster are one and the same, and a local cluster without rows does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.pool import Pool
from hardbayes.dp_means.objective import Partition, Terms
from hardbayes.dp_means.problem import Problem, opening_costs, pose, rows_in_memory

if TYPE_CHECKING:
    from hardbayes.dp_means.rows import Rows
    from hardbayes.groups.state import GroupedState


@dataclass(frozen=True)
class GroupedPartition:
    """``sum_i w_i D(x_i, mu_z(i)) + local_penalty * pairs + sum_c [penalty + eta D(m, mu_c)]``.

    ``pairs``: how many pairs of a group and a cluster hold rows of positive weight (Kulis & Jordan
    2012, eq. 2; with a prior as partitions have it). ``partition`` is the problem of the clusters
    alone: its penalty is the global one, and local clusters are its weighted rows.
    """

    partition: Partition
    local_penalty: float

    def total_penalty(self, n_local: int, n_clusters: int) -> float:
        """Return what so many local clusters in so many clusters cost."""
        return self.local_penalty * n_local + self.partition.total_penalty(n_clusters)

    def row_openings(self, opening: Floats) -> Floats:
        """Return what rows pay to open a cluster; ``opening``: what the cluster alone costs."""
        return opening + self.local_penalty

    def union_frees(self, in_use: Floats) -> Floats:
        """Return what the union of each pair of clusters (k, k) frees in penalties.

        ``in_use`` (groups, k): one where a group uses a cluster, else zero. A group that uses both
        has one local cluster less.
        """
        both = np.einsum("gi,gj->ij", in_use, in_use, optimize=True)
        return self.partition.penalty + self.local_penalty * both


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
        from hardbayes.groups.memory import Groups
        from hardbayes.groups.state import GroupedState

        groups = Groups(self.groups, self.n_groups)
        pool = self.whole.rows.pool

        def gather(means: Matrix, weights: Floats) -> tuple[Rows, Floats]:
            return rows_of_means(means, weights, grouped.partition, pool)

        return GroupedState(
            self.whole.rows, self.same_rows, grouped, groups, gather, self.whole.weight_unit
        )

    def check_penalty(self, name: str, penalty: float) -> None:
        """Raise where a penalty is lost beside the scale of the data."""
        self.whole.check_penalty(penalty, name)


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
    from hardbayes.core.rows import kernel_rows
    from hardbayes.dp_means.memory import MemoryRows

    geometry, d = partition.geometry, means.shape[1]
    layout = geometry.layout(is_sparse(means), means.dtype)
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


class GroupedTerms(NamedTuple):
    """The parts of the objective, in working units."""

    terms: Terms  # of the partition
    n_local: int

    @property
    def cost(self) -> float:
        """The objective without penalties."""
        return self.terms.fit + self.terms.prior

    def total(self, grouped: GroupedPartition) -> float:
        """Return the objective."""
        return self.cost + grouped.total_penalty(self.n_local, self.terms.n_clusters)
