"""A fitted hard HDP: everything needed to assign new rows of known and unknown groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core import schema
from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.fitted import trace_attributes
from hardbayes.core.frame import Columns
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.loop import level_rounding
from hardbayes.core.pool import Pool
from hardbayes.dp_means.fitted import Assignment, FittedPartition, check_history, fitted_partition
from hardbayes.groups.descent import GroupedSolution
from hardbayes.groups.problem import GroupedPartition, GroupedProblem

#: The attributes of a fitted estimator in a file.
ATTRIBUTES = schema.CLUSTERS | {
    "local_penalty_": schema.number(low=0),
    "global_penalty_": schema.number(low=0),
    "prior_weight_": schema.number(low=0),
    "local_labels_": schema.array("n", dtype=np.int32, low=-1, below="k"),
    "groups_": schema.array("groups", dtype=np.generic),
    "n_local_clusters_": schema.array("groups", dtype=np.integer, low=0),
    "group_cluster_weights_": schema.array("groups", "k"),
}
#: What a file holds of a fitted model, beside its clusters.
OWN = {
    "working_local_penalty": schema.number(low=0, source="local_penalty"),
    "in_use": schema.array("groups", "k", dtype=np.bool_),
}


@dataclass(frozen=True)
class FittedGroups:
    """The clusters, and which of them each group uses."""

    clusters: FittedPartition
    local_penalty: float  # in working units, for a row of weight one
    in_use: NDArray[np.bool_]  # (groups, k)

    @property
    def geometry(self) -> Geometry:
        """The divergence."""
        return self.clusters.geometry

    def shown_centres(self) -> Floats:
        """Return the centres in the user's units and columns."""
        return self.clusters.shown_centres()

    def to_arrays(self) -> dict[str, Any]:
        """Return everything but the geometry, as arrays and numbers."""
        return self.clusters.to_arrays() | schema.arrays_of(self, OWN)

    @classmethod
    def from_arrays(
        cls, geometry: Geometry, max_clusters: int | None, n_columns: int, arrays: dict[str, Any]
    ) -> FittedGroups:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        clusters = FittedPartition.from_arrays(geometry, max_clusters, n_columns, arrays)
        if not arrays["in_use"].any(axis=0).all():
            raise schema.contradiction("a cluster is in no group")
        return cls(clusters, arrays["working_local_penalty"], arrays["in_use"])

    def reordered(self, order: NDArray[np.intp]) -> FittedGroups:
        """Return the model with its clusters in another order (k,)."""
        return replace(self, clusters=self.clusters.reordered(order), in_use=self.in_use[:, order])

    def assign(
        self, matrix: Matrix, pool: Pool, groups: NDArray[np.intp] | None = None
    ) -> GroupedAssignment:
        """Give each row of a checked matrix to the cluster where it pays least.

        ``groups`` (n,): the number of each row's group, -1 where it is not known; None where no
        group is.
        """
        from hardbayes.groups.memory import cheapest

        if groups is None:
            groups = np.full(matrix.shape[0], -1, np.intp)
        assigned = self.clusters.assign(matrix, pool)
        model = assigned.model  # in the frame of these rows
        unit = model.frame.unit / self.clusters.frame.unit
        form = model.partition.direct_form(model.centres)
        local_penalty = self.local_penalty * unit
        chosen = cheapest(assigned.rows.take(), form, groups, self.in_use, local_penalty)
        return GroupedAssignment(assigned, *chosen, local_penalty)


@dataclass(frozen=True)
class GroupedAssignment:
    """Rows assigned to the centres of a fitted model; costs in the user's units."""

    assigned: Assignment
    chosen: NDArray[np.int32]
    working_costs: Floats
    local_penalties: Floats  # what each row pays for a cluster that is new to its group
    local_penalty: float

    def labels(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster."""
        return self.chosen

    def costs(self) -> Floats:
        """Return each row's cost at its own centre, times what the row weighs."""
        return self.assigned.weights * self.working_costs / self.assigned.model.frame.unit

    def distances(self) -> Floats:
        """Return each row's distance (n, k) from every centre."""
        return self.assigned.distances()

    def novel(self) -> NDArray[np.bool_]:
        """Return which rows would open a cluster of their own."""
        return self.assigned.novel(self.working_costs + self.local_penalties, self.local_penalty)

    def outliers(self, share: float) -> NDArray[np.bool_]:
        """Return which rows cost more than all but this share of their cluster's training rows."""
        return self.assigned.outliers(share, self.working_costs, self.chosen)


def grouped_attributes(
    solution: GroupedSolution,
    problem: GroupedProblem,
    grouped: GroupedPartition,
    penalties: tuple[float, float],
    columns: Columns,
    dtype: np.dtype,
) -> dict[str, Any]:
    """Return the attributes of a fitted model; ``penalties``: local and global, the user's units.

    ``columns``: which of the user's columns the problem has.

    Raises ValueError where the objective is infinite.
    """
    whole, (local_penalty, global_penalty) = problem.whole, penalties
    unit, k = whole.unit, len(solution.centres)
    history = (
        solution.trace / unit
        + local_penalty * solution.local_counts
        + global_penalty * solution.cluster_counts
    )
    check_history(history, solution.trace, whole.geometry)
    clusters = fitted_partition(
        solution.labels, solution.centres, whole, grouped.partition, global_penalty, columns, dtype
    )
    in_use = solution.ranks >= 0
    weights = np.broadcast_to(whole.rows.weights / whole.weight_unit, whole.rows.n_rows)
    flat = np.bincount(problem.groups * k + solution.labels, weights, problem.n_groups * k)
    shared = flat.reshape(problem.n_groups, k)
    return {
        "_model": FittedGroups(clusters, local_penalty * whole.frame.unit, in_use),
        "labels_": solution.labels,
        "local_labels_": local_labels(solution.ranks)[problem.groups, solution.labels],
        "n_clusters_": k,
        "n_local_clusters_": np.count_nonzero(in_use, axis=1),
        "group_cluster_weights_": shared,
        "cluster_weights_": shared.sum(axis=0),
        "local_penalty_": local_penalty,
        "global_penalty_": global_penalty,
        "prior_weight_": clusters.partition.prior_weight,
        "inertia_": solution.terms.terms.fit / unit,
    } | trace_attributes(solution, level_rounding(history, whole.rounding), k)


def local_labels(ranks: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the number of each local cluster (groups, k) in its group, by order of creation.

    -1 where a group does not use a cluster.
    """
    unused = ranks < 0
    last = np.where(unused, np.iinfo(np.int32).max, ranks)
    places = np.argsort(np.argsort(last, axis=1, kind="stable"), axis=1, kind="stable")
    return np.where(unused, -1, places).astype(np.int32)
