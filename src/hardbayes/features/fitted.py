"""Fitted features: everything needed to find those of new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardbayes.core import schema
from hardbayes.core.arrays import Floats, Matrix, is_sparse, kept_in
from hardbayes.core.frame import Frame
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import FARTHEST, SquaredEuclidean
from hardbayes.core.loop import Status, counted, level_rounding
from hardbayes.core.pool import Pool
from hardbayes.features.descent import FeatureSolution
from hardbayes.features.problem import FeatureProblem, feature_rows
from hardbayes.features.rows import Allocation

#: The attributes of a fitted estimator in a file.
ATTRIBUTES = {
    "n_components_": schema.length("k"),
    "n_features_in_": schema.length("columns"),
    "components_": schema.array("k", "columns", dtype=np.floating),
    "membership_": schema.array("n", "k", dtype=np.bool_),
    "component_penalty_": schema.number(low=0),
    "inertia_": schema.number(),
    **schema.TRACE,
}
#: What a file holds of a fitted model.
MODEL = {
    "working_shift": schema.array("columns", source="frame.shift"),
    "working_scale": schema.number(low=2.0**-1000, high=2.0**1000, source="frame.scale"),
    "working_components": schema.array("k", "columns", low=-FARTHEST, high=FARTHEST),
    "has_base": schema.Entry(bool, may_miss=True),
}

SENTENCES = {
    Status.CONVERGED: (
        "Converged: no row changes its features and no move of whole features helps, "
        "after {sweeps}. Nothing needs doing."
    ),
    Status.CAPPED: (
        "Converged at the cap of {components}, where another would still lower the "
        "objective. Raise max_components or component_penalty if that was not intended."
    ),
    Status.REMARKED: "Converged after {sweeps}.",  # a sentence on what was found follows
    Status.OUT_OF_STEPS: (
        "Stopped after {sweeps} with rows still changing their features. "
        "Raise max_iter, or accept that the objective could still fall a little."
    ),
}


@dataclass(frozen=True)
class FittedFeatures:
    """Components (k, d) in float64, scaled by ``frame`` and not shifted.

    ``has_base``: all rows have the first, new ones too.
    """

    geometry: ClassVar[Geometry] = SquaredEuclidean()
    frame: Frame
    components: Floats
    has_base: bool = False

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers."""
        return schema.arrays_of(self, MODEL)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> FittedFeatures:
        """Return the model that `to_arrays` was called on."""
        shift, scale, components, has_base = schema.values_of(arrays, MODEL)
        return cls(Frame(shift, scale, 2), np.ascontiguousarray(components), bool(has_base))

    def allocate(self, matrix: Matrix, pool: Pool) -> tuple[NDArray[np.bool_], Floats]:
        """Return the features (n, k) of each row, and its squared residual (n,) with them."""
        self.geometry.check_reach(matrix, self.frame.scale, "Squared residuals")
        frame = self.frame
        if is_sparse(matrix):  # components are not shifted, so rows need not be either
            frame = Frame(np.zeros(len(frame.shift)), frame.scale, 2)
        membership = np.zeros((matrix.shape[0], len(self.components)), np.uint8)
        membership[:, : int(self.has_base)] = 1
        rows = feature_rows(matrix, frame, np.ones(1), pool, int(self.has_base))
        sums = rows.sweep(Allocation(self.components, membership))
        return membership.view(np.bool_), sums.costs / self.frame.unit

    def rebuild(self, membership: NDArray[np.bool_]) -> Floats:
        """Return the rows (n, d) that have these features (n, k), in the user's units."""
        return membership.astype(np.float64) @ self.components / self.frame.scale


def fitted_attributes(
    solution: FeatureSolution, problem: FeatureProblem, penalty: float, dtype: np.dtype
) -> dict[str, Any]:
    """Return the attributes of a fitted model; ``penalty`` in the user's units.

    Features come in the order of their weight: a base that all rows share is the first.
    """
    components, membership = solution.allocation
    info = problem.rows.describe()
    weights = np.broadcast_to(info.weights, len(membership))
    order = np.argsort(-(weights @ membership), kind="stable")
    components, membership = components[order], membership[:, order]
    fits, counts = (np.array(column) for column in zip(*solution.trace, strict=True))
    history = fits / problem.unit + penalty * counts
    if not np.isfinite(history).all():
        raise ValueError(
            "The objective is not a finite number. Rescale X, sample_weight or component_penalty."
        )
    return {
        "_model": FittedFeatures(
            problem.frame, np.ascontiguousarray(components), bool(info.n_fixed)
        ),
        "components_": kept_in(problem.components_to_user(components), dtype),
        "n_components_": len(components),
        "component_penalty_": penalty,
        "membership_": np.ascontiguousarray(membership).view(np.bool_),
        "inertia_": float(fits[-1] / problem.unit),
        "objective_": float(history[-1]),
        "objective_history_": level_rounding(history, problem.rounding),
        "n_iter_": len(history),
        "converged_": solution.status is not Status.OUT_OF_STEPS,
        "status_": SENTENCES[solution.status].format(
            sweeps=counted(len(history), "sweep"), components=counted(len(components), "feature")
        ),
    }
