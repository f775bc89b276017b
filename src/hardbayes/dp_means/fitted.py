"""A fitted partition: everything needed to assign new rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core import schema
from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.fitted import (
    QUANTILES,
    cost_quantiles,
    costs_at_share,
    every_so_many,
    trace_attributes,
)
from hardbayes.core.frame import Columns, Frame, cluster_bound, power_of_two_scale
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import FARTHEST
from hardbayes.core.loop import level_rounding
from hardbayes.core.pool import Pool
from hardbayes.dp_means.descent import Solution
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.problem import Problem, opening_costs, rows_in_memory

if TYPE_CHECKING:
    from hardbayes.dp_means.centres import CentreTable
    from hardbayes.dp_means.rows import Rows


#: The attributes of a fitted estimator in a file.
ATTRIBUTES = schema.CLUSTERS | {
    "cluster_penalty_": schema.number(low=0),
    "prior_weight_": schema.number(low=0),
    # Only files of version 0.1.0 hold them.
    "cluster_centers_": schema.array("k", "columns", dtype=np.floating, may_miss=True),
    "plateau_width_": schema.number(may_miss=True),
    "plateau_reference_": schema.number(may_miss=True),
    "layers_": schema.array("layers", "n", dtype=np.int32, low=0, may_miss=True),
}
#: What differs after a fit of rows that are read by block: they may keep their labels.
BY_BLOCK = {
    "labels_": schema.CLUSTERS["labels_"]._replace(may_miss=True),
    "n_passes_": schema.Entry(int, low=1),
}
#: What a file holds of a fitted partition, beside its divergence.
MODEL = {
    "working_columns": schema.array(
        "d", dtype=np.intp, low=0, below="columns",
        may_miss=True, or_none=True, source="columns.kept",
    ),
    "working_dtype": schema.Entry(str, may_miss=True, source="dtype.name"),
    "working_penalty": schema.number(low=0, source="partition.penalty"),
    "working_prior_weight": schema.number(low=0, source="partition.prior_weight"),
    "working_mean": schema.array("d", low=-FARTHEST, high=FARTHEST, source="partition.prior_mean"),
    "working_shift": schema.array("d", source="frame.shift"),
    "working_scale": schema.number(low=2.0**-1000, high=2.0**1000, source="frame.scale"),
    "working_centres": schema.array("k", "d", low=-FARTHEST, high=FARTHEST),
    "working_spread": QUANTILES._replace(may_miss=True),
}  # fmt: skip


@dataclass(frozen=True)
class FittedPartition:
    """Centres (k, d) in the working coordinates of ``frame``, and what they were fitted with.

    Only columns that held entries in the fit count as columns here.

    ``cost_quantiles``: of each cluster's rows (see `core.fitted`), in working units and for a
    weight of one; None where a file of version 0.1.0 does not tell.
    """

    partition: Partition
    frame: Frame
    centres: Floats
    columns: Columns  # which of the user's these are
    dtype: np.dtype  # of the data
    cost_quantiles: Floats | None = None
    # The centres as kernels read them, by type of scores and whether rows are sparse.
    _tables: dict[tuple[np.dtype, bool], CentreTable] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is worth keeping: tables are made again."""
        return {**vars(self), "_tables": {}}

    @property
    def geometry(self) -> Geometry:
        """The divergence."""
        return self.partition.geometry

    @property
    def n_columns(self) -> int:
        """The number of the user's columns."""
        return self.columns.number

    def shown_centres(self) -> Floats:
        """Return the centres in the user's units and columns."""
        shown = self.geometry.shown(self.frame.from_working(self.centres))
        return self.columns.spread(shown.astype(self.dtype))

    def to_arrays(self) -> dict[str, Any]:
        """Return everything but the geometry, as arrays and numbers."""
        return schema.arrays_of(self, MODEL)

    @classmethod
    def from_arrays(
        cls, geometry: Geometry, max_clusters: int | None, n_columns: int, arrays: dict[str, Any]
    ) -> FittedPartition:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        values = schema.values_of(arrays, MODEL)
        kept, dtype, penalty, prior_weight, mean, shift, scale, centres, quantiles = values
        d = centres.shape[1]
        in_order = d == n_columns if kept is None else (np.diff(kept) > 0).all()
        if not len(centres) or not in_order or geometry.n_columns not in (None, d):
            raise schema.contradiction("its centres do not fit its columns")
        partition = Partition(
            geometry, penalty, prior_weight, mean, max_clusters or cluster_bound(d)
        )
        frame, columns = Frame(shift, scale, geometry.degree or 0), Columns(kept, n_columns)
        kind = np.dtype("float32" if dtype == "float32" else "float64")
        return cls(partition, frame, centres, columns, kind, quantiles)

    def reordered(self, order: NDArray[np.intp]) -> FittedPartition:
        """Return the model with its clusters in another order (k,)."""
        quantiles = None if self.cost_quantiles is None else self.cost_quantiles[order]
        return replace(self, centres=self.centres[order], cost_quantiles=quantiles, _tables={})

    def assign(self, matrix: Matrix, pool: Pool) -> Assignment:
        """Give each row of a checked matrix to its cheapest centre."""
        if self.columns.kept is not None:
            columns = self.columns.with_entries_of(matrix)
            return self._on(columns).assign(columns.of(matrix), pool)
        if is_sparse(matrix) and self.frame.shift.any():
            return self._unshifted().assign(matrix, pool)
        self.geometry.check_reach(
            matrix, self.frame.scale, "Squared distances to the fitted centres"
        )
        largest = np.ones(len(self.frame.shift))  # of totals, which are not used
        rows = rows_in_memory(matrix, self.geometry, self.frame, np.ones(1), largest, pool)
        table = self._table(rows, pool)
        rows.assign(table.view(), np.array([np.inf]))
        return Assignment(self, rows, table, self._weights_of(matrix))

    def _table(self, rows: Rows, pool: Pool) -> CentreTable:
        """Return the centres laid out for such rows, kept for the next prediction."""
        kind = rows.layout.dtype, rows.layout.sparse
        if kind not in self._tables:
            from hardbayes.dp_means.centres import TABLES, ClusterList

            table = TABLES[rows.layout.costs]
            clusters = ClusterList.of(self.centres)
            self._tables[kind] = table(self.partition, rows.layout, clusters, pool)
        return self._tables[kind]

    def _weights_of(self, matrix: Matrix) -> Floats:
        """Return what new rows weigh (n,), as in a fit without weights; (1,) where all are one."""
        return self.geometry.row_sizes(matrix) if self.geometry.length_as_weight else np.ones(1)

    def _on(self, columns: Columns) -> FittedPartition:
        """Return the same model with these columns, its own among them, as if there were no more.

        Centres are zero in columns without entries in the fit: so new rows cost there what they
        would if all columns had been kept.
        """
        assert columns.kept is not None
        mine = self.columns.within(columns)
        same = len(columns.kept) == self.centres.shape[1]
        return FittedPartition(
            replace(self.partition, prior_mean=mine.spread(self.partition.prior_mean)),
            self.frame._replace(shift=mine.spread(self.frame.shift)),
            mine.spread(self.centres),
            Columns(None, len(columns.kept)),
            self.dtype,
            self.cost_quantiles,
            self._tables if same else {},
        )

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
        quantiles = self.cost_quantiles
        if quantiles is not None:
            quantiles = quantiles / self.frame.unit * frame.unit
        return replace(
            self,
            partition=partition,
            frame=frame,
            centres=frame.to_working(centres),
            cost_quantiles=quantiles,
            _tables={},
        )


