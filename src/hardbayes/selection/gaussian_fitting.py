"""One fit of clusters with covariances: its prior and penalty, its start, and the descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.gaussian.model import clusters_of
from hardbayes.engine.gaussian.restarts import minimise, one_cluster, sample_rows, sampled
from hardbayes.problems.gaussian import Whitening, weighted_mean, whitening
from hardbayes.selection.gaussian_path import Choice, choose
from hardbayes.selection.gaussian_prior import PriorSearch
from hardbayes.structure.gaussians import GaussianPartition, at_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.engine.gaussian.model import GaussianSolution
    from hardbayes.engine.gaussian.restarts import Plan
    from hardbayes.executors.gaussian.memory import MemoryGaussianRows
    from hardbayes.executors.gaussian.protocol import Ids
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool
    from hardbayes.structure.gaussians import Gaussians


class Options(NamedTuple):
    """The parameters of a fit, in the user's units; None where the rows are to determine one."""

    penalty: float | None
    prior: Floats | None  # (d, d), or (d,) where covariances are diagonal
    centres: Floats | None  # (k, d), to start at
    rate: float  # the weight of the log-determinant
    diagonal: bool
    max_clusters: int
    plan: Plan


class Sample(NamedTuple):
    """Rows on which a prior or a penalty was chosen, and the partition found with it."""

    ids: NDArray[np.intp]  # (m,)
    labels: Ids  # (m,)


class Chosen(NamedTuple):
    """A prior and a penalty, as given or as chosen."""

    prior: Floats  # (d, d) or (d,), in the user's units
    penalty: float
    sample: Sample | None  # None where both were given


class Fit(NamedTuple):
    """A solution and what it is a solution of."""

    solution: GaussianSolution
    partition: GaussianPartition
    frame: Whitening
    prior: Floats  # (d, d) or (d,), in the user's units


def fit_rows(
    matrix: NDArray[np.floating],
    weights: Floats,
    options: Options,
    rng: np.random.RandomState,
    pool: Pool,
    report: Callable[[int, int, int], None],
) -> Fit:
    """Return the fit of a matrix (n, d) with weights (n,)."""
    middle = weighted_mean(matrix, weights)
    prior, penalty, sample = choose_missing(matrix, weights, middle, options, rng, pool)
    frame = whitening(middle, prior)
    rows = frame.rows(matrix, weights, pool)
    partition = GaussianPartition(penalty, options.rate, options.max_clusters)
    start = first_clusters(rows, frame, options, sample)
    solution = minimise(rows, partition, start, options.plan, rng, report)
    return Fit(solution, partition, frame, prior)


def choose_missing(
    matrix: NDArray[np.floating],
    weights: Floats,
    middle: Floats,
    options: Options,
    rng: np.random.RandomState,
    pool: Pool,
) -> Chosen:
    """Return prior and penalty; what is not given is chosen on at most a sample of the rows."""
    if options.prior is not None:
        whitening(middle, options.prior)  # raises before the search if it is not definite
        if options.penalty is not None:
            return Chosen(options.prior, options.penalty, None)
    ids = sample_rows(weights, rng)
    search = PriorSearch(
        matrix[ids],
        weights[ids],
        float(weights.sum()),
        middle,
        options.prior,
        options.diagonal,
        rng,
        options.plan.max_steps,
        pool,
    )
    if options.penalty is None:
        found = choose(search, options.rate, options.max_clusters)
    else:
        partition = GaussianPartition(options.penalty, options.rate, options.max_clusters)
        found = Choice(search.improve(search.first(partition), partition), options.penalty)
    prior = search.in_units(found.prior.matrix) if options.prior is None else options.prior
    return Chosen(prior, found.penalty, Sample(ids, found.prior.labels))


def first_clusters(
    rows: MemoryGaussianRows, frame: Whitening, options: Options, sample: Sample | None
) -> Gaussians:
    """Return where to start: at given centres, with the clusters of the sample, or with one."""
    if options.centres is not None:
        points = frame.rows(options.centres, np.zeros(0), rows.pool).rows
        return at_points(points, options.diagonal)
    if sample is None or options.plan.search == "paper":
        return one_cluster(rows)
    return clusters_of(sampled(rows, sample.ids), sample.labels)
