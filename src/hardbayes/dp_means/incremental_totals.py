"""A partition that gains or loses one cluster at a time, where clusters are given by totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.core.arrays import Formula
from hardbayes.core.pool import Tiling
from hardbayes.dp_means.compiled.cluster_totals import LANES, free_potentials, recount, union_costs
from hardbayes.dp_means.compiled.stepping import (
    LARGE,
    SLIGHT,
    LinearScores,
    SteppedClusters,
    find_moves,
    find_slopes,
    find_usual,
    make_moves,
    part_from,
    unite_slots,
)
from hardbayes.dp_means.incremental import Saved
from hardbayes.dp_means.trials import MAX_HALVED_ROWS, centres_of, thin, totals_of, with_own_scratch

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats, TotalsForm
    from hardbayes.dp_means.local_rows import LocalRows


# Multiply-adds that take as long as the change of one term.
TERM = 8
# Parts of a cluster that may change before rows are compared with it again, and before those are
# for which all others cost so many times their own.
TOLERANCES = np.array([0.05, 0.3])
COMFORT, LAST_COMFORT = 1.05, 1.15
SMALL_ROWS = 1 << 12  # up to which no gain of a single row is missed in the end
MANY = 1 << 10  # of more rows, one in so many may still move before the last comparison
# What comes and goes is mostly at the border, and changes little of how a cluster divides.
SEVERAL = 5


class IncrementalTotals:
    """A partition of rows in memory, where potentials have a formula; see `IncrementalPartition`.

    Parameters
    ----------
    local : LocalRows
        All rows.
    form : TotalsForm
        Where the clusters are.
    labels : array (n,) of int32
        Clusters to begin with: 0 to k - 1, each with weight.
    weights : array (k,)
    n_slots : int
        How many clusters there may be at a time at least, k or more.
    rng : RandomState
    """

    def __init__(
        self,
        local: LocalRows,
        form: TotalsForm,
        labels: NDArray[np.int32],
        weights: Floats,
        n_slots: int,
        rng: np.random.RandomState,
    ) -> None:
        k, n = len(weights), local.n_rows
        n_slots += -n_slots % LANES
        sizes = np.full(n_slots, form.prior_weight)
        sizes[:k] += weights
        centres = np.tile(form.prior_mean, (n_slots, 1))
        centres[:k] = form.centres
        self._local = local
        self._form = form
        self._rng = rng
        self.n_clusters = k
        self._clusters = SteppedClusters(
            labels.copy(), sizes, np.bincount(labels[local.weights_at() > 0], minlength=n_slots),
            totals_of(form._replace(centres=centres), sizes), np.zeros((2, n_slots), np.int64),
            np.zeros((2, n_slots)), np.zeros(n_slots, np.int64), np.full(n, -1),
            np.full(n, -np.inf), np.full(n, -1), np.zeros(n), np.zeros(1, np.int64),
            self._linear_scores(n_slots),
        )  # fmt: skip
        self._sloped = -1  # when the slopes were computed
        self._constant = float(np.sum(local.weights_at() * local.constants_at()))
        self._union_costs = np.full((n_slots, n_slots), np.inf)
        self._united = np.full(n_slots, -1)  # when these were computed
        #: What the best division found of each slot (slots,) would save; zero for none.
        self.savings: Floats = np.zeros(n_slots)
        self._halving = np.full(n_slots, -1)  # which division is known of each slot; -1: none
        self._halved = np.full(n, -1)  # in which division each row last was
        self._second = np.zeros(n, bool)  # whether it was in the second half
        self._winners = np.empty(n, np.int64)  # where rows should move
        self._n_halvings = 0

    def _linear_scores(self, n_slots: int) -> LinearScores:
        """Return room for the linear scores of many rows; for no columns where none are used."""
        local = self._local
        used = local.n_rows > SMALL_ROWS and self._form.formula is Formula.T_LOG_T
        d = local.n_columns if used else 0
        usual = np.zeros(d)
        if used:
            find_usual(local.rows, local.weights, local.n_rows, usual, np.zeros(d))
        return LinearScores(
            usual, np.zeros((d, n_slots), np.float32), np.full(local.n_rows, np.nan),
            np.zeros(n_slots, np.float32),
        )  # fmt: skip

    @property
    def labels(self) -> NDArray[np.int32]:
        """Slot of each row (n,); it changes with the next step."""
        return self._clusters.labels

    @property
    def centres(self) -> Floats:
        """Centre of each slot (slots, d), with the prior; at zero where it is empty."""
        return centres_of(self._clusters.totals, self._clusters.sizes)

    def fit(self) -> float:
        """Return the objective without penalties: the sum of weighted costs, and the prior's."""
        used = self._clusters.members > 0
        potentials = self._clusters.totals.potentials[used] - self._clusters.totals.alone[2]
        return self._constant - float(potentials.sum())

    def free_fit(self) -> float:
        """Return the fit term that clusters would have at their means, without the prior."""
        free_potentials(self._clusters.totals, self._clusters.sizes)
        return self._constant - float(
            self._clusters.totals.joined[self._clusters.members > 0].sum()
        )

    def cheapest_unions(self, count: int) -> list[tuple[int, int]]:
        """Return up to ``count`` pairs of slots whose union raises the objective least."""
        clusters, costs = self._clusters, self._union_costs
        used = clusters.members > 0
        for a in np.flatnonzero(used & (clusters.changed[SLIGHT] > self._united)):
            union_costs(clusters.totals, clusters.sizes, a, 0, costs[a])
            costs[:, a] = costs[a]
            self._united[a] = clusters.clock[0]
        pairs = np.where(np.triu(used & used[:, np.newaxis], 1), costs, np.inf)
        partners = pairs.argmin(axis=1)
        least = pairs[np.arange(len(pairs)), partners]
        order = np.argsort(least, kind="stable")[:count].tolist()
        return [(a, int(partners[a])) for a in order if np.isfinite(least[a])]

    def move_rows(self, max_changes: int) -> None:
        """Move rows one by one while the objective falls.

        Until no more than ``max_changes`` rows move in a pass over all. Each is compared with all
        clusters at first, then with those that have changed enough. Where none may move in the end,
        rows are at last compared with all that have changed at all, again and again; of many rows,
        once, those for which others cost little more than their own: the rest gains next to
        nothing.
        """
        clusters = self._clusters
        recount(clusters.totals, clusters.sizes)  # without the rounding of the steps before
        is_small = self._local.n_rows <= SMALL_ROWS
        is_last = max_changes > 0
        most = max_changes if is_small else max(max_changes, self._local.n_rows // MANY)
        comfort = COMFORT
        spaces: dict[int, SteppedClusters] = {}
        while True:
            while self._move_rows_once(spaces, comfort) > most:
                pass
            kinds = slice(SLIGHT, LARGE + 1 if is_small else LARGE)
            pending = (clusters.pending[kinds] > 0).any(axis=0)
            if is_last or not pending.any():
                return
            is_last, most, comfort = not is_small, max_changes, LAST_COMFORT
            clusters.scores.shift[:] = np.nan
            clusters.clock[0] += 1
            clusters.changed[kinds, pending] = clusters.clock[0]
            clusters.pending[kinds, pending] = 0.0

    def _move_rows_once(self, spaces: dict[int, SteppedClusters], comfort: float) -> int:
        """Let all rows find where to move, then move one after the other; return how many did.

        ``spaces``: the clusters with scratch memory for each thread.
        """
        local, clusters = self._local, self._clusters
        data = local.rows, local.weights, local.constants
        now = int(clusters.clock[0])
        slopes = clusters.scores.slopes
        Tiling(slopes.shape[1], local.pool).run(
            lambda _, start, stop: find_slopes(clusters, self._sloped, start, stop),
            len(slopes), TERM,
        )  # fmt: skip
        self._sloped = now

        def task(worker: int, start: int, stop: int) -> None:
            if worker not in spaces:
                spaces[worker] = clusters._replace(
                    totals=with_own_scratch(clusters.totals),
                    scores=clusters.scores._replace(sums=np.zeros_like(clusters.scores.sums)),
                )
            find_moves(*data, spaces[worker], comfort, self._winners, start, stop)

        tiling = Tiling(local.entries_per_row, local.pool)
        tiling.run(task, local.n_rows, TERM * self.n_clusters)
        n_moved: int = make_moves(*data, clusters, TOLERANCES, self._winners)
        for space in spaces.values():
            space.totals.absent_weights[:, clusters.touched > now] = np.nan
        return n_moved

    def divide(self, n_starts: int, unchanged: float) -> None:
        """Find for every cluster the best of ``n_starts`` divisions.

        Clusters keep the division found before if they gained and lost less than SEVERAL times the
        part ``unchanged`` of their weight.
        """
        clusters = self._clusters
        turnover = clusters.totals.turnover
        changed = (self._halving < 0) | (turnover > SEVERAL * unchanged * clusters.sizes)
        slots = np.flatnonzero((clusters.members > 0) & changed)
        if not len(slots):
            return
        number = np.full(len(self.savings), -1)
        number[slots] = np.arange(len(slots))
        groups = number[clusters.labels]
        rows = np.argsort(groups, kind="stable")
        rows = rows[np.searchsorted(groups[rows], 0) :]
        n_rows = np.bincount(groups[rows])
        rows = rows[thin(groups[rows], MAX_HALVED_ROWS)]
        grouped = self._local.group(rows, groups[rows], np.arange(len(slots) + 1))
        saved, second = grouped.halve(self._form, n_starts, self._rng)
        self.savings[slots] = saved * (n_rows / np.bincount(groups[rows]))
        self._halving[slots] = self._n_halvings + np.arange(len(slots))
        self._n_halvings += len(slots)
        self._halved[rows] = self._halving[slots][groups[rows]]
        self._second[rows] = second
        turnover[slots] = 0.0

    def split(self, c: int) -> bool:
        """Divide the cluster in slot c as found; return whether both parts have rows."""
        clusters = self._clusters
        known = (clusters.labels == c) & (self._halved == self._halving[c])
        leaving = np.flatnonzero(known & self._second)
        n_leaving = int(np.count_nonzero(self._local.weights_at(leaving) > 0))
        self.savings[c] = 0.0
        self._halving[c] = -1
        if not 0 < n_leaving < clusters.members[c]:
            return False
        new = int(clusters.members.argmin())
        part_from(self._local.rows, self._local.weights, clusters, leaving, c, new)
        self.savings[new] = 0.0
        self._halving[new] = -1
        self.n_clusters += 1
        return True

    def unite(self, a: int, b: int) -> None:
        """Unite the clusters in slots a and b."""
        unite_slots(self._clusters, a, b)
        self.n_clusters -= 1
        self.savings[[a, b]] = 0.0
        self._halving[[a, b]] = -1

    def save(self) -> Saved:
        """Return a copy of everything that steps change."""
        return Saved([array.copy() for array in self._arrays()], self.n_clusters)

    def restore(self, saved: Saved) -> None:
        """Go back to what was saved."""
        for array, kept in zip(self._arrays(), saved.arrays, strict=True):
            array[:] = kept
        self.n_clusters = saved.n_clusters
        self._sloped = -1

    def _arrays(self) -> list[NDArray[Any]]:
        clusters, totals = self._clusters, self._clusters.totals
        return [
            *clusters[:3], *clusters[4:-1], totals.totals, totals.terms, totals.sums,
            totals.term_sums, totals.potentials, totals.turnover, self._union_costs, self._united,
            self.savings, self._halving, self._halved, self._second,
        ]  # fmt: skip
