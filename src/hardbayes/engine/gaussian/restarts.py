"""Starts of a fit with covariances, and samples of rows on which they are found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.gaussian.model import GaussianModel, GaussianSolution, closed, clusters_of
from hardbayes.engine.label_first.descent import MAX_EXCHANGES, Descent
from hardbayes.engine.status import Status, say_nothing
from hardbayes.moves.label_first.labelling import unlabelled
from hardbayes.structure.gaussians import at_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.protocol import GaussianRows, Ids
    from hardbayes.matrices import Floats
    from hardbayes.structure.gaussians import GaussianPartition, Gaussians

# Where there are more rows than this, a sample of so many is used to find a start.
MAX_SAMPLE = 1 << 12
# By how much the penalty is lowered, and up to how many clusters, to find a start from above.
OVERSHOOT = 4.0
MAX_GROWN = 64


class Plan(NamedTuple):
    """How a fit is to be made."""

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


def minimise(
    rows: GaussianRows,
    partition: GaussianPartition,
    start: Gaussians,
    plan: Plan,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None],
) -> GaussianSolution:
    """Return the best fit from several starts, those after the first at random rows."""
    model = GaussianModel(rows, partition, _visiting_order(rows.n, plan.order, rng))
    heavy = np.flatnonzero(rows.weights > 0)
    ends = []
    for number in range(plan.n_init):
        if number:
            drawn = rng.choice(heavy, min(start.k, len(heavy)), replace=False)
            start = at_points(rows.take(drawn), rows.diagonal)
        if plan.search != "paper":
            start = _improved_start(rows, partition, start, plan, rng)
        ends.append(descend(model, start, plan.search, plan.max_steps, rng, report, True))
    return min(ends, key=_objective)


def descend(
    model: GaussianModel,
    start: Gaussians,
    search: str,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
    checks_cap: bool = False,
    exchanges: int = MAX_EXCHANGES,
) -> GaussianSolution:
    """Return the fit from these clusters; on request its status tells of splits above the cap."""
    descent = Descent(unlabelled(model, start), rng, report, exchanges)
    end = closed(model, descent.run(search, max_steps))
    may_split = checks_cap and search != "paper" and end.status is Status.CONVERGED
    if may_split and descent.cap_prevents_splits():
        return end._replace(status=Status.CAPPED)
    return end


def grown(
    rows: GaussianRows,
    partition: GaussianPartition,
    max_steps: int,
    rng: np.random.RandomState,
) -> GaussianSolution:
    """Return the better of two fits: from one cluster, and from the clusters of a lower penalty.

    Costs are concave in the scatter: where four clusters are best, two may be worse than one, so
    that no division of a single cluster lowers the objective.
    """
    order = rng.permutation(rows.n)
    lower = replace(
        partition,
        penalty=partition.penalty / OVERSHOOT,
        max_clusters=min(partition.max_clusters, MAX_GROWN),
    )
    start, split_merge = one_cluster(rows), ("split-merge", max_steps, rng)
    many = descend(GaussianModel(rows, lower, order), start, *split_merge).clusters
    model = GaussianModel(rows, partition, order)
    return min((descend(model, each, *split_merge) for each in (start, many)), key=_objective)


def one_cluster(rows: GaussianRows) -> Gaussians:
    """Return all rows as one cluster."""
    return clusters_of(rows, np.zeros(rows.n, np.int64))


def _objective(end: GaussianSolution) -> float:
    return float(end.history[-1])


def _visiting_order(n: int, order: str, rng: np.random.RandomState) -> Ids:
    return np.arange(n) if order == "given" else rng.permutation(n)


def _improved_start(
    rows: GaussianRows,
    partition: GaussianPartition,
    start: Gaussians,
    plan: Plan,
    rng: np.random.RandomState,
) -> Gaussians:
    """Return clusters found on a sample of the rows, or on all if they are few.

    One cluster is grown; several are improved where there are more rows than a sample holds.
    """
    is_large = rows.n > MAX_SAMPLE
    sample = sampled(rows, sample_rows(rows.weights, rng)) if is_large else rows
    if start.k == 1:
        return grown(sample, partition, plan.max_steps, rng).clusters
    if not is_large:
        return start
    model = GaussianModel(sample, partition, _visiting_order(sample.n, plan.order, rng))
    return descend(model, start, plan.search, plan.max_steps, rng).clusters
