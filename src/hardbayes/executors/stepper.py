"""Clusters that come and go one by one, and rows that follow: the compiled steps of a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.kernels.partition.dividing import Divisions, Room, divide, split
from hardbayes.kernels.partition.incremental import (
    SteppingClusters,
    price_unions,
    settle,
    total_cost,
    unite,
)
from hardbayes.kernels.partition.totals import no_totals

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from hardbayes.executors.rearranging import Rearranging
    from hardbayes.kernels.partition.rows import Centres
    from hardbayes.matrices import Floats

# Entries of rows compared with centres between two looks at whether somebody pressed Ctrl-C.
ENTRIES_A_CALL = 1 << 24
# Ways in which a cluster is divided: so many, or more while clusters are few, and each holds many
# that might be told apart.
STARTS = 3
STARTS_IN_ALL = 12
# Rows on which a cluster is divided.
MOST_DIVIDED = 1 << 12
# A cluster that gained or lost less than this part of its weight, and moved for less than this part
# of what the best division saves, is not divided anew.
HARDLY = 0.02


class Saved(NamedTuple):
    """Everything that steps change."""

    arrays: list[NDArray[Any]]
    n_clusters: int


class Stepper:
    """Clusters of which one more or one fewer comes at a time; rows follow.

    Costs are squared distances, without a prior. The labels of the executor are left alone.

    Parameters
    ----------
    executor : Rearranging
    labels : array (n,) of int32
        Clusters to begin with: 0 to k - 1, each with weight.
    n_slots : int
        How many clusters there may be at a time, k or more.
    rng : RandomState
    """

    def __init__(
        self,
        executor: Rearranging,
        labels: NDArray[np.int32],
        n_slots: int,
        rng: np.random.RandomState,
    ) -> None:
        self._executor = executor
        self._rng = rng
        self._data = executor.rows, executor.weights, executor.constants
        self.n_clusters = int(labels.max()) + 1
        self._clusters = self._clusters_of(labels, n_slots)
        n, d = executor.shape
        self._divisions = Divisions(
            np.zeros(n_slots), np.zeros((n_slots, 2, d)), np.full(n_slots, -1), np.zeros(n_slots),
            np.zeros((n_slots, d)),
        )  # fmt: skip
        nothing = np.zeros(d)
        self._room = Room(
            np.zeros(n, np.intp), np.zeros(n, np.intp), np.zeros(n, np.int64), np.zeros(n, bool),
            np.zeros(n), np.zeros(n), self._table(2), np.zeros(2), np.zeros(2, np.int64),
            no_totals(2, d), (nothing, nothing), np.array([0, 1]), np.array([0, 2]),
            np.zeros(2, np.int64),
        )  # fmt: skip
        self._partners, self._costs = np.zeros(n_slots, np.int64), np.zeros(n_slots)

    def _clusters_of(self, labels: NDArray[np.int32], n_slots: int) -> SteppingClusters:
        executor, k = self._executor, self.n_clusters
        weights, totals = executor.totals_of(labels, k)
        table = self._table(n_slots)
        table.exact[:k] = totals / weights[:, np.newaxis]
        table.exact_offset[:k] = np.einsum("ij,ij->i", table.exact[:k], table.exact[:k])
        sizes, members = np.zeros(n_slots), np.zeros(n_slots, np.int64)
        sizes[:k] = weights
        members[:k] = np.bincount(labels[executor.weights_of(slice(None)) > 0], minlength=k)
        older, newer = np.arange(1, n_slots + 2), np.arange(-1, n_slots)
        older[n_slots], newer[0] = 0, n_slots
        older[k - 1], newer[n_slots] = n_slots, k - 1
        n = executor.n_rows
        return SteppingClusters(
            labels.copy(), sizes, members, table, np.zeros(n_slots, np.int64), older, newer,
            np.zeros((n_slots, n_slots)), np.full((n_slots, n_slots), -1), np.full(n, -1),
            np.full(n, -np.inf), np.zeros(1, np.int64),
        )  # fmt: skip

    def _table(self, slots: int) -> Centres:
        return self._executor.bare(np.zeros((slots, self._executor.n_columns)))

    # -- what there is ----------------------------------------------------------------------------

    @property
    def labels(self) -> NDArray[np.int32]:
        """Slot of each row (n,); it changes with the next step."""
        return self._clusters.labels

    @property
    def savings(self) -> Floats:
        """What the division of each slot (slots,) would save, as far as is known; else zero."""
        return self._divisions.saved

    def fit(self) -> float:
        """Return the sum of weighted costs."""
        return float(total_cost(*self._data, self._clusters))

    def cheapest_unions(self, count: int) -> list[tuple[int, int]]:
        """Return pairs of slots that unite most cheaply, at most so many."""
        price_unions(self._clusters, self._partners, self._costs)
        order = np.argsort(self._costs, kind="stable")[:count].tolist()
        return [(a, int(self._partners[a])) for a in order if self._partners[a] != a]

    def save(self) -> Saved:
        """Return a copy of everything."""
        return Saved([array.copy() for array in self._arrays()], self.n_clusters)

    def restore(self, saved: Saved) -> None:
        """Go back to what was saved."""
        for array, kept in zip(self._arrays(), saved.arrays, strict=True):
            array[:] = kept
        self._clusters.measured[:] = -1
        self.n_clusters = saved.n_clusters

    def _arrays(self) -> list[NDArray[Any]]:
        clusters = self._clusters
        return [
            *clusters[:3], clusters.table.exact, clusters.table.exact_offset, clusters.changed,
            clusters.older, clusters.newer, clusters.looked, clusters.bound, clusters.clock,
            *self._divisions,
        ]  # fmt: skip

    # -- steps ------------------------------------------------------------------------------------

    def settle(self, patience: int) -> None:
        """Let rows move one by one while the objective falls.

        Until no more than ``patience`` do in a pass over all.
        """
        progress = np.zeros(2, np.int64)
        while not settle(*self._data, self._clusters, patience, progress, ENTRIES_A_CALL):
            pass

    def divide(self, hardly: float = HARDLY) -> None:
        """Find for every cluster the best of several divisions, unless it has hardly changed."""
        starts = max(STARTS, STARTS_IN_ALL // self.n_clusters)
        n_slots = len(self.savings)
        tosses = self._rng.random_sample((n_slots, starts, 2))
        moved = hardly * float(self.savings.max())
        slot = 0
        while slot < n_slots:
            slot = divide(
                *self._data, self._clusters, self._divisions, hardly, moved,
                MOST_DIVIDED, tosses, self._room, slot, ENTRIES_A_CALL,
            )  # fmt: skip

    def split(self, c: int) -> bool:
        """Divide the cluster in slot c as found; return whether both parts have rows."""
        new = int(self._clusters.members.argmin())
        done = split(*self._data, self._clusters, self._divisions, c, new, self._room)
        self.savings[[c, new]] = 0.0
        if done:
            self._divisions.when[[c, new]] = -1  # a part may be most of the cluster, yet another
            self.n_clusters += 1
        return bool(done)

    def unite(self, a: int, b: int) -> None:
        """Unite the clusters in slots a and b."""
        unite(self._clusters, a, b)
        self.savings[[a, b]] = 0.0
        self._divisions.when[[a, b]] = -1
        self.n_clusters -= 1
