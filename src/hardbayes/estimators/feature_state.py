"""What a fitted model of features must hold, checked before a file may become one."""

from typing import Any

import numpy as np

KINDS = {
    "components_": np.ndarray,
    "n_components_": int,
    "component_penalty_": float,
    "membership_": np.ndarray,
    "inertia_": float,
    "objective_": float,
    "objective_history_": np.ndarray,
    "n_iter_": int,
    "converged_": bool,
    "status_": str,
    "n_features_in_": int,
}


def check_fitted_features(fitted: dict[str, Any], k: int, d: int) -> None:
    """Raise ValueError unless these are all fitted attributes of k features in d columns."""
    if set(fitted) != set(KINDS):
        odd = sorted(set(fitted) ^ set(KINDS))
        raise ValueError(f"The saved model is incomplete or holds what it should not: {odd}.")
    for name, kind in KINDS.items():
        if not isinstance(fitted[name], kind):
            raise ValueError(f"The saved model holds a {type(fitted[name]).__name__} as {name}.")
        if kind is float and not np.isfinite(fitted[name]):
            raise ValueError(f"The saved model holds {fitted[name]} as {name}.")
    membership, history = fitted["membership_"], fitted["objective_history_"]
    if not (
        fitted["n_components_"] == k
        and fitted["n_features_in_"] == d
        and fitted["components_"].shape == (k, d)
        and membership.dtype == np.bool_
        and membership.ndim == 2
        and membership.shape[1] == k
        and history.shape == (fitted["n_iter_"],)
    ):
        raise ValueError("The saved model contradicts itself: sizes or memberships disagree.")
