"""Solutions of one problem from one cluster to many, and which of them is best at a penalty.

`FallingPath` serves any costs: fits at falling penalties, each of which goes on from the last. And
back, on request: what was not divided well at first may be merged better at rising penalties.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.core.loop import say_nothing
from hardbayes.dp_means.descent import THOROUGH, Descent, SearchBudget, Solution
from hardbayes.dp_means.moves.merges import nearest_partners
from hardbayes.dp_means.moves.splits import divide_clusters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats, VisitOrder
    from hardbayes.dp_means.moves.splits import Divisions
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.passes import Passes
    from hardbayes.dp_means.state import PartitionState


RANGE = np.exp(-16.0)  # of penalties, from the one that first gives two clusters


class Path(ABC):
    """What all paths have; all in working units.

    Parameters
    ----------
    state : PartitionState
    partition : Partition
        With any penalty.
    passes : Passes
    opening_costs : callable
        Returns what rows (n,) or (1,) pay to open a cluster of a partition.
    mean : array (d,)
        Of all rows.
    order : VisitOrder
    max_steps : int
        Of each fit.
    rng : RandomState
    unit : float
        A penalty of one in the user's units.
    """

    def __init__(
        self,
        state: PartitionState,
        partition: Partition,
        passes: Passes,
        opening_costs: Callable[[Partition], Floats],
        mean: Floats,
        order: VisitOrder,
        max_steps: int,
        rng: np.random.RandomState,
        unit: float,
    ) -> None:
        self.unit = unit
        self.state = state
        self.partition = partition
        self.passes = passes
        self.opening_costs = opening_costs
        self.mean = mean
        self.order = order
        self.max_steps = max_steps
        self.rng = rng
        self.solutions: list[Solution] = []
        #: With a prior: number of clusters and fit term of what is known to be possible without it,
        #: where clusters are at their means.
        self.fits: list[tuple[int, float]] = []
        #: Down to this penalty nothing changes any more; None where the path just ended.
        self.floor: float | None = None
        #: The largest number of clusters that the path was traced for.
        self.most: float = np.inf
        #: The smallest penalty so far.
        self.lowest: float = np.inf

    @property
    @abstractmethod
    def n_clusters(self) -> int:
        """The largest number of clusters so far."""

    @property
    @abstractmethod
    def next_change(self) -> float:
        """Below this penalty the solutions so far are suboptimal."""

    @abstractmethod
    def trace(self, n_clusters: int, cap: int | None = None, thorough: bool = False) -> None:
        """Go on until there are so many clusters, or nothing is gained.

        No number of clusters is left out while there are few, nor is ``cap``. ``thorough``: takes
        twice as long for solutions that are a little better.
        """

    @property
    def points(self) -> list[tuple[int, float]]:
        """Number of clusters and objective without penalties of all that is known to be possible.

        One cluster comes first.
        """
        return [(s.terms.n_clusters, s.cost) for s in self.solutions]

    def labels_with(self, n_clusters: int) -> NDArray[np.int32] | None:
        """Return the labels (n,), 0 to k - 1, of the best solution with exactly k clusters.

        None where the path has no such solution.
        """
        found = [s for s in self.solutions if s.terms.n_clusters == n_clusters]
        return min(found, key=lambda s: s.cost).labels if found else None

    @property
    def partitions(self) -> dict[int, NDArray[np.int32]]:
        """For each number of clusters that came up, labels (n,) of the best partition: any."""
        ranked = sorted(self.solutions, key=lambda s: s.cost, reverse=True)
        return {s.terms.n_clusters: s.labels for s in ranked}

    @property
    def first_penalty(self) -> float:
        """Above this penalty one cluster is best of all that is known; one where it always is."""
        fit = self.points[0][1]
        gains = [(fit - other) / (k - 1) for k, other in self.points if k > 1 and other < fit]
        return max(gains, default=self.next_change or self.unit)

    def best_at(self, penalty: float, max_clusters: int | None = None) -> Solution:
        """Return the best of all solutions at this penalty, with at most so many clusters.

        The larger the penalty, the fewer clusters it has: a minimum over the same few solutions.
        """
        allowed = [s for s in self.solutions if s.terms.n_clusters <= (max_clusters or np.inf)]
        return self._best(penalty, allowed)

    def _best(self, penalty: float, solutions: list[Solution]) -> Solution:
        partition = replace(self.partition, penalty=penalty)
        return min(solutions, key=lambda s: (s.total(partition), s.terms.n_clusters))

    def jump_to(self, penalty: float) -> None:
        """Solve at a penalty far below, beginning with the solution that fits best."""
        self.solve(penalty, self.best_at(0.0).centres, self.partition.max_clusters, THOROUGH)

    def solve(
        self,
        penalty: float,
        start: Floats | None,
        max_clusters: int,
        budget: SearchBudget,
        divisions: Divisions | None = None,
    ) -> Descent:
        """Solve at a penalty, from centres (k, d) or where the last fit ended; add the solution."""
        self.lowest = min(self.lowest, penalty)
        partition = replace(self.partition, penalty=penalty, max_clusters=max_clusters)
        descent = Descent(
            self.state, partition, self.passes, self.opening_costs(partition), self.order,
            self.rng, say_nothing, budget, divisions,
        )  # fmt: skip
        self.solutions.append(descent.run(start, "split-merge", self.max_steps))
        return descent


# Little on each fit, because those before and after add theirs.
BUDGET = SearchBudget(rounds=6, trials=8, uncompiled_rows=256)
# Stands for an infinite penalty, and leaves room to add to it.
PROHIBITIVE = np.finfo(np.float64).max / 4
# From one fit to the next the number of clusters grows by one, or by one in so many. In the plane,
# where fit terms fall as 1 / k, a twelfth more or fewer clusters than the best costs 0.35 %; with
# more columns less.
CLUSTERS_A_STEP = 6
# By how much the penalty falls at most where that takes several divisions: plateaus as narrow as
# this may be passed over.
MAX_STEP = 0.8
STEP = 0.95  # by which the penalty falls where divisions that seemed to pay did not


class FallingPath(Path):
    """Solutions of one problem at falling penalties."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._united: list[tuple[int, float]] = []
        self._free_divisions: Divisions | None = None
        #: What the division of each cluster of the last solution would save, the most first.
        self.savings: Floats = np.zeros(1)
        self._penalties: list[float] = []
        self._divisions: Divisions | None = None
        self._solve(PROHIBITIVE, self.mean[np.newaxis], 1)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the last solution."""
        return self.solutions[-1].terms.n_clusters

    @property
    def next_change(self) -> float:
        """Below this penalty the last solution is suboptimal."""
        return float(self.savings[0])

    @property
    def points(self) -> list[tuple[int, float]]:
        """As of any path; besides the solutions, each with its cheapest pair of clusters united."""
        return super().points + self._united

    def trace(self, n_clusters: int, cap: int | None = None, thorough: bool = False) -> None:
        """Go down until there are so many clusters, or nothing is left to gain.

        While there are few clusters they come one by one, so that none of their numbers is missed;
        nor is ``cap``. ``thorough``: and back.
        """
        penalty = self.next_change
        end = penalty * RANGE
        grew = True
        while self.n_clusters < n_clusters and min(penalty, self.next_change) > end:
            k = self.n_clusters
            ends = n_clusters if cap is None or cap <= k else min(n_clusters, cap)
            more = min(ends - k, max(1, k // CLUSTERS_A_STEP))
            change = max(float(self.savings[more - 1]), MAX_STEP * self.next_change)
            # Just below, so that what changes there has changed; lower where it was not worth it.
            penalty = min(penalty * (1.0 if grew else STEP), change * (1 - 1e-6))
            self.go_down_to(penalty, k + more)
            self.state.rows.pool.report.step("path, clusters", self.n_clusters, n_clusters)
            grew = self.n_clusters > k
            if self.next_change <= end:  # nothing to gain, as far as is known: divide all again
                self.divide_anew()
        if self.n_clusters < n_clusters:
            self.floor = 0.0 if self.partition.prior_weight else end
        if thorough:
            self.go_back()

    def go_down_to(self, penalty: float, max_clusters: int) -> None:
        """Solve at this penalty with at most so many clusters, beginning with the last solution."""
        self._solve(penalty, None, max_clusters)

    def go_back(self) -> None:
        """Solve at the same penalties once more, rising, beginning with the last solution.

        There may be better ones than the path came by on its way down.
        """
        penalties = sorted(self._penalties[1:-1])
        for done, penalty in enumerate(penalties, 1):
            self._solve(penalty, None, self.partition.max_clusters)
            self.state.rows.pool.report.step("way back, penalties", done, len(penalties))

    def divide_anew(self) -> None:
        """Divide all clusters of the last solution, whatever is known of them."""
        partition = replace(self.partition, penalty=self._penalties[-1])
        self._take(self._divide(partition, None))

    def _solve(self, penalty: float, start: Floats | None, max_clusters: int) -> None:
        self._penalties.append(penalty)
        descent = self.solve(penalty, start, max_clusters, BUDGET, self._divisions)
        self._note_union()
        if self.partition.prior_weight:
            self._note_fits(descent.partition)
        known = descent.divisions
        if known is None or not np.array_equal(known.names, self.state.names):
            known = self._divide(descent.partition, known)
        self._take(known)

    def _divide(self, partition: Partition, known: Divisions | None) -> Divisions:
        return divide_clusters(self.state, partition, self.passes.refine, self.rng, known)

    def _take(self, divisions: Divisions) -> None:
        self._divisions = divisions
        self.savings = np.sort(divisions.saved)[::-1]

    def _note_union(self) -> None:
        weights, centres = self.state.centres()
        if len(weights) > 1:
            cheapest = float(nearest_partners(self.partition, weights, centres)[1].min())
            self._united.append((len(weights) - 1, self.solutions[-1].cost + cheapest))

    def _note_fits(self, partition: Partition) -> None:
        """Note fit terms that are known to be possible: of the solution, a union, and divisions.

        Where a prior keeps clusters whole, divisions are all that is known of larger numbers.
        """
        free = replace(partition, prior_weight=0.0)
        weights, totals = self.state.totals()
        means, k = free.centres(weights, totals), len(weights)
        explained = float(free.explained(weights, means, self.mean).sum())
        fit = self.solutions[0].terms.fit - explained
        self.fits.append((k, fit))
        if k > 1:
            self.fits.append((k - 1, fit + float(nearest_partners(free, weights, means)[1].min())))
        self._free_divisions = self._divide(free, self._free_divisions)
        saved = np.cumsum(np.sort(self._free_divisions.saved)[::-1])
        self.fits += [(k + more, fit - gain) for more, gain in enumerate(saved.tolist(), 1)]
