"""The path of penalties for overlapping features."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hardbayes.engine.feature_problem import pose_features
from hardbayes.engine.feature_restarts import marked_if_capped
from hardbayes.engine.feature_result import fitted_attributes
from hardbayes.engine.status import Status
from hardbayes.estimators.bp_means import BPMeans
from hardbayes.executors.pool import Pool, resolve_threads
from hardbayes.selection.feature_path import feature_path
from hardbayes.validation import check_matrix, check_weights

if TYPE_CHECKING:
    from hardbayes.geometry.base import Floats
    from hardbayes.selection.hull import Plateau


def trace_features(
    X: Any, template: BPMeans, asked: Floats | None, n_penalties: int, sample_weight: Any
) -> tuple[Floats, list[BPMeans], list[Plateau], float]:
    """Return penalties, a model at each, the plateaus and the best penalty, in the user's units.

    One path of K-features for K = 0, 1, 2, ... serves all penalties. It ends at the cap of the
    template, and at 64 features where that has none: at smaller penalties models are capped, and
    say so.
    """
    clone(template).set_params(component_penalty=1.0)._validate_params()
    seen = BPMeans()  # takes the feature names
    matrix = check_matrix(X, template._geometry, seen)
    weights = check_weights(sample_weight, matrix)
    with Pool(resolve_threads(template.n_jobs)) as pool:
        problem = pose_features(matrix, weights, pool)
        smallest = None if asked is None else float(asked.min()) * problem.unit
        search, rng = template._path_search(problem), template._stream()
        path = feature_path(problem, search, template.n_init, rng, smallest)
        found = [
            p._replace(low=p.low / problem.unit, high=p.high / problem.unit) for p in path.plateaus
        ]
        if asked is None:
            ends = [p.low for p in found if p.low > 0] + [p.high for p in found]
            asked = np.geomspace(2.0 * max(ends), min(ends), n_penalties) if ends else np.ones(1)
        solutions = []
        for penalty in asked * problem.unit:
            structure = replace(search.structure, penalty=float(penalty))
            priced = replace(search, structure=structure)
            solutions.append(marked_if_capped(problem, priced, path.at(penalty), rng))
    names = {name: value for name, value in vars(seen).items() if name.endswith("_")}
    models = []
    for penalty, solution in zip(asked, solutions, strict=True):
        model = clone(template).set_params(component_penalty=float(penalty))
        fitted = fitted_attributes(solution, problem, float(penalty), matrix.dtype)
        model.__dict__.update(fitted, **names)
        models.append(model)
    n_capped = sum(solution.status is Status.CAPPED for solution in solutions)
    if n_capped:
        warnings.warn(
            f"The path ends at {search.structure.max_components} features: at {n_capped} of "
            f"{len(asked)} penalties another would pay. Raise max_components or the penalties.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return asked, models, found, path.suggest().middle / problem.unit
