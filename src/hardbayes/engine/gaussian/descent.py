"""A fit of clusters with covariances: its stages, which `engine.loop` goes through.

Costs are no affine functions of the rows here, so that passes have kernels of their own, behind
`executors.gaussian_rows`. Rows are in coordinates in which the prior matrix is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.loop import alternate
from hardbayes.engine.status import Status
from hardbayes.moves.gaussian.splits import first_sides, union_costs
from hardbayes.structure.gaussians import GaussianPartition, Gaussians

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.rows import GaussianRows, Halves
    from hardbayes.matrices import Floats

    Ids = NDArray[np.int64]

STAGES = {
    "paper": ("sweep",),
    # Splits come before births: they see whole clusters, and a cap is soon full.
    "split-merge": ("choose", "settle", "merge", "split", "sweep", "exchange"),
}
# A move must gain more than this part of what it is compared with.
WORTHWHILE = 1e-9
SETTLING_PASSES = 8
# Rows of a cluster on which its division is tried; all of them judge it.
TRIAL_ROWS = 1 << 10
MOST_EXCHANGES = 30
# Exchanges tried before one is given up, and steps down from each before it is judged.
TRIALS = 8
STEPS_OF_A_TRIAL = 6
# Multiply-adds of a pass over all rows, above which no exchange is followed down.
LARGEST_TRIAL = 1 << 24


@dataclass(frozen=True)
class GaussianSolution:
    """Where a fit ended."""

    labels: Ids  # (n,)
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
    data : GaussianRows
    partition : GaussianPartition
    order : array (n,)
        Rows in visiting order.
    rng : RandomState
    report : callable
        ``report(step, clusters, changed)`` is called after every step.
    """

    def __init__(
        self,
        data: GaussianRows,
        partition: GaussianPartition,
        order: Ids,
        rng: np.random.RandomState,
        report: Callable[[int, int, int], None],
    ) -> None:
        self.data = data
        self.partition = partition
        self.order = order
        self.rng = rng
        self.report = report
        self.history: list[float] = []
        self.labels = np.full(data.n, -1)
        self.n_splits = self.n_merges = 0
        self.wants_more = False
        self.exchanges = MOST_EXCHANGES
        # By the statistics of a cluster: it need not be divided anew while it stays as it is.
        self.divisions: dict[bytes, Halves] = {}

    def run(self, start: Gaussians, search: str, max_steps: int) -> GaussianSolution:
        """Minimise from these clusters by the stages of a search."""
        self.clusters = start
        stages = [getattr(self, name) for name in STAGES[search]]
        if not alternate(stages, lambda: len(self.history) < max_steps):
            return self._end(Status.OUT_OF_STEPS)
        return self._end(Status.CAPPED if self.wants_more else Status.CONVERGED)

    # -- stages: each returns whether it changed the partition -------------------------------------

    def choose(self) -> bool:
        """Every row goes to its cheapest cluster; then clusters follow."""
        return self._follow(nearest(self.data, self.clusters)[0])

    def sweep(self) -> bool:
        """Every row goes to its cheapest cluster, or opens one; then clusters follow.

        A cluster of one row has the prior's covariance: it costs a row ``rate |x - mu|^2``.
        """
        labels, distances = nearest(self.data, self.clusters)
        price = self.partition.penalty / self.partition.rate
        k = self.clusters.k
        room = max(0, self.partition.max_clusters - k)
        self.wants_more = self.data.births(self.order, labels, distances, k, price, room)
        return self._follow(labels)

    def settle(self) -> bool:
        """Rows move one by one where that lowers the objective."""
        labels = self.labels.copy()
        n_moves = self.data.relocate(labels, *self.clusters, SETTLING_PASSES)
        return n_moves > 0 and self._try(labels, n_moves)

    def merge(self) -> bool:
        """Pairs of clusters unite where that lowers the objective."""
        limit = self.partition.penalty * (1 - WORTHWHILE) - WORTHWHILE * self.partition.rate
        names, free = np.arange(self.clusters.k), np.ones(self.clusters.k, bool)
        n_merges = 0
        for a, b, cost in zip(*self._unions(), strict=True):
            if not cost < limit:
                break
            if free[a] and free[b]:
                free[[a, b]] = False
                names[b] = a
                n_merges += 1
        if n_merges and self._try(names[self.labels], n_merges):
            self.n_merges += n_merges
            return True
        return False

    def split(self) -> bool:
        """Clusters divide in two where that lowers the objective, as all their rows judge it."""
        k = self.clusters.k
        room = self.partition.max_clusters - k
        if room <= 0:
            return False
        found, worth, floor = self._divide_all(), self._worth_dividing(), self._least_saving
        worth = sorted(worth, key=lambda c: -found[c].saved)[:room]
        if not worth:
            return False
        labels = self.labels.copy()
        order, places = self.data.grouped(labels, k)
        for new, c in enumerate(worth, k):
            ids = order[places[c] : places[c + 1]]
            labels[ids[self.data.second_half(ids, found[c])]] = new
        costs = self.partition.costs(self._statistics(labels, k + len(worth)))
        whole = self.partition.costs(self.clusters)
        names = np.arange(k + len(worth))
        for new, c in enumerate(worth, k):
            saved = whole[c] - costs[c] - costs[new]
            if not saved > floor:  # as a sample of its rows did not foresee
                names[new] = c
                self.divisions[self._key(c)] = found[c]._replace(saved=saved / self.partition.rate)
        n_splits = int((names == np.arange(len(names))).sum()) - k
        if n_splits and self._try(names[labels], n_splits):
            self.n_splits += n_splits
            return True
        return False

    def exchange(self) -> bool:
        """Unite two clusters and divide a third, where only both together lower the objective."""
        if not self.exchanges or self.clusters.k < 3:
            return False
        self.exchanges -= 1
        lefts, rights, costs = self._unions()
        saved = np.array([halves.saved for halves in self._divide_all()])
        gains = self.partition.rate * saved - costs[:, np.newaxis]
        gains[:, saved <= 0] = -np.inf
        pairs = np.arange(len(costs))
        gains[pairs, lefts] = gains[pairs, rights] = -np.inf
        follows = self.data.n * self.clusters.scatters.size <= LARGEST_TRIAL
        for at in np.argsort(-gains, axis=None, kind="stable")[:TRIALS]:
            pair, c = np.unravel_index(at, gains.shape)
            gain = gains[pair, c]
            if not np.isfinite(gain) or (not follows and gain <= WORTHWHILE * self.history[-1]):
                break
            if self._try_exchange(int(lefts[pair]), int(rights[pair]), int(c), follows):
                self.n_splits += 1
                self.n_merges += 1
                return True
        return False

    # -- between stages ----------------------------------------------------------------------------

    @property
    def _least_saving(self) -> float:
        """What a division must save at least."""
        return self.partition.penalty * (1 + WORTHWHILE) + WORTHWHILE * self.partition.rate

    def _worth_dividing(self) -> list[int]:
        saved = [self.partition.rate * halves.saved for halves in self._divide_all()]
        return [c for c, value in enumerate(saved) if value > self._least_saving]

    def is_capped(self) -> bool:
        """Whether nothing but the cap keeps clusters from being divided."""
        return self.clusters.k >= self.partition.max_clusters and bool(self._worth_dividing())

    def _try_exchange(self, a: int, b: int, c: int, follows: bool) -> bool:
        labels = self.labels.copy()
        labels[labels == b] = a
        ids = np.flatnonzero(labels == c)
        labels[ids[self.data.second_half(ids, self._divide_all()[c])]] = b
        if follows:
            labels = self._lowered(labels)
        n_changed = int(np.count_nonzero(labels != self.labels))
        return self._try(labels, n_changed)

    def _lowered(self, labels: Ids) -> Ids:
        """Return labels after a few steps of choosing and refitting, and of single rows."""
        for _ in range(STEPS_OF_A_TRIAL):
            labels, clusters = self._refit(labels)
            chosen = nearest(self.data, clusters)[0]
            if np.array_equal(chosen, labels):
                break
            labels = chosen
        labels, clusters = self._refit(labels)
        self.data.relocate(labels, *clusters, 1)
        return labels

    def _unions(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        return union_costs(
            self.clusters, self.partition, self.data.roots(self.clusters.scatters)[0]
        )

    def _divide_all(self) -> list[Halves]:
        """Return the best division found of each cluster."""
        keys = [self._key(c) for c in range(self.clusters.k)]
        unknown = [c for c, key in enumerate(keys) if key not in self.divisions]
        if unknown:
            self._divide(unknown)
            self.divisions = {key: self.divisions[key] for key in keys}
        return [self.divisions[key] for key in keys]

    def _divide(self, which: list[int]) -> None:
        data, clusters = self.data, self.clusters
        order, places = data.grouped(self.labels, clusters.k)
        whole = self.partition.costs(clusters) / self.partition.rate
        tasks = []
        for c in which:
            ids = order[places[c] : places[c + 1]]
            if len(ids) > TRIAL_ROWS:
                ids = np.sort(self.rng.permutation(ids)[:TRIAL_ROWS])
            weights = data.weights[ids]
            starts = first_sides(
                data.rows[ids], weights, clusters.means[c], clusters.scatters[c], self.rng
            )
            factor = clusters.weights[c] / weights.sum() if starts else 1.0
            tasks.append((ids, factor, starts, float(whole[c])))
        found: list[Halves | None] = [None] * len(tasks)

        def task(at: int, worker: int) -> None:
            found[at] = data.bisect(*tasks[at])

        data.pool.run(task, len(tasks))
        self.divisions |= {
            self._key(c): halves for c, halves in zip(which, found, strict=True) if halves
        }

    def _key(self, c: int) -> bytes:
        return self.clusters.means[c].tobytes() + self.clusters.scatters[c].tobytes()

    def _follow(self, labels: Ids) -> bool:
        n_changed = int(np.count_nonzero(labels != self.labels))
        return n_changed > 0 and self._try(labels, n_changed)

    def _try(self, labels: Ids, n_changed: int) -> bool:
        """Take over labels if they are the first, or the objective, computed anew, is lower."""
        labels, clusters = self._refit(labels)
        objective = self.partition.objective(clusters)
        # A row alone, or one of equals, opens its cluster in every sweep where that costs nothing.
        if self.history and not objective < self.history[-1]:
            return False
        self.labels, self.clusters = labels, clusters
        self.history.append(objective)
        self.report(len(self.history), clusters.k, n_changed)
        return True

    def _statistics(self, labels: Ids, k: int) -> Gaussians:
        return Gaussians(*self.data.statistics(labels, k))

    def _refit(self, labels: Ids) -> tuple[Ids, Gaussians]:
        """Return labels without clusters that have no weight, and statistics of the rest."""
        found = self._statistics(labels, int(labels.max()) + 1)
        used = found.weights > 0
        if used.all():
            return labels, found
        clusters = found.pick(used)
        kept = (np.cumsum(used) - 1)[labels]
        lost = ~used[labels]  # rows of no weight whose cluster is gone
        if lost.any():
            kept[lost] = nearest(self.data, clusters)[0][lost]
        return kept, clusters

    def _end(self, status: Status) -> GaussianSolution:
        labels, distances = nearest(self.data, self.clusters)
        clusters = self.clusters
        used = np.bincount(labels, minlength=clusters.k) > 0
        if not used.all():
            clusters = clusters.pick(used)
            labels = (np.cumsum(used) - 1)[labels]
        fit = self.partition.rate * float(self.data.weights @ distances)
        history = np.array(self.history)
        if status is Status.OUT_OF_STEPS:
            history[-1] = min(history[-1], fit + self._standing_costs(clusters))
        return GaussianSolution(
            labels, clusters, fit, history, status, self.n_splits, self.n_merges
        )

    def _standing_costs(self, clusters: Gaussians) -> float:
        """Return what clusters cost beside their rows while means and covariances stand still."""
        partition = self.partition
        roots, logarithms = self.data.roots(clusters.scatters)
        traces = np.square(roots).reshape(clusters.k, -1).sum(axis=1)
        standing = partition.rate * (traces - self.data.d + logarithms)
        return float(standing.sum()) + partition.penalty * clusters.k


def nearest(data: GaussianRows, clusters: Gaussians) -> tuple[Ids, Floats]:
    """Return each row's nearest cluster (n,), the first of equals, and how near it is (n,)."""
    return data.nearest(clusters.means, data.roots(clusters.scatters)[0])
