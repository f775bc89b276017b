"""Features that a user gives to start from: components, or which rows have them."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from hardbayes.core.arrays import Floats
from hardbayes.features.moves import refit_components
from hardbayes.features.problem import FeatureProblem
from hardbayes.features.rows import Allocation


def given_features(init: Any, problem: FeatureProblem, name: str) -> Allocation:
    """Return components (k, d) in the user's units, or memberships (n, k), as a start.

    Memberships are boolean or, if their shape is not that of components, zeros and ones; their
    components are at least squares.
    """
    n, d, *_, fixed = problem.rows.describe()
    array = check_array(init, input_name="init", ensure_min_samples=0)
    is_components = array.dtype != bool and array.shape[1] == d
    if not is_components and (array.shape[0] != n or not np.isin(array, (0, 1)).all()):
        raise ValueError(
            f"The 'init' parameter of {name} must be components of shape (k, {d}), or memberships "
            f"of shape ({n}, k) that are zeros and ones. Got an array of shape {array.shape} "
            "instead."
        )
    if is_components:
        membership = np.zeros((n, len(array)), np.uint8)
        membership[:, :fixed] = 1
        components: Floats = array.astype(np.float64) * problem.frame.scale
        return Allocation(components, membership)
    membership = np.ascontiguousarray(array, dtype=np.uint8)
    if not membership[:, :fixed].all():
        raise ValueError(
            f"The 'init' parameter of {name}(base=True) must begin with a column of ones, for all "
            "rows have the base. Add one, or use base='auto'."
        )
    start = Allocation(np.zeros((membership.shape[1], d)), membership)
    return refit_components(problem.rows, start)


def check_number(given: Allocation, most: int, what: str, least: int = 1) -> None:
    """Raise ValueError unless the number of features given is from ``least`` to ``most``."""
    k = len(given.components)
    if k > most or k < least:
        raise ValueError(
            f"The 'init' parameter must have {what} = {most} features. Got {k} instead."
        )
