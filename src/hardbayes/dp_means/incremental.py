"""A partition that gains or loses one cluster at a time: the compiled steps of a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.arrays import DirectForm, no_totals
from hardbayes.dp_means.compiled.incremental import (
    Divisions,
    IncrementalClusters,
    Workspace,
    divide,
    enter_ring,
    leave_ring,
    move_rows_changed,
    union_costs,
)
from hardbayes.dp_means.compiled.sums import costs
from hardbayes.dp_means.compiled.sweeping import add_up, choose

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from hardbayes.core.arrays import Centres, Floats, Totals
    from hardbayes.dp_means.local_rows import LocalRows


# As plain functions: a kernel for them would have to be compiled.
leave, enter = leave_ring.py_func, enter_ring.py_func  # type: ignore[attr-defined]
# Entries of rows compared with centres before Ctrl-C is noticed.
ENTRIES_A_CALL = 1 << 24
# Rows on which a cluster is divided.
MAX_DIVIDED_ROWS = 1 << 12


class Saved(NamedTuple):
    """Everything that steps change."""

    arrays: list[NDArray[Any]]
    n_clusters: int


class IncrementalPartition:
    """A partition of rows in memory, for squared distances without a prior.

    Parameters
    ----------
    local : LocalRows
        All rows.
    labels : array (n,) of int32
        Clusters to begin with: 0 to k - 1, each with weight.
    weights : array (k,)
    centres : array (k, d)
        Their means.
    n_slots : int
        How many clusters there may be at a time, k or more.
    rng : RandomState
    """

    def __init__(
        self,
        local: LocalRows,
        labels: NDArray[np.int32],
        weights: Floats,
        centres: Floats,
        n_slots: int,
        rng: np.random.RandomState,
    ) -> None:
        self._local = local
        self._rng = rng
        self._data = local.rows, local.weights, local.constants
        self.n_clusters = len(weights)
        self._clusters = self._clusters_of(labels, weights, centres, n_slots)
        n, d = local.n_rows, local.n_columns
        self._divisions = Divisions(
            saved=np.zeros(n_slots),
            halves=np.zeros((n_slots, 2, d)),
            when=np.full(n_slots, -1),
            sizes=np.zeros(n_slots),
            centres=np.zeros((n_slots, d)),
        )
        self._workspace = Workspace(
            ids=np.zeros(n, np.intp),
            groups=np.zeros(n, np.intp),
            places=np.zeros(n, np.int64),
            near=np.zeros(n, bool),
            costs=np.zeros(n),
            distances=np.zeros(n),
            parts=self._table(2),
            sizes=np.zeros(2),
            members=np.zeros(2, np.int64),
            totals=no_totals(2, d),
            no_rounding=(np.zeros(d), np.zeros(d)),
            one=np.array([0, 1]),
            two=np.array([0, 2]),
            tally=np.zeros(2, np.int64),
            gain=np.zeros(1),
            no_goal=np.full(1, np.nan),
        )
        self._partners, self._costs = np.zeros(n_slots, np.int64), np.zeros(n_slots)

    def _clusters_of(
        self, labels: NDArray[np.int32], weights: Floats, centres: Floats, n_slots: int
    ) -> IncrementalClusters:
        local, k = self._local, len(weights)
        table = self._table(n_slots)
        table.exact[:k] = centres
        table.exact_offset[:k] = np.einsum("ij,ij->i", centres, centres)
        sizes, members = np.zeros(n_slots), np.zeros(n_slots, np.int64)
        sizes[:k] = weights
        members[:k] = np.bincount(labels[local.weights_at() > 0], minlength=k)
        older, newer = np.arange(1, n_slots + 2), np.arange(-1, n_slots)
        older[n_slots], newer[0] = 0, n_slots
        older[k - 1], newer[n_slots] = n_slots, k - 1
        n = local.n_rows
        return IncrementalClusters(
            labels=labels.copy(),
            sizes=sizes,
            members=members,
            table=table,
            changed=np.zeros(n_slots, np.int64),
            older=older,
            newer=newer,
            apart=np.zeros((n_slots, n_slots)),
            measured=np.full((n_slots, n_slots), -1),
            compared=np.full(n, -1),
            bound=np.full(n, -np.inf),
            clock=np.zeros(1, np.int64),
        )

    def _table(self, slots: int) -> Centres:
        zeros = np.zeros((slots, self._local.n_columns))
        return self._local.centres(DirectForm(zeros, np.zeros(slots), True))

    # -- the partition -----------------------------------------------------------------------------

    @property
    def labels(self) -> NDArray[np.int32]:
        """Slot of each row (n,); it changes with the next step."""
        return self._clusters.labels

    @property
    def centres(self) -> Floats:
        """Centre of each slot (slots, d); it changes with the next step."""
        return self._clusters.table.exact

    @property
    def savings(self) -> Floats:
        """How much the best division found of each slot (slots,) would save; zero for none."""
        return self._divisions.saved

    @property
    def halves(self) -> Floats:
        """Centres (slots, 2, d) of the halves of the best division found of each slot."""
        return self._divisions.halves

    def fit(self) -> float:
        """Return the sum of weighted costs."""
        rows, weights, constants = self._data
        each = np.empty(self._local.n_rows)
        costs(rows, constants, self._clusters.table, self.labels, each, 0, len(each))
        return float(np.cumsum(weights * each)[-1])  # one after the other

    def free_fit(self) -> float:
        """Return the fit term that clusters have without a prior, which there is none of."""
        return self.fit()

    def cheapest_unions(self, count: int) -> list[tuple[int, int]]:
        """Return up to ``count`` pairs of slots whose union raises the fit term least."""
        union_costs(self._clusters, self._partners, self._costs)
        order = np.argsort(self._costs, kind="stable")[:count].tolist()
        return [(a, int(self._partners[a])) for a in order if self._partners[a] != a]

    def save(self) -> Saved:
        """Return a copy of everything that steps change."""
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
            clusters.older, clusters.newer, clusters.compared, clusters.bound, clusters.clock,
            *self._divisions,
        ]  # fmt: skip

    # -- steps -------------------------------------------------------------------------------------

    def move_rows(self, max_changes: int) -> None:
        """Move rows one by one while the objective falls.

        Until no more than ``max_changes`` rows move in a pass over all; after very many passes, a
        few more.
        """
        progress = np.zeros(3, np.int64)
        while not move_rows_changed(
            *self._data, self._clusters, max_changes, progress, ENTRIES_A_CALL
        ):
            pass

    def divide(self, n_starts: int, unchanged: float) -> None:
        """Find for every cluster the best of ``n_starts`` divisions.

        Clusters keep the division found before if they gained or lost less than the part
        ``unchanged`` of their weight, and moved for less than that part of the largest saving.
        """
        n_slots = len(self.savings)
        draws = self._rng.random_sample((n_slots, n_starts, 2))
        moved = unchanged * float(self.savings.max())
        slot = 0
        while slot < n_slots:
            slot = divide(
                *self._data, self._clusters, self._divisions, unchanged, moved,
                MAX_DIVIDED_ROWS, draws, self._workspace, slot, ENTRIES_A_CALL,
            )  # fmt: skip

    def split(self, c: int) -> bool:
        """Divide the cluster in slot c as found; return whether both parts have rows."""
        clusters = self._clusters
        new = int(clusters.members.argmin())
        self.savings[[c, new]] = 0.0
        members = np.flatnonzero(clusters.labels == c)
        sides, totals = self._take_sides(members, self._divisions.halves[c])
        weighted = sides if len(self._data[1]) == 1 else sides[self._data[1][members] > 0]
        counts = np.bincount(weighted, minlength=2)
        if not counts.all():
            return False
        clusters.labels[members[sides == 1]] = new
        clusters.clock[0] += 1
        leave(clusters, c)
        for side, slot in enumerate((c, new)):
            clusters.sizes[slot] = totals.weight_coarse[side]
            clusters.members[slot] = counts[side]
            _put(totals.coarse[side] / totals.weight_coarse[side], clusters.table, slot)
            enter(clusters, slot)
        self._divisions.when[[c, new]] = -1  # divide both again, whatever their weight
        self.n_clusters += 1
        return True

    def _take_sides(
        self, members: NDArray[np.intp], halves: Floats
    ) -> tuple[NDArray[np.int64], Totals]:
        """Return to which of two centres (2, d) rows (m,) are nearer, and totals of either side."""
        rows, weights, constants = self._data
        space, m = self._workspace, len(members)
        for side in range(2):
            _put(halves[side], space.parts, side)
        choose(
            rows, constants, space.parts, members, space.groups, space.two, space.places,
            space.costs, 0, m,
        )  # fmt: skip
        totals = no_totals(2, self._local.n_columns)
        add_up(
            rows, weights, members, space.places, totals, space.no_rounding, space.no_rounding, 0, m
        )
        return space.places[:m], totals

    def unite(self, a: int, b: int) -> None:
        """Unite the clusters in slots a and b."""
        unite(self._clusters, a, b)
        self.savings[[a, b]] = 0.0
        self._divisions.when[[a, b]] = -1
        self.n_clusters -= 1


def unite(clusters: IncrementalClusters, a: int, b: int) -> None:
    """Give the rows of cluster b to a; slot b is free."""
    labels, sizes, members, table = clusters[:4]
    labels[labels == b] = a
    total = sizes[a] + sizes[b]
    _put((sizes[a] * table.exact[a] + sizes[b] * table.exact[b]) / total, table, a)
    sizes[[a, b]] = total, 0.0
    members[[a, b]] = members[a] + members[b], 0
    clusters.clock[0] += 1
    leave(clusters, b)
    leave(clusters, a)
    enter(clusters, a)


def _put(centre: Floats, table: Centres, slot: int) -> None:
    """Write a centre (d,) into a slot; its square is summed up one column after the other."""
    table.exact[slot] = centre
    table.exact_offset[slot] = np.cumsum(centre * centre)[-1]
