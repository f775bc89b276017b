"""A fitted partition: everything needed to place new rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.objective import level_rounding
from hardbayes.engine.status import Status
from hardbayes.matrices import is_sparse
from hardbayes.problems.frame import Frame, power_of_two_scale
from hardbayes.problems.partition import (
    FARTHEST,
    check_reach,
    cluster_bound,
    distance_rounding,
    executor_for,
    opening_prices,
)
from hardbayes.structure.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.engine.partition.descent import Solution
    from hardbayes.executors.centre_table import CentreTable
    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.geometry.base import Geometry
    from hardbayes.matrices import Floats, Matrix
    from hardbayes.pool import Pool
    from hardbayes.problems.partition import Problem


@dataclass(frozen=True)
class FittedPartition:
    """Centres (k, d) in the working coordinates of ``frame``, and what they were fitted with."""

    partition: Partition
    frame: Frame
    centres: Floats
    # The centres as kernels want them, by type of scores and whether rows are sparse.
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
                and geometry.n_columns in (None, d)
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
        if self.geometry.squared_distance:
            check_reach(matrix, self.frame, "Squared distances to the fitted centres")
        largest = np.ones(len(self.frame.shift))  # totals are not asked for
        executor = executor_for(matrix, self.geometry, self.frame, np.ones(1), largest, pool)
        if self.geometry.nonnegative:
            executor.see_columns(self.partition.prior_mean > 0)
        kind = executor.dtype, executor.is_sparse
        executor.start(self.centres, self._tables.get(kind))
        executor.assign(np.array([np.inf]), last=True)
        self._tables[kind] = executor.table
        return Placement(executor, self, self._weights_of(matrix))

    def _weights_of(self, matrix: Matrix) -> Floats:
        """Return what new rows weigh (n,), as in a fit without weights; (1,) where all are one."""
        return self.geometry.row_sizes(matrix) if self.geometry.length_as_weight else np.ones(1)

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


@dataclass(frozen=True)
class Placement:
    """Rows placed at the centres of a fitted partition; costs in the user's units."""

    executor: MemoryExecutor
    model: FittedPartition
    weights: Floats  # (n,) or (1,): kept from the executor, whose costs are those of weight one

    def labels(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster."""
        return self.executor.cluster_numbers()

    def costs(self) -> Floats:
        """Return each row's cost at its own centre, times what the row weighs."""
        return self.weights * self.executor.costs() / self.model.frame.unit

    def distances(self) -> Floats:
        """Return each row's distance (n, k) from every centre, or its divergence if none is."""
        costs = self.executor.all_costs() / self.model.frame.unit
        return np.sqrt(costs) if self.model.geometry.squared_distance else costs

    def novel(self) -> NDArray[np.bool_]:
        """Return which rows would rather open a cluster of their own.

        Rows no farther from their centre than rounding may put equal ones are not among them,
        however small the penalty: the fit has kept such rows.
        """
        prices = opening_prices(self.executor, self.model.partition, self.weights)
        if self.model.geometry.squared_distance:
            rounding = distance_rounding(self.executor.n_columns)
            prices = np.maximum(prices, self.weights * rounding)
        return self.weights * self.executor.costs() > prices


def fitted_attributes(
    solution: Solution,
    problem: Problem,
    partition: Partition,
    penalty: float,
    dtype: np.dtype,
) -> dict[str, Any]:
    """Return the attributes of a fitted partition; ``penalty`` in the user's units.

    Raises ValueError where the objective is infinite.
    """
    unit = problem.unit
    n_clusters = len(solution.centres)
    history = solution.trace / unit + penalty * solution.cluster_counts
    finite = solution.trace.max() < problem.geometry.infinite_cost
    if not (finite and np.isfinite(history).all()):
        raise ValueError(
            "The objective is not a finite number. Where the divergence is infinite at zeros, "
            "set prior_weight to a number > 0; otherwise rescale X and cluster_penalty."
        )
    model = FittedPartition(
        # New rows weigh one each, or what their length says, whatever the unit of weights here.
        replace(
            partition,
            penalty=penalty * problem.frame.unit,
            prior_weight=partition.prior_weight / problem.weight_unit,
        ),
        problem.frame,
        solution.centres,
    )
    return {
        "_model": model,
        "labels_": solution.labels,
        "n_clusters_": n_clusters,
        "cluster_centers_": problem.geometry.shown(
            problem.frame.from_working(solution.centres)
        ).astype(dtype),
        "cluster_weights_": problem.weights_of(solution.labels, n_clusters),
        "cluster_penalty_": penalty,
        "prior_weight_": model.partition.prior_weight,
        "inertia_": solution.terms.fit / unit,
        "objective_": float(history[-1]),
        "objective_history_": level_rounding(history, problem.rounding),
        "n_iter_": len(history),
        "n_splits_": solution.n_splits,
        "n_merges_": solution.n_merges,
        "converged_": solution.status is not Status.OUT_OF_STEPS,
        "status_": solution.status.sentence(len(history), n_clusters),
    }
