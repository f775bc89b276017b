"""Starts of a fit with covariances, and samples to find them on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.gaussian.descent import GaussianDescent, GaussianSolution
from hardbayes.engine.status import Status, say_nothing
from hardbayes.matrices import chunks
from hardbayes.structure.gaussians import Gaussians, at_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.rows import GaussianRows
    from hardbayes.matrices import Floats
    from hardbayes.structure.gaussians import GaussianPartition

# More rows than this are represented by so many of them while a start is looked for.
MOST_ROWS = 1 << 12
# By how much the penalty is lowered, and up to how many clusters, to grow a start from above.
OVERSHOOT = 4.0
MOST_GROWN = 64


class Plan(NamedTuple):
    """How a fit is to be made."""

    search: str
    order: str
    n_init: int
    max_steps: int


def sample_rows(weights: Floats, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return rows to look for clusters in: all those with weight, or so many of them."""
    heavy = np.flatnonzero(weights > 0)
    return heavy if len(heavy) <= MOST_ROWS else np.sort(rng.choice(heavy, MOST_ROWS, False))


def sampled(data: GaussianRows, ids: NDArray[np.intp]) -> GaussianRows:
    """Return some rows, weighing as much as all: so clusters cost in a sample what they cost."""
    weights = data.weights[ids]
    return data.sample(ids, weights * (data.weights.sum() / weights.sum()))


def weighted_mean(matrix: NDArray[np.floating], weights: Floats) -> Floats:
    """Return the mean row (d,) in float64."""
    total = np.zeros(matrix.shape[1])
    share = weights / weights.sum()
    for part in chunks(*matrix.shape):
        total += share[part] @ matrix[part].astype(np.float64)
    return total


def minimise(
    data: GaussianRows,
    partition: GaussianPartition,
    start: Gaussians,
    plan: Plan,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None],
) -> GaussianSolution:
    """Return the best fit from several starts, those after the first at rows drawn at random."""
    order = visiting_order(data.n, plan.order, rng)
    heavy = np.flatnonzero(data.weights > 0)
    best: GaussianSolution | None = None
    for number in range(plan.n_init):
        if number:
            drawn = rng.choice(heavy, min(start.k, len(heavy)), replace=False)
            start = at_points(data.rows[drawn], data.diagonal)
        if plan.search != "paper":
            start = _looked_for(data, partition, start, plan, rng)
        descent = GaussianDescent(data, partition, order, rng, report)
        found = descent.run(start, plan.search, plan.max_steps)
        tries_splits = plan.search != "paper" and found.status is Status.CONVERGED
        if tries_splits and descent.is_capped():
            found = replace(found, status=Status.CAPPED)
        if best is None or found.history[-1] < best.history[-1]:
            best = found
    assert best is not None  # there is at least one start
    return best


def grown(
    data: GaussianRows,
    partition: GaussianPartition,
    max_steps: int,
    rng: np.random.RandomState,
) -> GaussianSolution:
    """Return the better of two fits: from one cluster, and from the clusters of a lower penalty.

    Clusters pay their log-determinants, which are concave: where four are best, two may be worse
    than one, and no division of one cluster alone would pay.
    """
    order = rng.permutation(data.n)
    start = one_cluster(data)
    many = replace(
        partition,
        penalty=partition.penalty / OVERSHOOT,
        max_clusters=min(partition.max_clusters, MOST_GROWN),
    )
    more = GaussianDescent(data, many, order, rng, say_nothing)
    starts = [start, more.run(start, "split-merge", max_steps).clusters]
    ends = [
        GaussianDescent(data, partition, order, rng, say_nothing).run(
            each, "split-merge", max_steps
        )
        for each in starts
    ]
    return min(ends, key=lambda end: float(end.history[-1]))


def one_cluster(data: GaussianRows) -> Gaussians:
    """Return all rows as one cluster."""
    return Gaussians(*data.statistics(np.zeros(data.n, np.int64), 1))


def visiting_order(n: int, order: str, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Return the order in which rows are visited."""
    return np.arange(n) if order == "given" else rng.permutation(n)


def _looked_for(
    data: GaussianRows,
    partition: GaussianPartition,
    start: Gaussians,
    plan: Plan,
    rng: np.random.RandomState,
) -> Gaussians:
    """Return a better start: one cluster is grown, and many rows are represented by a sample."""
    sample = data
    if data.n > MOST_ROWS:
        sample = sampled(data, sample_rows(data.weights, rng))
    if start.k == 1:
        return grown(sample, partition, plan.max_steps, rng).clusters
    if sample is data:
        return start
    order = visiting_order(sample.n, plan.order, rng)
    descent = GaussianDescent(sample, partition, order, rng, say_nothing)
    return descent.run(start, plan.search, plan.max_steps).clusters
