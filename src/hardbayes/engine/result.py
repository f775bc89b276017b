"""What a fit found, in the user's units."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.model import FittedPartition
from hardbayes.engine.objective import level_rounding
from hardbayes.engine.status import Status

if TYPE_CHECKING:
    from hardbayes.engine.descent import Solution
    from hardbayes.engine.problem import Problem
    from hardbayes.structure.partition import Partition


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
