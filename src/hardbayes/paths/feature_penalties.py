"""The path of penalties for overlapping features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from hardbayes.engine.feature_problem import pose_features
from hardbayes.engine.feature_result import fitted_attributes
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

    One path of K-features for K = 0, 1, 2, ... serves all penalties.
    """
    clone(template).set_params(component_penalty=1.0)._validate_params()
    seen = BPMeans()  # takes the feature names
    matrix = check_matrix(X, template._geometry, seen)
    weights = check_weights(sample_weight, matrix)
    with Pool(resolve_threads(template.n_jobs)) as pool:
        problem = pose_features(matrix, weights, pool)
        smallest = None if asked is None else float(asked.min()) * problem.unit
        path = feature_path(
            problem, template._path_search(problem), template.n_init, template._stream(), smallest
        )
    found = [
        p._replace(low=p.low / problem.unit, high=p.high / problem.unit) for p in path.plateaus
    ]
    if asked is None:
        ends = [p.low for p in found if p.low > 0] + [p.high for p in found]
        asked = np.geomspace(2.0 * max(ends), min(ends), n_penalties) if ends else np.ones(1)
    names = {name: value for name, value in vars(seen).items() if name.endswith("_")}
    models = []
    for penalty in asked:
        solution = path.at(penalty * problem.unit)
        model = clone(template).set_params(component_penalty=float(penalty))
        fitted = fitted_attributes(solution, problem, float(penalty), matrix.dtype)
        model.__dict__.update(fitted, **names)
        models.append(model)
    return asked, models, found, path.suggest().middle / problem.unit
