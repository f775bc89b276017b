"""The way down for clusters with covariances: the same stages as for other partitions.

Rows live whole in memory here, as float64 in coordinates in which the prior matrix is the identity:
their costs are no affine functions of the rows, so the compiled kernels do not apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.status import Status
from hardbayes.matrices import chunks
from hardbayes.moves.gaussian_rows import relocate_rows
from hardbayes.moves.gaussian_splits import Division, divide, union_costs
from hardbayes.structure.gaussians import (
    GaussianPartition,
    Gaussians,
    distances,
    inverse_roots,
    log_determinants,
    statistics,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats

STAGES = {
    "paper": ("sweep",),
    # Splits come before births: they see whole clusters, and a cap is soon full.
    "split-merge": ("choose", "settle", "merge", "split", "sweep", "exchange"),
}
# A move must gain more than this part of what it is compared with.
WORTHWHILE = 1e-9
MOST_EXCHANGES = 30


@dataclass(frozen=True)
class GaussianSolution:
    """Where a fit ended."""

    labels: NDArray[np.intp]  # (n,)
    clusters: Gaussians  # the parameters that rows were last assigned with
    fit: float  # sum of the weighted costs of the rows
    history: Floats  # (steps,)
    status: Status
    n_splits: int
    n_merges: int


class GaussianDescent:
    """One fit on its way down.

    Parameters
    ----------
    rows : array (n, d) float64
    weights : array (n,)
    partition : GaussianPartition
    order : array (n,)
        Rows in visiting order.
    rng : RandomState
    report : callable
        ``report(step, clusters, changed)`` is called after every step.
    """

    def __init__(
        self,
        rows: Floats,
        weights: Floats,
        partition: GaussianPartition,
        order: NDArray[np.intp],
        rng: np.random.RandomState,
        report: Callable[[int, int, int], None],
    ) -> None:
        self.rows = rows
        self.weights = weights
        self.partition = partition
        self.order = order
        self.rng = rng
        self.report = report
        self.history: list[float] = []
        self.labels = np.full(len(rows), -1)
        self.n_splits = self.n_merges = 0
        self.wants_more = False
        self.exchanges = MOST_EXCHANGES
        self.divisions: dict[int, Division] = {}

    def run(self, start: Gaussians, search: str, max_steps: int) -> GaussianSolution:
        """Minimise from these clusters by the stages of a search."""
        self.clusters = start
        stages = [getattr(self, name) for name in STAGES[search]]
        while True:
            for stage in stages:
                if len(self.history) >= max_steps:
                    return self._end(Status.OUT_OF_STEPS)
                if stage():
                    break
            else:
                return self._end(Status.CAPPED if self.wants_more else Status.CONVERGED)

    # -- stages: each returns whether it changed the partition ------------------------------------

    def choose(self) -> bool:
        """Every row goes to its cheapest cluster; then clusters follow."""
        return self._follow(nearest(self.rows, self.clusters, self.partition.rate)[0])

    def sweep(self) -> bool:
        """Every row goes to its cheapest cluster, or opens one; then clusters follow."""
        labels, costs = nearest(self.rows, self.clusters, self.partition.rate)
        return self._follow(self._births(labels, costs))

    def _follow(self, labels: NDArray[np.intp]) -> bool:
        n_changed = int(np.count_nonzero(labels != self.labels))
        if not n_changed:
            return False
        self._take(labels, n_changed)
        return True

    def settle(self) -> bool:
        """Rows move one by one where that lowers the objective."""
        labels = self.labels.copy()
        n_moves = relocate_rows(self.rows, self.weights, labels, self.clusters, self.partition)
        return n_moves > 0 and self._try(labels, n_moves)

    def merge(self) -> bool:
        """Pairs of clusters unite where that lowers the objective."""
        limit = self.partition.penalty * (1 - WORTHWHILE)
        labels, free = self.labels.copy(), np.ones(self.clusters.k, bool)
        n_merges = 0
        for a, b, cost in zip(*union_costs(self.clusters, self.partition), strict=True):
            if not cost < limit - WORTHWHILE * self.partition.rate:
                break
            if free[a] and free[b]:
                free[[a, b]] = False
                labels[labels == b] = a
                n_merges += 1
        if n_merges and self._try(labels, n_merges):
            self.n_merges += n_merges
            return True
        return False

    def split(self) -> bool:
        """Clusters divide in two where that lowers the objective."""
        self.divisions = self._divide_all()
        room = self.partition.max_clusters - self.clusters.k
        floor = self.partition.penalty * (1 + WORTHWHILE) + WORTHWHILE * self.partition.rate
        worth = sorted(
            (c for c, found in self.divisions.items() if found.saved > floor),
            key=lambda c: -self.divisions[c].saved,
        )
        labels = self.labels.copy()
        for new, c in enumerate(worth[: max(room, 0)], self.clusters.k):
            labels[self.divisions[c].ids[self.divisions[c].right]] = new
        n_splits = min(len(worth), max(room, 0))
        if n_splits and self._try(labels, n_splits):
            self.n_splits += n_splits
            return True
        return False

    def exchange(self) -> bool:
        """Unite two clusters and divide a third, where only both together lower the objective."""
        if not self.exchanges:
            return False
        self.exchanges -= 1
        lefts, rights, costs = union_costs(self.clusters, self.partition)
        trials = [
            (found.saved - cost, c, int(a), int(b))
            for a, b, cost in zip(lefts, rights, costs, strict=True)
            for c, found in self.divisions.items()
            if c not in (a, b)
        ]
        if not trials:
            return False
        gain, c, a, b = max(trials)
        if not gain > WORTHWHILE * self.history[-1]:
            return False
        labels = self.labels.copy()
        labels[labels == b] = a
        labels[self.divisions[c].ids[self.divisions[c].right]] = b
        if self._try(labels, 1):
            self.n_splits += 1
            self.n_merges += 1
            return True
        return False

    # -- between stages ---------------------------------------------------------------------------

    def _divide_all(self) -> dict[int, Division]:
        order = np.argsort(self.labels, kind="stable")
        ends = np.searchsorted(self.labels[order], np.arange(self.clusters.k), side="right")
        return {
            c: divide(
                self.rows, self.weights, ids, self.clusters.pick([c]), self.partition, self.rng
            )
            for c, ids in enumerate(np.split(order, ends[:-1]))
        }

    def _births(self, labels: NDArray[np.intp], costs: Floats) -> NDArray[np.intp]:
        """Open clusters for rows dearer than the penalty, in visiting order, seen by those after.

        A cluster of one row has the prior's covariance: it costs a row ``rate |x - mu|^2``.
        """
        partition = self.partition
        dear = self.weights * costs > partition.penalty
        place = np.empty(len(labels), np.intp)
        place[self.order] = np.arange(len(labels))
        k = self.clusters.k
        n_born = 0
        for row in self.order[dear[self.order]]:
            if k + n_born >= partition.max_clusters:
                break
            if not self.weights[row] * costs[row] > partition.penalty:
                continue
            apart = partition.rate * ((self.rows - self.rows[row]) ** 2).sum(axis=1)
            nearer = (apart < costs) & (place >= place[row])
            labels[nearer], costs[nearer] = k + n_born, apart[nearer]
            labels[row] = k + n_born
            n_born += 1
        self.wants_more = bool((self.weights * costs > partition.penalty).any())
        return labels

    def _try(self, labels: NDArray[np.intp], n_changed: int) -> bool:
        """Take over labels if the objective, computed anew, is lower."""
        clusters = self._refit(labels)[1]
        if not self.partition.objective(clusters) < self.history[-1]:
            return False
        self._take(labels, n_changed)
        return True

    def _take(self, labels: NDArray[np.intp], n_changed: int) -> None:
        self.labels, self.clusters = self._refit(labels)
        self.history.append(self.partition.objective(self.clusters))
        self.report(len(self.history), self.clusters.k, n_changed)

    def _refit(self, labels: NDArray[np.intp]) -> tuple[NDArray[np.intp], Gaussians]:
        """Return labels without clusters that have no weight, and statistics of the rest."""
        found = statistics(
            self.rows, self.weights, labels, int(labels.max()) + 1, self.partition.diagonal
        )
        used = found.weights > 0
        if used.all():
            return labels, found
        clusters = found.pick(used)
        numbers = np.cumsum(used) - 1
        kept = numbers[labels]
        lost = ~used[labels]  # rows of no weight whose cluster is gone
        if lost.any():
            kept[lost] = nearest(self.rows[lost], clusters, self.partition.rate)[0]
        return kept, clusters

    def _end(self, status: Status) -> GaussianSolution:
        labels, costs = nearest(self.rows, self.clusters, self.partition.rate)
        clusters = self.clusters
        used = np.bincount(labels, minlength=clusters.k) > 0
        if not used.all():
            clusters = clusters.pick(used)
            labels = (np.cumsum(used) - 1)[labels]
        fit = float(self.weights @ costs)
        history = np.array(self.history)
        if status is Status.OUT_OF_STEPS:
            history[-1] = min(history[-1], fit + self._standing_costs(clusters))
        return GaussianSolution(
            labels, clusters, fit, history, status, self.n_splits, self.n_merges
        )

    def _standing_costs(self, clusters: Gaussians) -> float:
        """Return what clusters cost beside their rows while means and covariances stand still."""
        partition = self.partition
        roots = inverse_roots(clusters.scatters)
        d = clusters.means.shape[1]
        traces = np.square(roots).reshape(clusters.k, -1).sum(axis=1)
        standing = partition.rate * (traces - d + log_determinants(clusters.scatters))
        return float(standing.sum()) + partition.penalty * clusters.k


def nearest(rows: Floats, clusters: Gaussians, rate: float) -> tuple[NDArray[np.intp], Floats]:
    """Return each row's cheapest cluster (n,), the first of equals, and its cost there (n,)."""
    labels = np.empty(len(rows), np.intp)
    costs = np.empty(len(rows))
    roots = inverse_roots(clusters.scatters)
    for part in chunks(len(rows), max(rows.shape[1], clusters.k)):
        apart = distances(rows[part], clusters.means, roots)
        labels[part] = apart.argmin(axis=1)
        costs[part] = rate * apart[np.arange(len(apart)), labels[part]]
    return labels, costs


def one_cluster(rows: Floats, weights: Floats, diagonal: bool) -> Gaussians:
    """Return all rows as one cluster."""
    return statistics(rows, weights, np.zeros(len(rows), np.intp), 1, diagonal)


def at_points(points: Floats, diagonal: bool) -> Gaussians:
    """Return clusters of one row each, at these points (k, d)."""
    k, d = points.shape
    return Gaussians(np.ones(k), points, np.zeros((k, d) if diagonal else (k, d, d)))
