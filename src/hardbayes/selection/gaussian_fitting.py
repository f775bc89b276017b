"""One fit of clusters with covariances: its prior and penalty, its start, and the descent."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardbayes.engine.gaussian.model import clusters_of
from hardbayes.engine.gaussian.restarts import Options, minimise, one_cluster, sample_rows, sampled
from hardbayes.engine.status import Status
from hardbayes.executors.gaussian.protocol import Ids
from hardbayes.matrices import Floats
from hardbayes.models.gaussian import fitted_attributes
from hardbayes.pool import Pool
from hardbayes.problems.gaussian import weighted_mean, whitening
from hardbayes.selection.gaussian_path import choose
from hardbayes.selection.gaussian_prior import PriorSearch
from hardbayes.structure.gaussians import GaussianPartition, at_points

Sample: TypeAlias = tuple[NDArray[np.intp], Ids]  # rows (m,), and the labels (m,) found for them


def fit_rows(
    matrix: NDArray[np.floating],
    weights: Floats,
    options: Options,
    rng: np.random.RandomState,
    pool: Pool,
    report: Callable[[int, int, int], None],
) -> tuple[dict[str, Any], Status]:
    """Return the fitted attributes for a matrix (n, d) with weights (n,), and the status."""
    middle = weighted_mean(matrix, weights)
    prior, penalty, sample = choose_missing(matrix, weights, middle, options, rng, pool)
    frame = whitening(middle, prior)
    rows = frame.rows(matrix, weights, pool)
    partition = GaussianPartition(penalty, options.rate, options.max_clusters)
    if options.centres is not None:
        points = frame.rows(options.centres, np.zeros(0), pool).rows
        start = at_points(points, options.diagonal)
    elif sample is None or options.search == "paper":
        start = one_cluster(rows)
    else:
        start = clusters_of(sampled(rows, sample[0]), sample[1])
    solution = minimise(rows, partition, start, options, rng, report)
    fitted = fitted_attributes(solution, frame, partition, weights, matrix.dtype)
    return fitted | {"covariance_prior_": prior}, solution.status


def choose_missing(
    matrix: NDArray[np.floating],
    weights: Floats,
    middle: Floats,
    options: Options,
    rng: np.random.RandomState,
    pool: Pool,
) -> tuple[Floats, float, Sample | None]:
    """Return prior and penalty, what is not given chosen on some rows, and the clusters of these.

    The prior is (d, d) or (d,), in the user's units.
    """
    if options.prior is not None:
        whitening(middle, options.prior)  # raises before the search if it is not definite
        if options.penalty is not None:
            return options.prior, options.penalty, None
    ids = sample_rows(weights, rng)
    search = PriorSearch(
        matrix[ids], weights[ids], float(weights.sum()), middle, options, rng, pool
    )
    penalty = options.penalty
    if penalty is None:
        found, penalty = choose(search, options.rate, options.max_clusters)
    else:
        partition = GaussianPartition(penalty, options.rate, options.max_clusters)
        found = search.improve(search.first(partition), partition)
    prior = search.in_units(found.matrix) if options.prior is None else options.prior
    return prior, penalty, (ids, found.labels)
