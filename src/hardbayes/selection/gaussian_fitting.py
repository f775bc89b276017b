"""One fit of clusters with covariances: which prior and penalty, from where, and the way down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.gaussian.likelihood import clusters_of
from hardbayes.engine.gaussian.restarts import (
    minimise,
    one_cluster,
    sample_rows,
    sampled,
    weighted_mean,
)
from hardbayes.problems.gaussian import Whitening, whitening
from hardbayes.selection.gaussian_path import Choice, choose
from hardbayes.selection.gaussian_prior import NOT_DEFINITE, PriorSearch
from hardbayes.structure.gaussians import GaussianPartition, at_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.engine.gaussian.descent import GaussianSolution
    from hardbayes.engine.gaussian.restarts import Plan
    from hardbayes.executors.gaussian.rows import GaussianRows
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool
    from hardbayes.selection.gaussian_prior import Ids
    from hardbayes.structure.gaussians import Gaussians


@dataclass(frozen=True)
class Asked:
    """What a fit is to be, in the user's units; None is to be found from the rows."""

    penalty: float | None
    prior: Floats | None  # (d, d), or (d,) where covariances are diagonal
    centres: Floats | None  # (k, d), to start at
    rate: float  # the weight of the log-determinant
    diagonal: bool
    max_clusters: int
    plan: Plan


class Sample(NamedTuple):
    """Rows that were looked at on the way to a prior or a penalty, and the clusters they had."""

    ids: NDArray[np.intp]  # (m,)
    labels: Ids  # (m,)


class Settled(NamedTuple):
    """A prior and a penalty, as they were asked for or found."""

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
    asked: Asked,
    rng: np.random.RandomState,
    pool: Pool,
    report: Callable[[int, int, int], None],
) -> Fit:
    """Return the fit that is asked for; weights (n,)."""
    middle = weighted_mean(matrix, weights)
    settled = settle(matrix, weights, middle, asked, rng, pool)
    frame = frame_of(middle, settled.prior)
    data = frame.rows(matrix, weights, pool)
    partition = GaussianPartition(settled.penalty, asked.rate, asked.max_clusters)
    start = start_of(data, frame, asked, settled.sample)
    solution = minimise(data, partition, start, asked.plan, rng, report)
    return Fit(solution, partition, frame, settled.prior)


def settle(
    matrix: NDArray[np.floating],
    weights: Floats,
    middle: Floats,
    asked: Asked,
    rng: np.random.RandomState,
    pool: Pool,
) -> Settled:
    """Return prior and penalty, and the clusters of some rows where one had to be looked for."""
    if asked.prior is not None:
        frame_of(middle, asked.prior)  # one that has none is told of before the search meets it
        if asked.penalty is not None:
            return Settled(asked.prior, asked.penalty, None)
    ids = sample_rows(weights, rng)
    search = PriorSearch(
        matrix[ids],
        weights[ids],
        float(weights.sum()),
        middle,
        asked.prior,
        asked.diagonal,
        rng,
        asked.plan.max_steps,
        pool,
    )
    found = look_for(search, asked)
    prior = search.in_units(found.prior.matrix) if asked.prior is None else asked.prior
    return Settled(prior, found.penalty, Sample(ids, found.prior.labels))


def look_for(search: PriorSearch, asked: Asked) -> Choice:
    """Return a prior for the penalty that is asked for, or a number of clusters and both."""
    if asked.penalty is None:
        return choose(search, asked.rate, asked.max_clusters)
    partition = GaussianPartition(asked.penalty, asked.rate, asked.max_clusters)
    return Choice(search.improve(search.first(partition), partition), asked.penalty)


def start_of(
    data: GaussianRows, frame: Whitening, asked: Asked, sample: Sample | None
) -> Gaussians:
    """Return where to start: at given centres, at clusters found on the way, or with one."""
    if asked.centres is not None:
        points = frame.rows(asked.centres, np.zeros(0), data.pool).rows
        return at_points(points, asked.diagonal)
    if sample is None or asked.plan.search == "paper":
        return one_cluster(data)
    return clusters_of(sampled(data, sample.ids), sample.labels)


def frame_of(middle: Floats, prior: Floats) -> Whitening:
    """Return coordinates in which a prior is the identity, or say that there are none."""
    try:
        return whitening(middle, prior)
    except np.linalg.LinAlgError:
        raise ValueError(NOT_DEFINITE) from None
