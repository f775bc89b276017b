"""Clusters with covariances as a label-first model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hardbayes.executors.gaussian.protocol import GaussianRows, Trial
from hardbayes.matrices import Floats
from hardbayes.moves.gaussian.candidates import neighbouring_unions, starting_sides
from hardbayes.moves.label_first.model import Division, Ids, LabelFirstModel, Unions
from hardbayes.structure.gaussians import GaussianPartition, Gaussians

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
        roots = self.rows.roots(statistics.scatters)[0]
        return neighbouring_unions(statistics, self.partition, roots)

    def divide(
        self,
        members: list[Ids],
        statistics: Gaussians,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Division]:
        """Return divisions; what they save is estimated on at most `TRIAL_ROWS` rows of each."""
        sizes, means, scatters = statistics
        whole = self.costs(statistics) / self.unit
        trials = []
        for c in which:
            ids = members[c]
            if len(ids) > TRIAL_ROWS:
                ids = np.sort(rng.permutation(ids)[:TRIAL_ROWS])
            rows, weights = self.rows.take(ids), self.weights[ids]
            sides = starting_sides(rows, weights, means[c], scatters[c], rng)
            if len(sides):
                weights = sizes[c] / weights.sum() * weights
            trials.append(Trial(rows, weights, sides, float(whole[c])))
        found = self.rows.divide(trials)
        return [Division(self.unit * saved, halves) for saved, *halves in found]

    def second_half(self, ids: Ids, division: Division) -> NDArray[np.bool_]:
        """Return which rows are nearer to the second half."""
        return self.rows.sample(ids, self.weights[ids]).nearest(*division.halves)[0] == 1

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
        means, roots = statistics.means, self.rows.roots(statistics.scatters)[0]
        room = max(0, self.max_clusters - statistics.k)
        return self.rows.sweep(means, roots, self.order, self.penalty / self.unit, room)


def nearest(rows: GaussianRows, clusters: Gaussians) -> tuple[Ids, Floats]:
    """Return each row's nearest cluster (n,), the first of equals, and its distance (n,)."""
    return rows.nearest(clusters.means, rows.roots(clusters.scatters)[0])
