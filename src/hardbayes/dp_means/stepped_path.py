"""A path by steps of one cluster, from one to many and back.

No penalty takes part: for each number of clusters the best solution found is kept. On the way up
the cluster divides whose division saves most; on the way back the two unite whose union costs
least, and exchanges may be tried: a union, then a division. After each step rows move one by one,
which is so local that all steps together cost about as much as a few fits at the end of the path.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardbayes.core.loop import Status
from hardbayes.dp_means.descent import Solution
from hardbayes.dp_means.moves.merges import RELATIVE_TOLERANCE
from hardbayes.dp_means.moves.splits import UNCHANGED, n_starts
from hardbayes.dp_means.objective import terms_of
from hardbayes.dp_means.path import RANGE, Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats
    from hardbayes.dp_means.incremental import IncrementalPartition
    from hardbayes.dp_means.incremental_totals import IncrementalTotals

    Incremental = IncrementalPartition | IncrementalTotals

# The way back begins beyond the end, because the last steps had no chance to be improved: with
# this part of the clusters more, or so many, the more the fewer rows there are.
BEYOND = 0.1
BEYOND_AT_LEAST = 4
BEYOND_AT_MOST = 16
BEYOND_TIMES_ROWS = 9600
# Exchanges tried with each number of clusters: at most so many, the more the fewer clusters or the
# fewer rows there are. Up to some number of clusters a trial of as many rows counts less.
TRIALS = 4
TRIALS_TIMES_CLUSTERS = 24
TRIALS_TIMES_ROWS = 800
SMALL_K = 36
SMALL_K_TRIALS_TIMES_ROWS = 2400
# With so many rows, single-row moves converge after each step; of more, one in so many may still
# move until the solution is used.
ALWAYS_CONVERGED = 1 << 13
UNCONVERGED = 200
# Below this part of the first a fit term is measured by exact means: it may be zero.
MIN_RELATIVE_FIT = 1e-12


class Step(NamedTuple):
    """The best solution found with some number of clusters."""

    fit: float
    labels: NDArray[np.int32]  # (n,): any numbers
    n_splits: int
    n_merges: int


class SteppedPath(Path):
    """Solutions that have one cluster more or fewer each time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        n_rows = self.state.rows.n_rows
        quick = n_rows <= ALWAYS_CONVERGED and self.partition.geometry.formula is None
        self._max_changes = 0 if quick else n_rows // UNCONVERGED
        self._steps: dict[int, Step] = {}
        self._beyond: list[tuple[int, float]] = []
        self._found: dict[int, Solution] = {}
        self._begin(1)

    def _begin(self, n_slots: int) -> None:
        one = np.zeros(self.state.rows.n_rows, np.int32)
        self._current = self._incremental(one, n_slots)
        self._fit = 0.0
        self._n_splits = self._n_merges = 0
        self._note()
        self._divide()
        self._first_saving = float(self._current.savings.max())
        self._end = RANGE * self._first_saving  # savings so small are none

    @property
    def n_clusters(self) -> int:
        """The largest number of clusters."""
        return max(self._steps)

    @property
    def next_change(self) -> float:
        """Below this penalty one cluster is known not to be best."""
        return self._first_saving

    @property
    def points(self) -> list[tuple[int, float]]:
        """As of any path."""
        steps = [(k, step.fit) for k, step in sorted(self._steps.items())]
        return steps + self._beyond + super().points

    @property
    def partitions(self) -> dict[int, NDArray[np.int32]]:
        """As of any path."""
        return super().partitions | {k: step.labels for k, step in self._steps.items()}

    def trace(self, n_clusters: int, cap: int | None = None, thorough: bool = False) -> None:
        """Go to so many clusters, or as long as something is gained, and back to one.

        All numbers come up, also ``cap``. ``thorough``: exchanges are tried on the way back.
        """
        self.most = n_clusters = max(n_clusters, 1)
        rows = self.state.rows
        n_rows = int(np.count_nonzero(np.broadcast_to(rows.weights, rows.n_rows)))
        more = min(max(BEYOND_TIMES_ROWS // n_rows, BEYOND_AT_LEAST), BEYOND_AT_MOST)
        most = min(n_clusters + max(more, int(BEYOND * n_clusters)), n_rows)
        self._found.clear()
        self._begin(most)
        report = rows.pool.report
        while self._current.n_clusters < most and self._one_more():
            report.step("path, clusters", self._current.n_clusters, most)
        if self._current.n_clusters < n_clusters:
            self.floor = 0.0 if self.partition.prior_weight else self._end
        if self.partition.prior_weight:
            self._note_divisions()
        while self._current.n_clusters > 1:
            self._one_fewer(*self._current.cheapest_unions(1)[0])
            if thorough:
                self._exchange()
            left = self._current.n_clusters
            report.step("way back, clusters", len(self._steps) - left, len(self._steps) - 1)
        # Beyond the end only the fit terms count: they tell what the last numbers are worth.
        beyond = [k for k in self._steps if k > n_clusters]
        self._beyond = [(k, self._steps.pop(k).fit) for k in beyond]
        most, fit = max((k, step.fit) for k, step in self._steps.items())
        slopes = [(step.fit - fit) / (most - k) for k, step in self._steps.items() if k < most]
        self.lowest = min(slopes, default=np.inf) if self.floor is None else self.floor

    def best_at(self, penalty: float, max_clusters: int | None = None) -> Solution:
        """As of any path; a solution is computed when it is first used."""
        most = max_clusters or np.inf
        penalties = replace(self.partition, penalty=penalty).total_penalty
        totals = {k: step.fit + penalties(k) for k, step in self._steps.items() if k <= most}
        best = min(totals, key=lambda k: (totals[k], k))
        if best not in self._found:
            self._found[best] = self._solution(self._steps[best])
        others = [s for s in self.solutions if s.terms.n_clusters <= most]
        return self._best(penalty, [self._found[best], *others])

    def labels_with(self, n_clusters: int) -> NDArray[np.int32] | None:
        """As of any path; the last rows may not have moved yet, where there are many."""
        step = self._steps.get(n_clusters)
        return super().labels_with(n_clusters) if step is None else consecutive(step.labels)

    # -- steps -------------------------------------------------------------------------------------

    def _one_more(self) -> bool:
        """Divide the cluster whose division saves most; return whether one saves anything."""
        incremental = self._current
        self._divide()
        if incremental.savings.max() <= self._end:  # divide clusters that have hardly changed, too
            self._divide(unchanged=0.0)
        while incremental.savings.max() > self._end:
            if incremental.split(int(incremental.savings.argmax())):
                self._n_splits += 1
                self._move_rows()
                return True
        return False

    def _one_fewer(self, a: int, b: int) -> None:
        self._current.unite(a, b)
        self._n_merges += 1
        self._move_rows()

    def _exchange(self) -> None:
        """Unite two clusters and divide one, if that is better: the first that is, of a few."""
        incremental = self._current
        k, n_rows = incremental.n_clusters, self.state.rows.n_rows
        of_rows = (SMALL_K_TRIALS_TIMES_ROWS if k <= SMALL_K else TRIALS_TIMES_ROWS) // n_rows
        trials = min(TRIALS, max(TRIALS_TIMES_CLUSTERS // k, of_rows))
        if not trials or k == 1:
            return
        self._divide()
        saved = incremental.save()
        before = self._fit, self._n_splits, self._n_merges
        for a, b in incremental.cheapest_unions(trials):
            self._one_fewer(a, b)
            if self._one_more() and self._fit < before[0] * (1 - RELATIVE_TOLERANCE):
                return
            incremental.restore(saved)
            self._fit, self._n_splits, self._n_merges = before

    def _move_rows(self) -> None:
        self._current.move_rows(self._max_changes)
        self._note()

    def _divide(self, unchanged: float = UNCHANGED) -> None:
        self._current.divide(n_starts(self._current.n_clusters), unchanged)

    def _note(self) -> None:
        """Keep the present partition, if it is the best with as many clusters."""
        incremental = self._current
        self._fit = incremental.fit()
        step = Step(self._fit, incremental.labels.copy(), self._n_splits, self._n_merges)
        if 1 in self._steps and self._fit < MIN_RELATIVE_FIT * self._steps[1].fit:
            step = step._replace(fit=self._solution(step).terms.fit)
        if self.partition.prior_weight:
            self.fits.append((incremental.n_clusters, incremental.free_fit()))
        known = self._steps.get(incremental.n_clusters)
        if known is None or step.fit < known.fit:
            self._steps[incremental.n_clusters] = step

    def _note_divisions(self) -> None:
        """Note what dividing the present clusters would save without the prior.

        Where the prior keeps clusters whole, that is all that is known of larger numbers.
        """
        labels = consecutive(self._current.labels)
        k = int(labels.max()) + 1
        free = replace(self.partition, prior_weight=0.0)
        totals, numbers = self.state.rows.totals(k, labels), np.arange(k)
        weights = totals.weights(numbers)
        form = free.moving_form(free.centres(weights, totals.sums(numbers)))
        divided = self.state.rows.take().incremental(form, labels, weights, k + 1, self.rng)
        divided.divide(n_starts(k), 0.0)
        saved = np.cumsum(np.sort(divided.savings)[::-1][:k])
        fit = divided.free_fit()
        self.fits += [(k + more, fit - gain) for more, gain in enumerate(saved.tolist(), 1)]

    def _incremental(self, labels: NDArray[np.int32], n_slots: int) -> Incremental:
        k = int(labels.max()) + 1
        weights, centres = self._clusters(labels, k)
        form = self.partition.moving_form(centres)
        return self.state.rows.take().incremental(form, labels, weights, n_slots, self.rng)

    def _clusters(self, labels: NDArray[np.int32], k: int) -> tuple[Floats, Floats]:
        totals, numbers = self.state.rows.totals(k, labels), np.arange(k)
        weights = totals.weights(numbers)
        return weights, self.partition.centres(weights, totals.sums(numbers))

    def _solution(self, step: Step) -> Solution:
        labels = consecutive(step.labels)
        k = int(labels.max()) + 1
        if self._max_changes:
            partition = self._incremental(labels, k)
            partition.move_rows(0)
            labels = partition.labels
        centres = self._clusters(labels, k)[1]
        labels = self._with_weightless(labels, centres)
        terms = terms_of(self.state.fit_term_at(centres, labels), self.partition, centres)
        return Solution(
            labels, centres, terms, np.array([terms.fit + terms.prior]), np.array([k]),
            Status.CONVERGED, step.n_splits, step.n_merges,
        )  # fmt: skip

    def _with_weightless(self, labels: NDArray[np.int32], centres: Floats) -> NDArray[np.int32]:
        """Return labels with rows of no weight, which may not have moved, where they cost least."""
        rows = self.state.rows
        weightless = np.flatnonzero(np.broadcast_to(rows.weights, rows.n_rows) == 0)
        if not len(weightless) or self.partition.geometry.formula is None:
            return labels
        costs = rows.take(weightless).costs(self.partition.direct_form(centres))
        labels[weightless] = costs.argmin(axis=1)
        return labels


def consecutive(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return labels (n,) as numbers from 0 to k - 1, in the same order."""
    number = (np.cumsum(np.bincount(labels) > 0) - 1).astype(np.int32)
    return number[labels]
