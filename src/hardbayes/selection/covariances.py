"""A number of clusters and a penalty for clusters with covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.pool import Pool, resolve_threads
from hardbayes.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.moves.gaussian_rows import freed_by_leaving
from hardbayes.moves.gaussian_splits import divide, union_costs
from hardbayes.selection.automatic import choose_penalty

if TYPE_CHECKING:
    from hardbayes.engine.gaussian import GaussianSolution
    from hardbayes.geometry.base import Floats
    from hardbayes.structure.gaussians import GaussianPartition


def number_of_clusters(
    matrix: Floats, weights: Floats | None, max_clusters: int | None, rng: np.random.RandomState
) -> int:
    """Return how many round clusters the standardised columns hold, as `DPMeans` counts them."""
    spread = matrix.std(axis=0, dtype=np.float64)
    rows = (matrix - matrix.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1.0)
    with Pool(resolve_threads(None)) as pool:
        return choose_penalty(
            rows, SquaredEuclidean(), weights, 0.0, max_clusters, rng, pool
        ).n_clusters


def penalty_between(
    rows: Floats,
    weights: Floats,
    solution: GaussianSolution,
    partition: GaussianPartition,
    rng: np.random.RandomState,
) -> float:
    """Return a penalty at which the clusters of a solution neither unite nor divide.

    The geometric middle between what the best division saves, be it of a single row, and what the
    cheapest union costs; where there is no room between them, the former.
    """
    saved = max(
        divide(
            rows, weights, np.flatnonzero(solution.labels == c), solution.clusters.pick([c]),
            partition, rng,
        ).saved
        for c in range(solution.clusters.k)
    )  # fmt: skip
    leaving = freed_by_leaving(rows, weights, solution.labels, solution.clusters)
    saved = max(saved, partition.rate * float(leaving.max()))
    costs = union_costs(solution.clusters, partition)[2]
    if not len(costs):
        return 2.0 * saved
    return float(np.sqrt(saved * costs[0])) if saved < costs[0] else saved
