"""What a fit of features found, in the user's units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.feature_model import FittedFeatures
from hardbayes.engine.objective import level_rounding
from hardbayes.engine.status import Status, counted

if TYPE_CHECKING:
    from hardbayes.engine.allocation import AllocationSolution
    from hardbayes.engine.feature_problem import FeatureProblem

SENTENCES = {
    Status.CONVERGED: (
        "Converged: no row changes its features and no move of whole features helps, "
        "after {sweeps}. Nothing needs doing."
    ),
    Status.CAPPED: (
        "Converged at the cap of {components}, where another would still pay its "
        "penalty. Raise max_components or component_penalty if that was not intended."
    ),
    Status.OUT_OF_STEPS: (
        "Stopped after {sweeps} with rows still changing their features. "
        "Raise max_iter, or accept that the objective could still fall a little."
    ),
}


def fitted_attributes(
    solution: AllocationSolution, problem: FeatureProblem, penalty: float, dtype: np.dtype
) -> dict[str, Any]:
    """Return the attributes of a fitted model; ``penalty`` in the user's units.

    Features come in the order of their weight: a base that all rows share is the first.
    """
    components, membership = solution.allocation
    weights = np.broadcast_to(problem.tiles.weights, len(membership))
    order = np.argsort(-(weights @ membership), kind="stable")
    components, membership = components[order], membership[:, order]
    fits, counts = (np.array(column) for column in zip(*solution.trace, strict=True))
    history = fits / problem.unit + penalty * counts
    if not np.isfinite(history).all():
        raise ValueError(
            "The objective is not a finite number. Rescale X, sample_weight or component_penalty."
        )
    return {
        "_model": FittedFeatures(problem.frame, np.ascontiguousarray(components)),
        "components_": problem.components_to_user(components).astype(dtype),
        "n_components_": len(components),
        "component_penalty_": penalty,
        "membership_": np.ascontiguousarray(membership).view(np.bool_),
        "inertia_": float(fits[-1] / problem.unit),
        "objective_": float(history[-1]),
        "objective_history_": level_rounding(history),
        "n_iter_": len(history),
        "converged_": solution.status is not Status.OUT_OF_STEPS,
        "status_": SENTENCES[solution.status].format(
            sweeps=counted(len(history), "sweep"), components=counted(len(components), "feature")
        ),
    }
