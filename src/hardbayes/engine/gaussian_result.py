"""A fit with covariances, as the attributes of an estimator in the user's units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.gaussian_model import FittedGaussians
from hardbayes.engine.objective import level_rounding
from hardbayes.engine.status import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.engine.gaussian import GaussianSolution
    from hardbayes.engine.gaussian_frame import Whitening
    from hardbayes.structure.gaussians import GaussianPartition


def fitted_attributes(
    solution: GaussianSolution,
    frame: Whitening,
    partition: GaussianPartition,
    weights: NDArray[np.float64],
    dtype: np.dtype[Any],
) -> dict[str, Any]:
    """Return what a fitted estimator holds, but for what it was told."""
    clusters, history = solution.clusters, level_rounding(solution.history)
    if not np.isfinite(history).all():
        raise ValueError("The objective is not a finite number. Rescale X.")
    return {
        "_model": FittedGaussians(frame, clusters, partition.rate, partition.penalty),
        "labels_": solution.labels.astype(np.int32),
        "n_clusters_": clusters.k,
        "cluster_centers_": frame.from_working(clusters.means).astype(dtype),
        "cluster_weights_": np.bincount(solution.labels, weights, clusters.k),
        "covariances_": frame.covariances(clusters.scatters, partition.rate),
        "cluster_penalty_": partition.penalty,
        "inertia_": solution.fit,
        "objective_": float(history[-1]),
        "objective_history_": history,
        "n_iter_": len(history),
        "n_splits_": solution.n_splits,
        "n_merges_": solution.n_merges,
        "converged_": solution.status is not Status.OUT_OF_STEPS,
        "status_": solution.status.sentence(len(history), clusters.k),
    }
