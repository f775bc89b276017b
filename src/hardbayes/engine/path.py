"""Solutions from one cluster to many: the penalty falls, and each fit goes on from the last.

And back, if wanted: what was not divided well on the way down may be united better on the way up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.loop import THOROUGH, Descent, Effort, Solution, alternate
from hardbayes.engine.problem import opening_prices
from hardbayes.engine.restarts import visiting_order
from hardbayes.moves.merges import nearest_partners
from hardbayes.moves.splits import divide_clusters

if TYPE_CHECKING:
    from hardbayes.engine.problem import Problem
    from hardbayes.geometry.base import Floats
    from hardbayes.moves.splits import Divisions
    from hardbayes.structure.partition import Partition

# Little on each fit, for those before and after have theirs.
EFFORT = Effort(rounds=6, trials=8, priced_rows=256)
# Stands for an infinite penalty, and leaves room to add to it.
PROHIBITIVE = np.finfo(np.float64).max / 4


class Path:
    """A walk through solutions of one problem at falling penalties; all in working units.

    Parameters
    ----------
    problem : Problem
    partition : Partition
        With any penalty.
    order : str
    max_steps : int
        Of each fit.
    rng : RandomState
    """

    def __init__(
        self,
        problem: Problem,
        partition: Partition,
        order: str,
        max_steps: int,
        rng: np.random.RandomState,
    ) -> None:
        self.problem = problem
        self.partition = partition
        self.max_steps = max_steps
        self.rng = rng
        self.visits = visiting_order(problem.executor.n_rows, order, rng)
        self.solutions: list[Solution] = []
        self._united: list[tuple[int, float]] = []
        #: With a prior: number of clusters and fit term of what is known to be possible without it,
        #: where clusters are at their means.
        self.fits: list[tuple[int, float]] = []
        self._free_divisions: Divisions | None = None
        #: What the division of each cluster of the last solution would save, the most first.
        self.savings: Floats = np.zeros(1)
        self._penalties: list[float] = []
        #: Down to this penalty nothing changes any more; None where the path just ended.
        self.floor: float | None = None
        self._divisions: Divisions | None = None
        self._solve(PROHIBITIVE, problem.mean[np.newaxis], 1)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the last solution."""
        return self.solutions[-1].terms.n_clusters

    @property
    def lowest(self) -> float:
        """The smallest penalty so far."""
        return min(self._penalties)

    @property
    def next_change(self) -> float:
        """Below this penalty the last solution is known to change."""
        return float(self.savings[0])

    @property
    def first_penalty(self) -> float:
        """Above this penalty one cluster is best of all that is known; one where it always is."""
        fit = self.solutions[0].total(0.0)
        gains = [(fit - other) / (k - 1) for k, other in self.points if k > 1 and other < fit]
        return max(gains, default=self.next_change or self.problem.unit)

    @property
    def points(self) -> list[tuple[int, float]]:
        """Number of clusters and objective without penalties of all that is known to be possible.

        Besides the solutions, each with its cheapest pair of clusters united.
        """
        return [(s.terms.n_clusters, s.total(0.0)) for s in self.solutions] + self._united

    def go_down_to(self, penalty: float, max_clusters: int) -> None:
        """Solve at this penalty with at most so many clusters, beginning with the last solution."""
        self._solve(penalty, None, max_clusters)

    def jump_to(self, penalty: float) -> None:
        """Solve at a penalty far below, beginning with the solution that has most clusters."""
        finest = max(self.solutions, key=lambda solution: solution.terms.n_clusters)
        self._solve(penalty, finest.centres, self.partition.max_clusters, THOROUGH)

    def divide_anew(self) -> None:
        """Divide all clusters of the last solution, whatever is known of them."""
        partition = replace(self.partition, penalty=self._penalties[-1])
        self._take(divide_clusters(self.problem.executor, partition, self.rng, None))

    def go_back(self) -> None:
        """Solve at the same penalties once more, rising, beginning with the last solution.

        There may be better ones than the path came by on its way down.
        """
        for penalty in sorted(self._penalties[1:-1]):
            self._solve(penalty, None, self.partition.max_clusters)

    def best_at(self, penalty: float, max_clusters: int | None = None) -> Solution:
        """Return the best of all solutions at this penalty, with at most so many clusters.

        The larger the penalty, the fewer clusters it has: a minimum over the same few solutions.
        """
        allowed = [s for s in self.solutions if s.terms.n_clusters <= (max_clusters or np.inf)]
        return min(allowed, key=lambda s: (s.total(penalty), s.terms.n_clusters))

    def _solve(
        self,
        penalty: float,
        start: Floats | None,
        max_clusters: int,
        effort: Effort = EFFORT,
    ) -> None:
        executor = self.problem.executor
        self._penalties.append(penalty)
        partition = replace(self.partition, penalty=penalty, max_clusters=max_clusters)
        prices = opening_prices(executor, partition)
        descent = Descent(
            executor, partition, prices, self.visits, self.rng, _say_nothing, effort,
            self._divisions,
        )  # fmt: skip
        self.solutions.append(alternate(descent, start, "split-merge", self.max_steps))
        self._note_union()
        if partition.prior_weight:
            self._note_fits(partition)
        known = descent.divisions
        if known is None or not np.array_equal(known.names, executor.cluster_names):
            known = divide_clusters(executor, partition, self.rng, known)
        self._take(known)

    def _take(self, divisions: Divisions) -> None:
        self._divisions = divisions
        self.savings = np.sort(divisions.saved)[::-1]

    def _note_union(self) -> None:
        weights, totals = self.problem.executor.totals()
        if len(weights) > 1:
            centres = self.partition.centres(weights, totals)
            cheapest = float(nearest_partners(self.partition, weights, centres)[1].min())
            self._united.append((len(weights) - 1, self.solutions[-1].total(0.0) + cheapest))

    def _note_fits(self, partition: Partition) -> None:
        """Note fit terms that are known to be possible: of the solution, a union, and divisions.

        Where a prior keeps clusters whole, divisions are all that is known of larger numbers.
        """
        free = replace(partition, prior_weight=0.0)
        weights, totals = self.problem.executor.totals()
        means, k = free.centres(weights, totals), len(weights)
        explained = float(free.explained(weights, means, self.problem.mean).sum())
        fit = self.solutions[0].terms.fit - explained
        self.fits.append((k, fit))
        if k > 1:
            self.fits.append((k - 1, fit + float(nearest_partners(free, weights, means)[1].min())))
        self._free_divisions = divide_clusters(
            self.problem.executor, free, self.rng, self._free_divisions
        )
        saved = np.cumsum(np.sort(self._free_divisions.saved)[::-1])
        self.fits += [(k + more, fit - gain) for more, gain in enumerate(saved.tolist(), 1)]


def _say_nothing(step: int, n_clusters: int, n_changed: int) -> None:
    pass
