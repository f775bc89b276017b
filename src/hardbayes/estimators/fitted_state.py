"""Checks of the fitted attributes read from a file."""

from typing import Any

import numpy as np

KINDS: dict[str, type] = {
    "inertia_": float,
    "objective_": float,
    "objective_history_": np.ndarray,
    "n_iter_": int,
    "converged_": bool,
    "status_": str,
    "n_features_in_": int,
}
CLUSTERS = KINDS | {
    "labels_": np.ndarray,
    "n_clusters_": int,
    "cluster_weights_": np.ndarray,
    "cluster_penalty_": float,
    "n_splits_": int,
    "n_merges_": int,
}
GROUPED = {name: kind for name, kind in CLUSTERS.items() if name != "cluster_penalty_"} | {
    "prior_weight_": float,
    "local_penalty_": float,
    "global_penalty_": float,
    "local_labels_": np.ndarray,
    "n_local_clusters_": np.ndarray,
    "group_cluster_weights_": np.ndarray,
    "groups_": np.ndarray,
}
NOT_OF_GRAPHS = ("inertia_", "cluster_centers_")
PLATEAU = {"plateau_width_": float, "plateau_reference_": float}
GRAPH = {name: kind for name, kind in CLUSTERS.items() if name not in NOT_OF_GRAPHS} | {
    "cut_": float,
    "cuts_per_cluster_": np.ndarray,
    "vertex_names_": np.ndarray,
}
SPECTRAL = {"n_eigenvectors_": int, "eigenvalues_": np.ndarray, "lower_bound_": float}
FEATURES = KINDS | {
    "components_": np.ndarray,
    "n_components_": int,
    "component_penalty_": float,
    "membership_": np.ndarray,
}
TOPICS = KINDS | {
    "labels_": np.ndarray,
    "components_": np.ndarray,
    "relevance_": np.ndarray,
    "n_topics_": int,
    "topic_weights_": np.ndarray,
    "topic_documents_": np.ndarray,
    "local_penalty_": float,
    "global_penalty_": float,
    "n_splits_": int,
    "n_merges_": int,
}


def check_clusters(fitted: dict[str, Any], k: int, d: int) -> None:
    """Raise ValueError unless these are all fitted attributes of k clusters in d columns."""
    automatic: dict[str, type] = dict(PLATEAU) if set(fitted) >= set(PLATEAU) else {}
    if automatic and "penalty_choice_" in fitted:  # the first files have none
        automatic["penalty_choice_"] = dict
    _check_kinds(fitted, CLUSTERS | {"prior_weight_": float} | automatic)
    _check_sizes(fitted, k, d)


