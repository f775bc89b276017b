"""Clusters numbered by size."""

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hardbayes.estimators.dp_means import DPMeans
from hardbayes.estimators.gaussian_dp_means import GaussianDPMeans
from hardbayes.estimators.hdp_means import HDPMeans


def by_size(model: Any) -> Any:
    """Return a fitted model with its clusters numbered by size: cluster 0 is the largest.

    Estimators number clusters in the order in which they were opened.

    Parameters
    ----------
    model : DPMeans, HDPMeans or GaussianDPMeans
        A fitted estimator; it does not change.

    Returns
    -------
    model : DPMeans, HDPMeans or GaussianDPMeans
        A copy in which ``labels_``, ``cluster_centers_``, ``cluster_weights_``, ``covariances_``,
        ``group_cluster_weights_`` and predictions have the new numbers. Clusters of equal weight
        keep their order.

    Examples
    --------
    >>> from hardbayes import DPMeans, by_size
    >>> X = [[0.0], [5.0], [5.1], [9.0], [9.1], [9.2]]
    >>> model = DPMeans(1.0, order="given").fit(X)
    >>> by_size(model).labels_
    array([2, 1, 1, 0, 0, 0], dtype=int32)
    """
    if not isinstance(model, DPMeans | HDPMeans | GaussianDPMeans):
        raise TypeError(
            "The 'model' parameter of by_size must be a fitted DPMeans, HDPMeans or "
            f"GaussianDPMeans. Got {type(model).__name__} instead."
        )
    check_is_fitted(model)
    order = np.argsort(-model.cluster_weights_, kind="stable")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order))
    numbered: Any = copy(model)
    numbered.labels_ = numbers[model.labels_]
    for name in ("cluster_centers_", "cluster_weights_", "covariances_"):
        if name in vars(model):  # centres may be computed from the model
            setattr(numbered, name, getattr(model, name)[order])
    if "group_cluster_weights_" in vars(model):
        numbered.group_cluster_weights_ = model.group_cluster_weights_[:, order]
    numbered._model = model._model.reordered(order)
    return numbered
