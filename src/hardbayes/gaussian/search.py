"""Fits of clusters with covariances: one, the best of several, and where they start."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids, unlabelled
from hardbayes.core.centre_free_descent import Descent, Solution
from hardbayes.core.loop import Status, say_nothing
from hardbayes.gaussian.clusters import GaussianModel, nearest
from hardbayes.gaussian.problem import GaussianPartition, Gaussians, at_points
from hardbayes.gaussian.rows import GaussianRows

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


def sample_rows(weights: Floats, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return rows with weight: all, or a random sample."""
    heavy = np.flatnonzero(weights > 0)
    return heavy if len(heavy) <= MAX_SAMPLE else np.sort(rng.choice(heavy, MAX_SAMPLE, False))


def sampled(rows: GaussianRows, ids: NDArray[np.intp]) -> GaussianRows:
    """Return some rows, with the weight of all, so that clusters cost the same in a sample."""
    weights = rows.weights[ids]
    return rows.sample(ids, weights * (rows.weights.sum() / weights.sum()))


def one_cluster(rows: GaussianRows) -> Gaussians:
    """Return all rows as one cluster."""
    return Gaussians(*rows.statistics(np.zeros(rows.n, np.int64), 1))


def descend(
    model: GaussianModel,
    start: Gaussians,
    search: str,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
    checks_cap: bool = False,
) -> GaussianSolution:
    """Return the fit from these clusters, rows assigned once more so that `predict` agrees."""
    descent = Descent(unlabelled(model, start), rng, report)
    end = descent.run(search, max_steps, checks_cap and search != "paper")
    clusters, history = end.statistics, end.history
    labels, distances = nearest(model.rows, clusters)
    used = np.bincount(labels, minlength=clusters.k) > 0
    if not used.all():
        clusters, labels = clusters.pick(used), (np.cumsum(used) - 1)[labels]
    fit = model.unit * float(model.weights @ distances)
    if end.status is Status.OUT_OF_STEPS:
        history[-1] = min(history[-1], fit + _fixed_costs(model, clusters))
    return end._replace(labels=labels, statistics=clusters, fit=fit)


def minimise(
    rows: GaussianRows,
    partition: GaussianPartition,
    start: Gaussians,
    options: Options,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None],
) -> GaussianSolution:
    """Return the best fit from several starts, those after the first at random rows."""
    model = GaussianModel(rows, partition, _visiting_order(rows.n, options.order, rng))
    heavy = np.flatnonzero(rows.weights > 0)
    ends = []
    for number in range(options.n_init):
        if number:
            drawn = rng.choice(heavy, min(start.k, len(heavy)), replace=False)
            start = at_points(rows.take(drawn), rows.diagonal)
        if options.search != "paper":
            start = _improved_start(rows, partition, start, options, rng)
        ends.append(descend(model, start, options.search, options.max_steps, rng, report, True))
    return min(ends, key=lambda end: end.objective)


def grown(
    rows: GaussianRows, partition: GaussianPartition, max_steps: int, rng: np.random.RandomState
) -> GaussianSolution:
    """Return the better of two fits: from one cluster, and from the clusters of a lower penalty.

    Costs are concave in the scatter: where four clusters are best, two may be worse than one, so
    that no division of a single cluster lowers the objective.
    """
    order = rng.permutation(rows.n)
    most = min(partition.max_clusters, MAX_GROWN)
    lower = replace(partition, penalty=partition.penalty / OVERSHOOT, max_clusters=most)
    start, how = one_cluster(rows), ("split-merge", max_steps, rng)
    starts = (start, descend(GaussianModel(rows, lower, order), start, *how).statistics)
    model = GaussianModel(rows, partition, order)
    return min((descend(model, each, *how) for each in starts), key=lambda end: end.objective)


def _improved_start(
    rows: GaussianRows,
    partition: GaussianPartition,
    start: Gaussians,
    options: Options,
    rng: np.random.RandomState,
) -> Gaussians:
    """Return clusters found on a sample of the rows, or on all if they are few.

    One cluster is grown; several are improved where there are more rows than a sample holds.
    """
    is_large = rows.n > MAX_SAMPLE
    sample = sampled(rows, sample_rows(rows.weights, rng)) if is_large else rows
    if start.k == 1:
        return grown(sample, partition, options.max_steps, rng).statistics
    if not is_large:
        return start
    model = GaussianModel(sample, partition, _visiting_order(sample.n, options.order, rng))
    return descend(model, start, options.search, options.max_steps, rng).statistics


def _visiting_order(n: int, order: str, rng: np.random.RandomState) -> Ids:
    return np.arange(n) if order == "given" else rng.permutation(n)


def _fixed_costs(model: GaussianModel, clusters: Gaussians) -> float:
    """Return what clusters cost besides their rows while means and covariances are fixed."""
    roots, logarithms = model.rows.roots(clusters.scatters)
    traces = np.square(roots).reshape(clusters.k, -1).sum(axis=1)
    costs = model.unit * (traces - model.rows.d + logarithms)
    return float(costs.sum()) + model.penalty * clusters.k