@dataclass(frozen=True)
class Assignment:
    """Rows assigned to the centres of a fitted partition; costs in the user's units."""

    model: FittedPartition
    rows: Rows
    table: CentreTable
    weights: Floats  # (n,) or (1,): of the rows; costs are first computed for a weight of one

    def labels(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster."""
        numbers = np.empty(self.table.n_slots, np.int32)
        numbers[self.table.slots] = np.arange(len(self.table.slots))
        return numbers[self.rows.labels()]

    def costs(self) -> Floats:
        """Return each row's cost at its own centre, times what the row weighs."""
        return self.weights * self._working_costs / self.model.frame.unit

    def distances(self) -> Floats:
        """Return each row's distance (n, k) from every centre, or its divergence if none is."""
        form = self.model.partition.direct_form(self.model.centres)
        costs = self.rows.take().costs(form) / self.model.frame.unit
        return self.model.geometry.as_distances(costs)

    def novel(self, costs: Floats | None = None, local_penalty: float = 0.0) -> NDArray[np.bool_]:
        """Return which rows would open a cluster of their own.

        Not among them are rows no farther from their centre than rounding may put equal ones,
        however small the penalty: a fit keeps such rows. ``costs`` (n,): of the rows where they
        are, if not at their cheapest centres; ``local_penalty``: what a cluster costs beside.
        """
        partition = self.model.partition
        costs = self._working_costs if costs is None else costs
        opening = opening_costs(self.rows, partition, self.weights) + local_penalty
        rounding = partition.geometry.equality_rounding(self.rows.n_columns)
        return self.weights * costs > np.maximum(opening, self.weights * rounding)

    def outliers(
        self,
        share: float,
        costs: Floats | None = None,
        labels: NDArray[np.int32] | None = None,
    ) -> NDArray[np.bool_]:
        """Return which rows cost more than all but this share of their cluster's training rows.

        But for rows no farther from their centre than rounding may put equal ones. ``costs`` and
        ``labels`` (n,): of the rows where they are, if not at their cheapest centres.
        """
        limits = costs_at_share(self.model.cost_quantiles, share)
        rounding = self.model.geometry.equality_rounding(self.rows.n_columns)
        costs = self._working_costs if costs is None else costs
        return costs > np.maximum(limits, rounding)[self.labels() if labels is None else labels]

    @property
    def _working_costs(self) -> Floats:
        return self.rows.costs(self.table.direct())


def fitted_attributes(
    solution: Solution,
    problem: Problem,
    partition: Partition,
    penalty: float,
    columns: Columns,
    dtype: np.dtype,
) -> dict[str, Any]:
    """Return the attributes of a fitted partition; ``penalty`` in the user's units.

    ``columns``: which of the user's columns the problem has.

    Raises ValueError where the objective is infinite.
    """
    unit, n_clusters = problem.unit, len(solution.centres)
    in_units = replace(partition, penalty=penalty)
    with np.errstate(over="ignore"):  # checked below
        history = solution.trace / unit + [
            in_units.total_penalty(k) for k in solution.cluster_counts.tolist()
        ]
    check_history(history, solution.trace, problem.geometry)
    one_more = float(in_units.prices(n_clusters + 1)[-1]) if partition.discount else penalty
    model = fitted_partition(
        solution.labels, solution.centres, problem, partition, one_more, columns, dtype
    )
    return {
        "_model": model,
        "labels_": solution.labels,
        "n_clusters_": n_clusters,
        "cluster_weights_": (
            problem.weights_of(solution.labels, n_clusters)
            if solution.weights is None
            else solution.weights / problem.weight_unit
        ),
        "cluster_penalty_": penalty,
        "prior_weight_": model.partition.prior_weight,
        "inertia_": solution.terms.fit / unit,
    } | trace_attributes(solution, level_rounding(history, problem.rounding), n_clusters)


def fitted_partition(
    labels: NDArray[np.int32],
    centres: Floats,
    problem: Problem,
    partition: Partition,
    penalty: float,
    columns: Columns,
    dtype: np.dtype,
) -> FittedPartition:
    """Return the model of a solution; ``penalty`` of a cluster in the user's units."""
    rows = problem.rows
    which = every_so_many(rows.n_rows, rows.n_weighted, rows.most_taken)
    some = np.arange(*which.indices(rows.n_rows))  # not a slice of all, which may be many
    local = rows.take(some if len(some) < rows.n_rows else None)
    costs = local.costs_of(partition.direct_form(centres), labels[some])
    quantiles = cost_quantiles(costs, labels[some], len(centres), local.weights_at())
    # New rows weigh one each, or what their length says, whatever the unit of weights here.
    prior_weight = partition.prior_weight / problem.weight_unit
    own = replace(partition, penalty=penalty * problem.frame.unit, prior_weight=prior_weight)
    return FittedPartition(own, problem.frame, centres, columns, dtype, quantiles)


def check_history(history: Floats, trace: Floats, geometry: Geometry) -> None:
    """Raise ValueError unless the objective (steps,) and its terms without penalties are finite."""
    if not (trace.max() < geometry.infinite_cost and np.isfinite(history).all()):
        raise ValueError(
            "The objective is not a finite number. Where the divergence is infinite at zeros, "
            "set prior_weight to a number > 0; otherwise rescale X and the penalties."
        )
