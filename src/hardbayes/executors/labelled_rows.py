"""Rows with labels: who is in which cluster, and where the clusters are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.executors.centre_table import CentreTable, Known
from hardbayes.executors.data_rows import DataRows
from hardbayes.executors.few_rows import is_few
from hardbayes.kernels.partition.costs import costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.carried_bounds import CarriedBounds
    from hardbayes.matrices import Floats

EVERYONE = slice(None)


class LabelledRows(DataRows):
    """One data set and a labelling of it; made as `DataRows` are.

    Clusters live in slots of a table, and labels are slots. The table is laid out when somebody
    asks for it; until then clusters are only known, and labels are their numbers, oldest first.

    There are three labellings: the present one; the one last committed, which a step is compared
    with; and the one that the totals stand for, which is one of those two, but while births go on.
    """

    def __init__(self, *data: Any) -> None:
        super().__init__(*data)
        self._totals = self._no_totals()
        self._table: CentreTable | None = None
        self.labels = np.empty(0, np.int32)
        self._bounds: CarriedBounds | None = None

    # -- clusters ----------------------------------------------------------------------------------

    def start(self, centres: Floats, table: CentreTable | None = None) -> None:
        """Begin at these centres (k, d), with no row assigned.

        ``table``: the same centres laid out for rows of this kind, which nobody will change.
        """
        self._known = Known(centres, np.arange(len(centres)), len(centres))
        self._table = table
        self.labels = np.full(self.n_rows, -1, np.int32)
        self._committed = np.full(self.n_rows, -1, np.int32)
        self._in_totals = self._committed
        self._totals.clear(len(centres), self.n_columns)
        self._bounds = None

    @property
    def table(self) -> CentreTable:
        """The centres, laid out when a pass first asks for them."""
        if self._table is None:
            self._table = CentreTable(
                self.geometry, self.dtype, self._known, self.is_sparse, self.unseen, self.pool,
                self.geometry.squared_distance and self.is_few(),
            )  # fmt: skip
            if self._totals.made:
                numbers = np.arange(len(self._known.centres))
                self._rename(numbers, len(numbers), self._table.alive, len(self._table.rank))
        return self._table

    def is_few(self) -> bool:
        """Whether sweeps are worth doing in one call; with squared distances and no prior."""
        return is_few(self.n_rows, self.n_columns, self.n_clusters)

    @property
    def _alive(self) -> NDArray[np.intp]:
        """Slots of the living clusters, oldest first."""
        return np.arange(self.n_clusters) if self._table is None else self._table.alive

    @property
    def n_clusters(self) -> int:
        """Number of living clusters."""
        return len(self._known.centres if self._table is None else self._table.alive)

    @property
    def n_slots(self) -> int:
        """Number of slots in use, dead ones included: where the next birth goes."""
        return self.table.used

    def close(self, which: NDArray[np.bool_]) -> None:
        """Drop living clusters (mask over them, oldest first)."""
        self.table.close(self.table.alive[which])

    def _take_out(
        self, slots: NDArray[np.intp], centres: Floats, ranks: NDArray[np.int64], next_rank: int
    ) -> None:
        """Know the clusters in these slots, oldest first, as they are, until somebody asks."""
        self._table = self._bounds = None
        self._known = Known(centres[slots], ranks[slots], next_rank)
        self._rename(slots, len(ranks), np.arange(len(slots)), len(slots))

    def _rename(
        self, slots: NDArray[np.intp], n_slots: int, new: NDArray[np.intp], n_new: int
    ) -> None:
        """Let labels and totals go by ``new`` slots of so many, in place of these."""
        names = np.full(n_slots + 1, -1, np.int32)  # the last for rows nowhere
        names[slots] = new
        self._totals.rearrange(slots, new, n_new)
        self.labels = names[self.labels]
        self.commit()

    # -- labels and totals -------------------------------------------------------------------------

    def take_labels(self, labels: NDArray[np.intp]) -> None:
        """Set the labels from numbers of the living clusters, oldest first."""
        self.labels[:] = self.table.alive[labels]

    def cluster_numbers(self, ids: NDArray[np.intp] | slice = EVERYONE) -> NDArray[np.int32]:
        """Return which of the living clusters, oldest first, these rows are in.

        -1 for rows whose cluster is gone: one that held rows of no weight alone.
        """
        n_slots = self.n_clusters if self._table is None else len(self._table.rank)
        numbers = np.full(n_slots + 1, -1, np.int32)  # the last for rows nowhere
        numbers[self._alive] = np.arange(self.n_clusters)
        return numbers[self.labels[ids]]

    def same_partition(self) -> bool:
        """Whether the labels part the rows that have weight as when last committed."""
        slots = len(self.table.rank)
        weighted = self.weights > 0 if len(self.weights) > 1 else slice(None)
        pairs = np.unique(
            self._committed[weighted].astype(np.int64) * slots + self.labels[weighted]
        )
        return len(pairs) == len(np.unique(pairs // slots)) == len(np.unique(pairs % slots))

    def commit(self) -> None:
        """Take the present labels for those that the next are compared with."""
        self._committed[:] = self.labels
        self._in_totals = self._committed

    def restore(self) -> None:
        """Go back to the labels last committed; bounds on others are worth nothing."""
        if not np.array_equal(self.labels, self._committed):
            self.labels[:] = self._committed
            self._bounds = None

    def totals(self) -> tuple[Floats, Floats]:
        """Return weights (k,) and totals (k, d) of the living clusters, oldest first."""
        return self._totals.of(self._alive)

    def weights_of_clusters(self) -> Floats:
        """Return weights (k,) of the living clusters, oldest first."""
        return self._totals.weights_of(self._alive)

    def forget_bounds(self) -> None:
        """Give the bounds' memory back; the next assignment starts without them."""
        self._bounds = None

    # -- costs -------------------------------------------------------------------------------------

    def costs(self) -> Floats:
        """Return each row's cost (n,) at its own centre."""
        known = self._known.centres if self._table is None else self._table.exact
        # Costs of sparse rows begin with the table's own squares.
        if (self._table is None or self._table.deferred) and not self.is_sparse:
            centres = self.bare(known)
        else:
            centres = self.table.view()
        out = np.empty(self.n_rows)

        def task(worker: int, start: int, stop: int) -> None:
            costs(self.rows, self.constants, centres, self.labels, out, start, stop)

        self._over_tiles(task, self.n_rows, 1)
        return out

    def costs_of(self, part: slice) -> Floats:
        """Return the costs (m, k) of some rows at every living centre, oldest first."""
        return self._all_costs(self.table.view(), self.table.alive, part)

    def all_costs(self) -> Floats:
        """Return every row's cost at every living centre (n, k), oldest first."""
        return self.costs_of(slice(0, self.n_rows))
