"""Checks of the fitted attributes read from a file."""

from typing import Any

import numpy as np

Kinds = dict[str, type]
Shapes = dict[str, tuple[int, ...]]

ANY = -1  # stands for any length
SCALARS: Kinds = {"objective_": float, "n_iter_": int, "converged_": bool, "status_": str}
MOVES: Kinds = {"n_splits_": int, "n_merges_": int}
CLUSTERS = SCALARS | MOVES | {"inertia_": float, "cluster_penalty_": float}
CHOICE: Kinds = {"penalty_choice_": dict}
PLATEAU: Kinds = {"plateau_width_": float, "plateau_reference_": float}
SPECTRAL: Kinds = {"n_eigenvectors_": int, "lower_bound_": float}
TWO_PENALTIES: Kinds = {"inertia_": float, "local_penalty_": float, "global_penalty_": float}


def check_clusters(fitted: dict[str, Any], k: int, d: int) -> None:
    """Raise ValueError unless these are all fitted attributes of k clusters in d columns."""
    scalars = CLUSTERS | {"prior_weight_": float}
    if set(fitted) >= set(PLATEAU):
        scalars |= PLATEAU | (CHOICE if "penalty_choice_" in fitted else {})  # none in first files
    shapes: Shapes = {"labels_": (ANY,), "cluster_weights_": (k,)}
    _check(fitted, scalars, {"n_clusters_": k, "n_features_in_": d}, shapes)


def check_gaussians(fitted: dict[str, Any], k: int, d: int, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless these are the attributes of k clusters with such covariances."""
    scalars = CLUSTERS | (CHOICE if "penalty_choice_" in fitted else {})
    shapes: Shapes = {
        "labels_": (ANY,),
        "cluster_weights_": (k,),
        "cluster_centers_": (k, d),
        "covariances_": (k, *shape),
        "covariance_prior_": shape,
    }
    _check(fitted, scalars, {"n_clusters_": k, "n_features_in_": d}, shapes)


def check_grouped(fitted: dict[str, Any], n_groups: int, k: int, d: int) -> None:
    """Raise ValueError unless these are all fitted attributes of so many groups and clusters."""
    scalars = SCALARS | MOVES | TWO_PENALTIES | {"prior_weight_": float}
    shapes: Shapes = {
        "labels_": (ANY,),
        "local_labels_": (ANY,),
        "cluster_weights_": (k,),
        "groups_": (n_groups,),
        "n_local_clusters_": (n_groups,),
        "group_cluster_weights_": (n_groups, k),
    }
    _check(fitted, scalars, {"n_clusters_": k, "n_features_in_": d}, shapes)
    if len(fitted["local_labels_"]) != len(fitted["labels_"]):
        raise _contradiction("local_labels_ are not as many as labels_")


def check_graph_clusters(fitted: dict[str, Any], labels: Any, k: int) -> None:
    """Raise ValueError unless these are the attributes of these labels (n,) of k clusters."""
    n = len(labels)
    scalars = SCALARS | MOVES | {"cut_": float, "cluster_penalty_": float}
    shapes: Shapes = {"labels_": (n,), "vertex_names_": (n,)}
    shapes |= {"cluster_weights_": (k,), "cuts_per_cluster_": (k,)}
    _check(fitted, scalars, {"n_clusters_": k, "n_features_in_": n}, shapes)
    if not np.array_equal(fitted["labels_"], labels):
        raise _contradiction("labels_ are not those of the vertices")


def check_kernel_clusters(fitted: dict[str, Any], k: int, spectral: bool) -> None:
    """Raise ValueError unless these are the attributes of k clusters in the space of a kernel."""
    scalars = CLUSTERS | {"n_features_in_": int} | (SPECTRAL if spectral else {})
    shapes: Shapes = {"labels_": (ANY,), "cluster_weights_": (k,)}
    shapes |= {"eigenvalues_": (ANY,)} if spectral else {}
    _check(fitted, scalars, {"n_clusters_": k}, shapes)


def check_features(fitted: dict[str, Any], k: int, d: int) -> None:
    """Raise ValueError unless these are all fitted attributes of k features in d columns."""
    scalars = SCALARS | {"inertia_": float, "component_penalty_": float}
    shapes: Shapes = {"components_": (k, d), "membership_": (ANY, k)}
    _check(fitted, scalars, {"n_components_": k, "n_features_in_": d}, shapes)
    if fitted["membership_"].dtype != np.bool_:
        raise _contradiction("membership_ holds other values than true and false")


def check_topics(fitted: dict[str, Any], k: int, v: int) -> None:
    """Raise ValueError unless these are all fitted attributes of k topics of v words."""
    scalars = SCALARS | MOVES | TWO_PENALTIES
    shapes: Shapes = {"labels_": (ANY,), "components_": (k, v), "relevance_": (k, v)}
    shapes |= {"topic_weights_": (k,), "topic_documents_": (k,)}
    if fitted.get("background_", 0) is None:
        scalars |= {"background_": type(None)}
    else:
        shapes |= {"background_": (v,)}
    _check(fitted, scalars, {"n_topics_": k, "n_features_in_": v}, shapes, least_label=-1)


def _check(
    fitted: dict[str, Any],
    scalars: Kinds,
    numbers: dict[str, int],
    shapes: Shapes,
    least_label: int = 0,
) -> None:
    """Raise ValueError unless there are these attributes alone, of these kinds, sizes and shapes.

    The first of ``numbers`` is that of clusters, which bounds the labels.
    """
    shapes = shapes | {"objective_history_": (fitted.get("n_iter_", ANY),)}
    kinds: Kinds = scalars | dict.fromkeys(numbers, int) | dict.fromkeys(shapes, np.ndarray)
    if set(fitted) != set(kinds):
        odd = sorted(set(fitted) ^ set(kinds))
        raise ValueError(f"The saved model is incomplete or holds what it should not: {odd}.")
    for name, kind in kinds.items():
        if not isinstance(fitted[name], kind):
            raise ValueError(f"The saved model holds a {type(fitted[name]).__name__} as {name}.")
        no_bound = name == "lower_bound_" and fitted[name] == -np.inf
        if kind is float and not np.isfinite(fitted[name]) and not no_bound:
            raise ValueError(f"The saved model holds {fitted[name]} as {name}.")
    for name, number in numbers.items():
        if fitted[name] != number:
            raise _contradiction(f"{name} is {fitted[name]}, not {number}")
    for name, shape in shapes.items():
        found = fitted[name].shape
        if len(found) != len(shape) or any(
            length not in (ANY, own) for length, own in zip(shape, found, strict=True)
        ):
            raise _contradiction(f"{name} has the shape {found}")
    if "labels_" in shapes:
        labels, k = fitted["labels_"], next(iter(numbers.values()))
        outside = len(labels) and (labels.min() < least_label or labels.max() >= k)
        if labels.dtype != np.int32 or outside:
            raise _contradiction(f"labels_ are not numbers of {k} clusters")


def _contradiction(what: str) -> ValueError:
    return ValueError(f"The saved model contradicts itself: {what}.")
