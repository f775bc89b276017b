"""What a fitted estimator must hold, checked before a file may become one."""

from typing import Any

import numpy as np

PLATEAU = {"plateau_width_", "plateau_reference_"}


def check_fitted(
    fitted: dict[str, Any], k: int, d: int, more: dict[str, tuple[int, ...]] | None = None
) -> None:
    """Raise ValueError unless these are all fitted attributes of k clusters in d columns.

    ``more``: arrays of covariances and their shapes, in place of what only `DPMeans` has.
    """
    kinds: dict[str, type] = {
        "labels_": np.ndarray,
        "n_clusters_": int,
        "cluster_centers_": np.ndarray,
        "cluster_weights_": np.ndarray,
        "cluster_penalty_": float,
        "prior_weight_": float,
        "inertia_": float,
        "objective_": float,
        "objective_history_": np.ndarray,
        "n_iter_": int,
        "n_splits_": int,
        "n_merges_": int,
        "converged_": bool,
        "status_": str,
        "n_features_in_": int,
    }
    if more is not None:
        del kinds["prior_weight_"]
        kinds |= dict.fromkeys(more, np.ndarray)
    if set(fitted) >= PLATEAU:  # there where the penalty was "auto"
        kinds |= dict.fromkeys(PLATEAU, float)
    if set(fitted) != set(kinds):
        odd = sorted(set(fitted) ^ set(kinds))
        raise ValueError(f"The saved model is incomplete or holds what it should not: {odd}.")
    for name, kind in kinds.items():
        if not isinstance(fitted[name], kind):
            raise ValueError(f"The saved model holds a {type(fitted[name]).__name__} as {name}.")
        if kind is float and not np.isfinite(fitted[name]):
            raise ValueError(f"The saved model holds {fitted[name]} as {name}.")
    if any(fitted[name].shape != shape for name, shape in (more or {}).items()):
        raise ValueError("The saved model contradicts itself: covariances have the wrong shape.")
    labels, history = fitted["labels_"], fitted["objective_history_"]
    if not (
        fitted["n_clusters_"] == k
        and fitted["n_features_in_"] == d
        and fitted["cluster_centers_"].shape == (k, d)
        and fitted["cluster_weights_"].shape == (k,)
        and labels.dtype == np.int32
        and labels.ndim == 1
        and (len(labels) == 0 or (labels.min() >= 0 and labels.max() < k))
        and history.shape == (fitted["n_iter_"],)
    ):
        raise ValueError("The saved model contradicts itself: sizes or labels disagree.")
