"""Clusters with covariances as a label-first model, and what a fit of them ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.status import Status
from hardbayes.executors.gaussian.protocol import GaussianRows, Trial
from hardbayes.moves.gaussian.candidates import neighbouring_unions, starting_sides
from hardbayes.moves.label_first.model import Division, LabelFirstModel
from hardbayes.structure.gaussians import GaussianPartition, Gaussians

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hardbayes.engine.label_first.descent import Descended
    from hardbayes.matrices import Floats
    from hardbayes.moves.label_first.model import Ids, Unions

TRIAL_ROWS = 1 << 10  # of a cluster on which its division is tried


class GaussianModel(LabelFirstModel[Gaussians]):
    """Rows, what a partition of them costs, and the order (n,) in which a sweep visits them."""

    def __init__(self, rows: GaussianRows, partition: GaussianPartition, order: Ids) -> None:
        self.rows = rows
        self.partition = partition
        self.order = order
        self.weights = rows.weights
        self.penalty = partition.penalty
        self.max_clusters = partition.max_clusters
        self.unit = partition.rate

    def statistics(self, labels: Ids, k: int) -> Gaussians:
        """Return weights, means and scatters."""
        return Gaussians(*self.rows.statistics(labels, k))

    def costs(self, statistics: Gaussians) -> Floats:
        """Return ``rate log|I + S|`` of each cluster."""
        return self.partition.costs(statistics)

    def unions(self, statistics: Gaussians) -> Unions:
        """Return the unions of neighbouring clusters."""
        return neighbouring_unions(
            statistics, self.partition, self.rows.roots(statistics.scatters)[0]
        )

    def divide(
        self,
        members: Sequence[Ids],
        statistics: Gaussians,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Division]:
        """Return divisions; what they save is estimated on at most `TRIAL_ROWS` rows of each."""
        whole = self.costs(statistics) / self.unit
        trials = []
        for c in which:
            ids = members[c]
            if len(ids) > TRIAL_ROWS:
                ids = np.sort(rng.permutation(ids)[:TRIAL_ROWS])
            rows, weights = self.rows.take(ids), self.weights[ids]
            sides = starting_sides(rows, weights, statistics.means[c], statistics.scatters[c], rng)
            if len(sides):
                weights = statistics.weights[c] / weights.sum() * weights
            trials.append(Trial(rows, weights, sides, float(whole[c])))
        return [Division(self.unit * found.saved, found) for found in self.rows.divide(trials)]

    def second_half(self, ids: Ids, division: Division) -> NDArray[np.bool_]:
        """Return which rows are nearer to the second half."""
        rows, halves = self.rows.sample(ids, self.weights[ids]), division.halves
        return rows.nearest(halves.means, halves.roots)[0] == 1

    def move_rows(self, labels: Ids, statistics: Gaussians, max_passes: int) -> tuple[Ids, int]:
        """Return labels after single-row moves, and the number of moves."""
        return self.rows.move_rows(labels, *statistics, max_passes)

    def work(self, k: int) -> int:
        """Return the number of multiply-adds of all distances."""
        d = self.rows.d
        return self.rows.n * k * d * (1 if self.rows.diagonal else d)

    def choose(self, statistics: Gaussians) -> Ids:
        """Return the nearest cluster of each row."""
        return nearest(self.rows, statistics)[0]

    def sweep(self, statistics: Gaussians) -> tuple[Ids, bool]:
        """Return the same with births.

        A cluster of one row has the prior's covariance: it costs a row ``rate |x - mu|^2``.
        """
        room = max(0, self.max_clusters - statistics.k)
        roots = self.rows.roots(statistics.scatters)[0]
        opening_cost = self.penalty / self.unit
        return self.rows.sweep(statistics.means, roots, self.order, opening_cost, room)


class GaussianSolution(NamedTuple):
    """Where a fit ended."""

    labels: Ids  # (n,)
    clusters: Gaussians  # the parameters that rows were last assigned with
    fit: float  # sum of the weighted costs of the rows
    history: Floats  # (steps,)
    status: Status
    n_splits: int
    n_merges: int


def closed(model: GaussianModel, end: Descended[Gaussians]) -> GaussianSolution:
    """Return the end of a descent with rows assigned once more, so that `predict` agrees."""
    clusters, history = end.labelling.statistics, end.history
    labels, distances = nearest(model.rows, clusters)
    used = np.bincount(labels, minlength=clusters.k) > 0
    if not used.all():
        clusters = clusters.pick(used)
        labels = (np.cumsum(used) - 1)[labels]
    fit = model.unit * float(model.weights @ distances)
    if end.status is Status.OUT_OF_STEPS:
        history = history.copy()
        history[-1] = min(history[-1], fit + _fixed_costs(model, clusters))
    return GaussianSolution(labels, clusters, fit, history, end.status, end.n_splits, end.n_merges)


def _fixed_costs(model: GaussianModel, clusters: Gaussians) -> float:
    """Return what clusters cost besides their rows while means and covariances are fixed."""
    roots, logarithms = model.rows.roots(clusters.scatters)
    traces = np.square(roots).reshape(clusters.k, -1).sum(axis=1)
    costs = model.unit * (traces - model.rows.d + logarithms)
    return float(costs.sum()) + model.penalty * clusters.k


def nearest(rows: GaussianRows, clusters: Gaussians) -> tuple[Ids, Floats]:
    """Return each row's nearest cluster (n,), the first of equals, and its distance (n,)."""
    return rows.nearest(clusters.means, rows.roots(clusters.scatters)[0])


def clusters_of(rows: GaussianRows, labels: Ids) -> Gaussians:
    """Return the clusters of a partition (n,) that have weight."""
    found = Gaussians(*rows.statistics(labels, int(labels.max()) + 1))
    return found.pick(found.weights > 0)
