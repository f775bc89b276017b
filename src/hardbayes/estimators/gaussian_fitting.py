"""One fit of `GaussianDPMeans`: which prior, which penalty, from where, and then the way down."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.engine.gaussian import GaussianSolution
from hardbayes.engine.gaussian_frame import Whitening, whitening
from hardbayes.engine.gaussian_prior import NOT_DEFINITE, PriorSearch, given_prior
from hardbayes.engine.gaussian_restarts import (
    Plan,
    minimise,
    one_cluster,
    sample_rows,
    sampled,
    weighted_mean,
)
from hardbayes.engine.problem import cluster_bound
from hardbayes.executors.pool import Pool
from hardbayes.geometry.base import Floats
from hardbayes.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.selection.gaussian_path import choose
from hardbayes.structure.gaussians import GaussianPartition, Gaussians, at_points
from hardbayes.validation import check_centres


class Fit(NamedTuple):
    """A solution and what it is a solution of."""

    solution: GaussianSolution
    partition: GaussianPartition
    frame: Whitening
    prior: Floats  # (d, d) or (d,), in the user's units


def fit_rows(
    matrix: NDArray[np.floating],
    weights: Floats,
    parameters: dict[str, Any],
    rng: np.random.RandomState,
    pool: Pool,
    report: Any,
) -> Fit:
    """Return the fit that the parameters of an estimator ask for."""
    d = matrix.shape[1]
    diagonal = parameters["covariance_type"] == "diag"
    asked = parameters["cluster_penalty"]
    most = parameters["max_clusters"] or cluster_bound(d)
    steps = parameters["max_iter"]
    plan = Plan(parameters["search"], parameters["order"], parameters["n_init"], steps)
    partition = GaussianPartition(
        0.0 if asked == "auto" else float(asked), float(parameters["covariance_penalty"]), most
    )
    middle = weighted_mean(matrix, weights)
    prior, given = None, parameters["covariance_prior"]
    if not isinstance(given, str):
        prior = given_prior(given, d, diagonal)
    ids, labels = None, None
    if prior is None or asked == "auto":
        ids = sample_rows(weights, rng)
        total = float(weights.sum())
        search = PriorSearch(
            matrix[ids], weights[ids], total, middle, prior, diagonal, rng, steps, pool
        )
        if asked == "auto":
            choice = choose(search, partition.rate, most)
            found = choice.prior
            partition = GaussianPartition(choice.penalty, partition.rate, most)
        else:
            found = search.improve(search.first(partition), partition)
        prior = search.in_units(found.matrix) if prior is None else prior
        labels = found.labels
    frame = frame_of(middle, prior)
    data = frame.rows(matrix, weights, pool)
    if not isinstance(parameters["init"], str):
        centres = check_centres(parameters["init"], SquaredEuclidean(), d, most)
        start = at_points(frame.rows(centres, np.zeros(0), pool).rows, diagonal)
    elif ids is None or labels is None or plan.search == "paper":
        start = one_cluster(data)
    else:
        start = Gaussians(*sampled(data, ids).statistics(labels, int(labels.max()) + 1))
        start = start.pick(start.weights > 0)
    solution = minimise(data, partition, start, plan, rng, report)
    return Fit(solution, partition, frame, prior)


def frame_of(middle: Floats, prior: Floats) -> Whitening:
    """Return coordinates in which a prior is the identity, or say that there are none."""
    try:
        return whitening(middle, prior)
    except np.linalg.LinAlgError:
        raise ValueError(NOT_DEFINITE) from None
