"""A path of fits at falling penalties, each of which goes on from the last. For any costs.

And back, on request: what was not divided well at first may be united better at rising penalties.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.partition.descent import Effort
from hardbayes.engine.partition.path import RANGE, Path
from hardbayes.moves.partition.merges import nearest_partners
from hardbayes.moves.partition.splits import divide_clusters

if TYPE_CHECKING:
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.splits import Divisions
    from hardbayes.structure.partition import Partition

# Little on each fit, because those before and after add theirs.
EFFORT = Effort(rounds=6, trials=8, uncompiled_rows=256)
# Stands for an infinite penalty, and leaves room to add to it.
PROHIBITIVE = np.finfo(np.float64).max / 4
# From one fit to the next the number of clusters grows by one, or by one in so many. In the plane,
# where fit terms fall as 1 / k, a twelfth more or fewer clusters than the best costs 0.35 %; with
# more columns less.
CLUSTERS_A_STEP = 6
# By how much the penalty falls at most where that takes several divisions: plateaus as narrow as
# this may be passed over.
LONGEST_STEP = 0.8
STEP = 0.95  # by which the penalty falls where divisions that seemed to pay did not


class FallingPath(Path):
    """A walk through solutions of one problem at falling penalties."""

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
            change = max(float(self.savings[more - 1]), LONGEST_STEP * self.next_change)
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
        self._take(self._divided(partition, None))

    def _solve(self, penalty: float, start: Floats | None, max_clusters: int) -> None:
        self._penalties.append(penalty)
        descent = self.solve(penalty, start, max_clusters, EFFORT, self._divisions)
        self._note_union()
        if self.partition.prior_weight:
            self._note_fits(descent.partition)
        known = descent.divisions
        if known is None or not np.array_equal(known.names, self.state.names):
            known = self._divided(descent.partition, known)
        self._take(known)

    def _divided(self, partition: Partition, known: Divisions | None) -> Divisions:
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
        self._free_divisions = self._divided(free, self._free_divisions)
        saved = np.cumsum(np.sort(self._free_divisions.saved)[::-1])
        self.fits += [(k + more, fit - gain) for more, gain in enumerate(saved.tolist(), 1)]
