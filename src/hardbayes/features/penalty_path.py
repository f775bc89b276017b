"""The path of penalties for overlapping features."""

import warnings
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hardbayes.core.arrays import Floats
from hardbayes.core.estimator import checked_data
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.loop import Status
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.core.plateaus import penalty_at
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.features.choice import feature_path
from hardbayes.features.descent import FeatureSolution
from hardbayes.features.estimator import BPMeans
from hardbayes.features.fitted import fitted_attributes
from hardbayes.features.problem import pose_features
from hardbayes.features.starts import marked_if_capped


def trace_features(
    X: Any, template: BPMeans, penalties: Floats | None, n_penalties: int, sample_weight: Any
) -> PenaltyPath[Any]:
    """Return solutions at given penalties, or at ``n_penalties`` from no features to many.

    One path of K-features for K = 0, 1, 2, ... serves all penalties. It ends at the cap of the
    template, or at 64 features: models at smaller penalties are marked as capped.
    """
    clone(template).set_params(component_penalty=1.0)._validate_params()
    matrix, weights, names = checked_data(template, SquaredEuclidean(), X, sample_weight)
    rng = template._stream()
    with Pool(resolve_threads(template.n_jobs), template._progress()) as pool:
        problem = pose_features(matrix, weights, pool, template._n_fixed)
        smallest = None if penalties is None else float(penalties.min()) * problem.unit
        path = feature_path(
            problem, template.max_components, template.max_iter, template.n_init, rng, smallest,
            pool.report, base=template._with_base,
        )  # fmt: skip
        structure = path.search.structure
        found = [plateau.with_prices(1.0 / problem.unit) for plateau in path.plateaus]
        if penalties is None:
            ends = [p.low for p in found if p.low > 0] + [p.high for p in found]
            penalties = (
                np.geomspace(2.0 * max(ends), min(ends), n_penalties) if ends else np.ones(1)
            )
        solutions = []
        for penalty in penalties * problem.unit:
            at_penalty = replace(path.search, structure=replace(structure, penalty=float(penalty)))
            solutions.append(marked_if_capped(problem.rows, at_penalty, path.at(penalty), rng))

    def model(penalty: float, solution: FeatureSolution, cap: int | None) -> BPMeans:
        options = {"component_penalty": penalty, "max_components": cap}
        fitted = fitted_attributes(solution, problem, penalty, matrix.dtype)
        return clone(template).set_params(**options)._set_fitted(fitted | names)

    cap = template.max_components
    models = [model(float(p), s, cap) for p, s in zip(penalties, solutions, strict=True)]
    exactly = {
        s.n_components: model(penalty_at(s.n_components, found), s, s.n_components)
        for s in path.solutions[1:]
    }
    n_capped = sum(solution.status is Status.CAPPED for solution in solutions)
    if n_capped:
        warnings.warn(
            f"The path ends at {structure.max_components} features: at {n_capped} of "
            f"{len(penalties)} penalties another would lower the objective. "
            "Raise max_components or the penalties.",
            ConvergenceWarning,
            stacklevel=3,
        )
    best = path.suggest().middle / problem.unit
    return PenaltyPath.of(
        penalties, models, found, best, ExactFeatures(exactly), number="n_components_"
    )


@dataclass(frozen=True)
class ExactFeatures:
    """The models of a path of features, by their number."""

    models: dict[int, BPMeans]

    def __call__(self, n_components: int) -> BPMeans:
        """Return a copy of the fitted model."""
        if n_components not in self.models:
            raise ValueError(
                f"The path has {min(self.models)} to {max(self.models)} features, not "
                f"{n_components}. Use KFeatures({n_components}), or a path to smaller penalties."
            )
        return copy(self.models[n_components])