def check_gaussians(fitted: dict[str, Any], k: int, d: int, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless these are the attributes of k clusters with such covariances."""
    arrays = ("cluster_centers_", "covariances_", "covariance_prior_")
    kinds = CLUSTERS | dict.fromkeys(arrays, np.ndarray)
    if "penalty_choice_" in fitted:  # of an automatic penalty
        kinds |= {"penalty_choice_": dict}
    _check_kinds(fitted, kinds)
    if fitted["cluster_centers_"].shape != (k, d):
        raise ValueError("The saved model contradicts itself: centres have the wrong shape.")
    if fitted["covariances_"].shape != (k, *shape) or fitted["covariance_prior_"].shape != shape:
        raise ValueError("The saved model contradicts itself: covariances have the wrong shape.")
    _check_sizes(fitted, k, d)


def check_grouped(fitted: dict[str, Any], n_groups: int, k: int, d: int) -> None:
    """Raise ValueError unless these are all fitted attributes of so many groups and clusters."""
    _check_kinds(fitted, GROUPED)
    _check_sizes(fitted, k, d)
    if not (
        fitted["groups_"].shape == fitted["n_local_clusters_"].shape == (n_groups,)
        and fitted["group_cluster_weights_"].shape == (n_groups, k)
        and fitted["local_labels_"].shape == fitted["labels_"].shape
    ):
        raise ValueError("The saved model contradicts itself: groups disagree.")


def check_graph_clusters(fitted: dict[str, Any], labels: Any, k: int) -> None:
    """Raise ValueError unless these are the attributes of these labels (n,) of k clusters."""
    _check_kinds(fitted, GRAPH)
    if not (
        fitted["n_clusters_"] == k
        and fitted["n_features_in_"] == len(labels)
        and fitted["labels_"].dtype == np.int32
        and np.array_equal(fitted["labels_"], labels)
        and fitted["vertex_names_"].shape == labels.shape
        and fitted["cuts_per_cluster_"].shape == fitted["cluster_weights_"].shape == (k,)
        and fitted["objective_history_"].shape == (fitted["n_iter_"],)
    ):
        raise ValueError("The saved model contradicts itself: sizes or labels disagree.")


def check_kernel_clusters(fitted: dict[str, Any], k: int, spectral: bool) -> None:
    """Raise ValueError unless these are the attributes of k clusters in the space of a kernel."""
    _check_kinds(fitted, CLUSTERS | SPECTRAL if spectral else CLUSTERS)
    _check_sizes(fitted, k, fitted["n_features_in_"])


def check_features(fitted: dict[str, Any], k: int, d: int) -> None:
    """Raise ValueError unless these are all fitted attributes of k features in d columns."""
    _check_kinds(fitted, FEATURES)
    membership = fitted["membership_"]
    if not (
        fitted["n_components_"] == k
        and fitted["n_features_in_"] == d
        and fitted["components_"].shape == (k, d)
        and membership.dtype == np.bool_
        and membership.ndim == 2
        and membership.shape[1] == k
        and fitted["objective_history_"].shape == (fitted["n_iter_"],)
    ):
        raise ValueError("The saved model contradicts itself: sizes or memberships disagree.")


def check_topics(fitted: dict[str, Any], k: int, v: int) -> None:
    """Raise ValueError unless these are all fitted attributes of k topics of v words."""
    background = fitted.get("background_")
    kind: type = type(None) if background is None else np.ndarray
    _check_kinds(fitted, TOPICS | {"background_": kind})
    labels = fitted["labels_"]
    if not (
        fitted["n_topics_"] == k
        and fitted["n_features_in_"] == v
        and fitted["components_"].shape == fitted["relevance_"].shape == (k, v)
        and fitted["topic_weights_"].shape == fitted["topic_documents_"].shape == (k,)
        and (background is None or background.shape == (v,))
        and labels.dtype == np.int32
        and labels.ndim == 1
        and (len(labels) == 0 or (labels.min() >= -1 and labels.max() < k))
        and fitted["objective_history_"].shape == (fitted["n_iter_"],)
    ):
        raise ValueError("The saved model contradicts itself: sizes or labels disagree.")


def _check_kinds(fitted: dict[str, Any], kinds: dict[str, type]) -> None:
    if set(fitted) != set(kinds):
        odd = sorted(set(fitted) ^ set(kinds))
        raise ValueError(f"The saved model is incomplete or holds what it should not: {odd}.")
    for name, kind in kinds.items():
        if not isinstance(fitted[name], kind):
            raise ValueError(f"The saved model holds a {type(fitted[name]).__name__} as {name}.")
        no_bound = name == "lower_bound_" and fitted[name] == -np.inf
        if kind is float and not np.isfinite(fitted[name]) and not no_bound:
            raise ValueError(f"The saved model holds {fitted[name]} as {name}.")


def _check_sizes(fitted: dict[str, Any], k: int, d: int) -> None:
    labels = fitted["labels_"]
    if not (
        fitted["n_clusters_"] == k
        and fitted["n_features_in_"] == d
        and fitted["cluster_weights_"].shape == (k,)
        and labels.dtype == np.int32
        and labels.ndim == 1
        and (len(labels) == 0 or (labels.min() >= 0 and labels.max() < k))
        and fitted["objective_history_"].shape == (fitted["n_iter_"],)
    ):
        raise ValueError("The saved model contradicts itself: sizes or labels disagree.")
