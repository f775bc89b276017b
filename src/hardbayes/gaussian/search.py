"""Fits of clusters with covariances: one, the best of several, and where they start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import unlabelled
from hardbayes.core.centre_free_descent import Descent, Solution
from hardbayes.core.loop import Status, say_nothing
from hardbayes.gaussian.problem import Gaussians, at_points

if TYPE_CHECKING:
    from hardbayes.gaussian.clusters import GaussianRows

GaussianSolution: TypeAlias = Solution[Gaussians]

# Where there are more rows than this, a sample of so many is used to find a start.
MAX_SAMPLE = 1 << 12
# By how much the penalty is lowered, and up to how many clusters, to find a start from above.
OVERSHOOT = 4.0
MAX_GROWN = 64


class Options(NamedTuple):
    """The parameters of a fit, in the user's units; None where the rows are to determine one."""

    penalty: float | None
    prior: Floats | None  # (d, d), or (d,) where covariances are diagonal
    centres: Floats | None  # (k, d), to start at
    rate: float  # the weight of the log-determinant
    diagonal: bool
    max_clusters: int
    search: str
    order: str
    n_init: int
    max_steps: int
    n_clusters: int | None = None  # where it is told


def sample_rows(weights: Floats, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return rows with weight: all, or a random sample."""
    heavy = np.flatnonzero(weights > 0)
    return heavy if len(heavy) <= MAX_SAMPLE else np.sort(rng.choice(heavy, MAX_SAMPLE, False))


def sampled(rows: GaussianRows, ids: NDArray[np.intp]) -> GaussianRows:
    """Return some rows, with the weight of all, so that clusters cost the same in a sample."""
    weights = rows.weights[ids]
    some = rows.sample(ids, weights * (rows.weights.sum() / weights.sum()))
    return replace(some, partition=rows.partition)


def one_cluster(rows: GaussianRows) -> Gaussians:
    """Return all rows as one cluster."""
    return rows.statistics(np.zeros(rows.n, np.int64), 1)


def descend(
    rows: GaussianRows,
    start: Gaussians,
    search: str,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
    checks_cap: bool = False,
) -> GaussianSolution:
    """Return the fit from these clusters, rows assigned once more so that `predict` agrees."""
    descent = Descent(unlabelled(rows, start), rng, report)
    end = descent.run(search, max_steps, checks_cap and search != "paper")
    clusters, history = end.statistics, end.history
    labels, distances = rows.assign(clusters)
    used = np.bincount(labels, minlength=clusters.k) > 0
    if not used.all():
        clusters, labels = clusters.pick(used), (np.cumsum(used) - 1)[labels]
    fit = rows.unit * float(rows.weights @ distances)
    if end.status is Status.OUT_OF_STEPS:
        history[-1] = min(history[-1], fit + rows.fixed_costs(clusters))
    return end._replace(labels=labels, statistics=clusters, fit=fit)


def minimise(
    rows: GaussianRows,
    start: Gaussians,
    options: Options,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None],
) -> GaussianSolution:
    """Return the best fit from several starts, those after the first at random rows."""
    rows = _in_order(rows, options.order, rng)
    heavy = np.flatnonzero(rows.weights > 0)
    ends = []
    for number in range(options.n_init):
        if number:
            drawn = rng.choice(heavy, min(start.k, len(heavy)), replace=False)
            start = at_points(rows.rows[drawn], rows.diagonal)
        if options.search != "paper":
            start = _improved_start(rows, start, options, rng)
        ends.append(descend(rows, start, options.search, options.max_steps, rng, report, True))
    return min(ends, key=lambda end: end.objective)


def grow(rows: GaussianRows, max_steps: int, rng: np.random.RandomState) -> GaussianSolution:
    """Return the better of two fits: from one cluster, and from the clusters of a lower penalty.

    Costs are concave in the scatter: where four clusters are best, two may be worse than one, so
    that no split of a single cluster lowers the objective.
    """
    rows = _in_order(rows, "random", rng)
    most = min(rows.max_clusters, MAX_GROWN)
    lower = replace(rows.partition, penalty=rows.penalty / OVERSHOOT, max_clusters=most)
    start, how = one_cluster(rows), ("split-merge", max_steps, rng)
    starts = (start, descend(replace(rows, partition=lower), start, *how).statistics)
    return min((descend(rows, each, *how) for each in starts), key=lambda end: end.objective)


def _improved_start(
    rows: GaussianRows, start: Gaussians, options: Options, rng: np.random.RandomState
) -> Gaussians:
    """Return clusters found on a sample of the rows, or on all if they are few.

    One cluster is grown; several are improved where there are more rows than a sample holds.
    """
    is_large = rows.n > MAX_SAMPLE
    sample = sampled(rows, sample_rows(rows.weights, rng)) if is_large else rows
    if start.k == 1:
        return grow(sample, options.max_steps, rng).statistics
    if not is_large:
        return start
    sample = _in_order(sample, options.order, rng)
    return descend(sample, start, options.search, options.max_steps, rng).statistics


def _in_order(rows: GaussianRows, order: str, rng: np.random.RandomState) -> GaussianRows:
    """Return rows that are visited as they are numbered, or at random."""
    return replace(rows, order=None if order == "given" else rng.permutation(rows.n))
