"""Rows in memory, or mapped into it: compiled passes over tiles of rows, on threads of our own.

What goes out to a tile is a named tuple of small arrays; what comes back is labels and exactly
additive totals. So neither the tiles nor the number of threads change a bit of the result.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import (
    Births,
    Centres,
    DirectForm,
    Division,
    Drift,
    Floats,
    Layout,
    Summary,
    Totals,
    chunks,
    exact_sum,
    most_taken,
    total_weight,
)
from hardbayes.core.pool import Pool, Tiling
from hardbayes.core.rows import Batch, KernelRows, entries_per_row, new_batch
from hardbayes.dp_means.bounds import (
    BOUNDS,
    DistanceBounds,
    Labelling,
    has_little_room,
    is_same_partition,
    no_bounds,
)
from hardbayes.dp_means.compiled.assign import ABOVE, OPENER, assign
from hardbayes.dp_means.compiled.births import consider
from hardbayes.dp_means.compiled.every_centre import Tile, assign_all, new_tile
from hardbayes.dp_means.compiled.single_row import mark_near_border
from hardbayes.dp_means.compiled.sums import costs
from hardbayes.dp_means.local_rows import LocalRows
from hardbayes.dp_means.totals import NO_ROUNDING, NO_TOTALS, ExactTotals, Rounding

Ids = NDArray[np.signedinteger]
Labels = NDArray[np.int32]

# Part of the rows that scores in less than the highest precision may leave undecided.
DOUBTFUL = 1 / 16
BATCH_BYTES = 1 << 17
ALL = slice(None)
NO_ROWS: NDArray[np.int32] = np.zeros(0, np.int32)


@dataclass
class OpenAssignment:
    """An assignment after which rows above their opening cost may open clusters."""

    summary: Summary  # without births
    opening: Floats  # (n,) or (1,)
    before: Labels  # (n,)
    used: int  # slots before births
    ids: Ids | None = None  # rows that were above, ascending; None before the first offer


class MemoryRows:
    """The rows of a matrix in working coordinates; see `dp_means.rows.Rows`.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    shape : (n, d)
    weights : array (n,), or (1,) for all rows
    constants : array (n,) of ``phi(x)``, or (1,) where costs are squared distances
    largest : array (d,)
        Bounds on the absolute values of each column in working coordinates.
    layout : Layout
    pool : Pool
    """

    def __init__(
        self,
        rows: KernelRows,
        shape: tuple[int, int],
        weights: Floats,
        constants: Floats,
        largest: Floats,
        layout: Layout,
        pool: Pool,
    ) -> None:
        self.n_rows, self.n_columns = self._shape = shape
        self.weights = weights
        self.layout = layout
        self.pool = pool
        self.rounding = Rounding(weights, shape[0], largest)
        self._rows = rows
        self.constants = constants
        self.entries_per_row = entries_per_row(rows, shape)
        self.most_taken = most_taken(shape[0], self.entries_per_row)
        self._tiling = Tiling(self.entries_per_row, pool)
        self._batches: dict[int, Batch] = {}
        self._tiles: dict[int, Tile] = {}
        self._are_marked = False  # some rows, by the last assignment
        self.start()

    @cached_property
    def heaviest(self) -> float:
        """The largest weight."""
        return float(self.weights.max())

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return total_weight(self.weights, self.n_rows)

    @cached_property
    def n_weighted(self) -> int:
        """How many rows weigh more than nothing."""
        return int(np.count_nonzero(np.broadcast_to(self.weights, self.n_rows)))

    @cached_property
    def constants_size(self) -> float:
        """The sum of ``weight |phi(x)|``."""
        return total_weight(self.weights * np.abs(self.constants), self.n_rows)

    @cached_property
    def _all(self) -> LocalRows:
        return LocalRows(
            self._rows, self._shape, self.weights, self.constants, self.layout.dtype, self.pool
        )

    # -- labels and totals -------------------------------------------------------------------------

    def start(self, labels: Labels | None = None, totals: Totals | None = None) -> None:
        """Forget all labels; or begin with these labels, whose exact totals are given."""
        self._labelling = Labelling(self.n_rows, labels)
        self._open: OpenAssignment | None = None
        self._totals: ExactTotals | None = None
        self._halves: tuple[DirectForm, Ids, Ids] | None = None  # of the last division
        self._births_expected = True
        self._n_changed = self.n_rows  # in the last assignment; before the first, all will
        self._most_changes = float(self.n_rows)  # with which bounds are carried
        if totals is not None:
            self._totals = self._new_totals(0)
            self._totals.set(totals)

    def labels(self, ids: Ids | slice = ALL) -> Labels:
        """Return the slots of rows."""
        return self._labelling.slots[ids]

    def numbers(self, number_of: Labels | None) -> Labels:
        """Return the number of each row's slot, or the slot."""
        slots = self._labelling.slots
        return slots.copy() if number_of is None else number_of[slots]

    def has_weight(self, part: slice) -> NDArray[np.bool_] | None:
        """Return which rows of a part weigh more than nothing."""
        return self.weights[part] > 0 if len(self.weights) > 1 else None

    def set_labels(self, ids: Ids, slots: Ids) -> None:
        """Give these rows to these slots."""
        self._leave_open()
        self._halves = None
        self._labelling.set(ids, slots)

    def relabel(self, slots: Ids, n_slots: int | None = None) -> None:
        """Give the rows of slot c to ``slots[c]``."""
        self._leave_open()
        totals = self._count(len(slots))
        self._labelling.rename(np.append(slots, -1).astype(np.int32))
        if n_slots is None:
            totals.unite(slots)
        else:
            totals.rename(slots, n_slots)

    def totals(self, n_slots: int, labels: Labels | None = None) -> Totals:
        """Return the exact totals of so many slots, for the present labels or for others."""
        if labels is None:
            self._leave_open()
            return self._count(n_slots).parts
        totals = self._new_totals(n_slots)
        if len(labels) < self.n_rows:
            labels = np.full(self.n_rows, labels[0], np.int32)
        totals.move(np.full(self.n_rows, -1, np.int32), labels, self.n_rows)
        return totals.parts

    def _count(self, n_slots: int) -> ExactTotals:
        """Return the totals, brought up to the labels, with room for so many slots."""
        labelling, totals = self._labelling, self._totals
        if totals is None:  # made when first needed: predictions need none
            totals = self._totals = self._new_totals(n_slots)
        totals.grow(n_slots)
        if labelling.counted is not None:
            n_moves = int(np.count_nonzero(labelling.counted != labelling.slots))
            if n_moves:
                totals.move(labelling.counted, labelling.slots, n_moves)
            labelling.counted = None
        return totals

    def _new_totals(self, n_slots: int) -> ExactTotals:
        return ExactTotals(self._rows, self._shape, self.weights, self.rounding, self.pool, n_slots)

    # -- a sweep -----------------------------------------------------------------------------------

    def opening(self, rule: Callable[[LocalRows], Floats]) -> Floats:
        """Return the opening cost (n,) of every row."""
        costs = np.empty(self.n_rows)
        for part in chunks(self.n_rows, self.entries_per_row):
            costs[part] = rule(self._all.take(np.arange(part.start, part.stop)))
        return costs

    def assign(self, centres: Centres, opening: Floats, drift: Drift | None = None) -> Summary:
        """Give every row to its cheapest centre; count rows above their opening cost."""
        self._leave_open()
        self._halves = None
        labelling = self._labelling
        # Births after rows are counted take the memory of one more labelling.
        totals = None
        if labelling.counted is not None or not (drift is None or self._births_expected):
            totals = self._count(centres.room)
            if self._births_expected or not totals.can_be_shared():
                totals = None
        before = labelling.copy()
        carried = labelling.bounds
        bounds = labelling.bounds = self._carry_bounds(centres, drift)
        n_above, n_changed, n_scored = self._assign(
            centres, opening, labelling.slots, bounds, totals
        )
        self._n_changed = n_changed
        if bounds is not None and bounds is carried:
            fall = bounds.needed_fall(self.layout, centres, n_scored)
            if fall < 1:
                self._most_changes = fall * n_changed
                labelling.drop_bounds()
        if totals is None:
            labelling.counted = before
        elif n_above:  # their clusters are not yet decided, so they are not counted
            labelling.counted = np.where(self._marks == ABOVE, before, labelling.slots)
        summary = Summary(n_changed, n_above)
        self._births_expected = False
        if n_above:
            self._open = OpenAssignment(summary, opening, before, centres.used)
        return summary

    def _carry_bounds(self, centres: Centres, drift: Drift | None) -> DistanceBounds | None:
        """Return the bounds that an assignment begins with; None where they are not worth it."""
        kind, bounds = BOUNDS[self.layout.costs], self._labelling.bounds
        few = kind.max_changes(self.n_rows, self.layout, centres)
        if drift is None or few == 0 or self._n_changed > min(self._most_changes, few):
            return None
        if bounds is None or not bounds.hold_for(centres):
            return kind(self.n_rows, self.layout, centres, self._radius)
        bounds.move(centres, drift)
        return bounds

    def _assign(
        self,
        centres: Centres,
        opening: Floats,
        labels: Labels,
        bounds: DistanceBounds | None,
        totals: ExactTotals | None,
    ) -> tuple[int, int, int]:
        """Run the pass; return how many rows are above, how many changed, how many groups scored.

        IN/OUT labels (n,), bounds; totals follow, but for the rows above.
        """
        if self._are_marked:
            self._marks[:] = 0
        self._are_marked = True
        rounding = NO_ROUNDING, NO_ROUNDING
        if totals is not None:
            rounding = self.rounding.rows, self.rounding.weights
        found: list[tuple[int, int, int, int]] = []
        view = None
        if bounds is not None:
            view = bounds.view(centres.n_blocks)
        elif self.layout.sparse:
            view = no_bounds(self.layout, centres)

        def task(worker: int, start: int, stop: int) -> None:
            share = NO_TOTALS if totals is None else totals.share(worker)
            rows = self._rows, self.weights, opening, self.constants, centres
            state = labels, self._marks, share, *rounding
            if view is None:
                counts = assign_all(*rows, *state, self._tile(worker, centres), start, stop)
            else:
                counts = assign(*rows, view, *state, self._batch(worker, centres), start, stop)
            found.append(counts)

        self._tiling.run(task, self.n_rows, len(centres.rank))
        n_above, n_changed, n_doubtful, n_scored = map(sum, zip(*found, strict=True))
        self._are_marked = n_above > 0
        if totals is not None:
            totals.add_shares()
        if bounds is not None:
            bounds.hold_now()
        # Sparse rows are scored in their own type.
        finest = self._rows.values.dtype if self.layout.sparse else np.dtype(np.float64)
        if n_doubtful > DOUBTFUL * self.n_rows and self.layout.dtype != finest:
            self.layout = self.layout._replace(dtype=finest)
        return n_above, n_changed, n_scored

    def offer(self, centres: Centres, births: Births, count: int) -> Ids:
        """Offer the newest births to the rows that were above; return those that still are."""
        assignment, labelling, marks = self._pending(), self._labelling, self._marks
        if assignment.ids is None:
            if 8 * assignment.summary.n_above >= self.n_rows or has_little_room(self.n_rows):
                labelling.drop_bounds()  # few of them would hold after the births
            dtype = np.int32 if self.n_rows < 2**31 else np.int64
            assignment.ids = np.flatnonzero(marks).astype(dtype)
        ids, m = assignment.ids, len(births.openers)
        if m:
            labelling.slots[births.openers] = np.arange(centres.used - m, centres.used)
            marks[births.openers] = OPENER
            if labelling.bounds is not None:
                labelling.bounds.upper[births.openers] = np.inf
            self._consider(centres, births, m, ids)
        return births.order.first(ids[marks[ids] == ABOVE], count)

    def finish(self, centres: Centres, births: Births) -> Summary:
        """Offer all births to the rows that were never above; return what was done in all."""
        assignment, labelling = self._pending(), self._labelling
        n_opened = len(births.opened)
        if n_opened:
            self._consider(centres, births, n_opened, NO_ROWS)
        self._open = None
        if not n_opened:
            return assignment.summary
        self._births_expected = True
        if labelling.bounds is not None and labelling.bounds.hold_for(centres):
            labelling.bounds.include(centres, labelling.slots)
        else:
            labelling.drop_bounds()
        before, after = assignment.before, labelling.slots
        return Summary(
            int(np.count_nonzero(before != after)),
            assignment.summary.n_above,
            n_opened,
            is_same_partition(before, after, self.weights),
        )

    def _pending(self) -> OpenAssignment:
        if self._open is None:
            raise RuntimeError("No row is above its opening cost: 'assign' comes first.")
        return self._open

    def _leave_open(self) -> None:
        """No more rows open clusters."""
        if self._open is not None and self._open.ids is not None:
            raise RuntimeError("Clusters have been offered to some rows: 'finish' comes first.")
        self._open = None

    def _consider(self, centres: Centres, births: Births, m: int, ids: Ids) -> None:
        """Let rows ``ids``, or those never above, choose among the last m births they may see."""
        labelling, block = self._labelling, centres.block
        bounds = labelling.bounds
        view = no_bounds(self.layout, centres) if bounds is None else bounds.view(centres.n_blocks)
        radii = view.upper if bounds is None else bounds.radii(centres)
        opened = np.full(len(centres.rank), np.iinfo(np.int64).max)
        opened[centres.used - len(births.opened) : centres.used] = births.opened
        visible_from = np.where(centres.rank >= 0, opened, np.iinfo(np.int64).min)
        block_opened = visible_from.reshape(-1, block).max(axis=1)
        first, last = (centres.used - m) // block, centres.n_blocks
        earliest = births.opened[-m]

        def task(worker: int, start: int, stop: int) -> None:
            consider(
                self._rows, self.weights, self._pending().opening, self.constants, centres, view,
                radii, labelling.slots, self._marks, ids, births.order, opened, block_opened,
                earliest, first, last, self._batch(worker, centres), start, stop,
            )  # fmt: skip

        self._tiling.run(task, len(ids) or self.n_rows, (last - first) * block)

    # -- costs -------------------------------------------------------------------------------------

    def costs(self, centres: Centres, labels: Labels | None = None) -> Floats:
        """Return the cost (n,) of every row at the centre in its slot."""
        slots = self._labelling.slots if labels is None else labels
        if len(slots) < self.n_rows:
            slots = np.full(self.n_rows, slots[0], np.int32)
        if has_little_room(self.n_rows):  # for bounds beside an array as long as the data
            self._labelling.drop_bounds()
        out = np.empty(self.n_rows)

        def task(worker: int, start: int, stop: int) -> None:
            costs(self._rows, self.constants, centres, slots, out, start, stop)

        self._tiling.run(task, self.n_rows, 1)
        return out

    def fit_term(self, centres: Centres) -> float:
        """Return the sum of the weighted costs."""
        costs = self.costs(centres)
        costs *= self.weights  # in place: one array as long as the data is enough
        return exact_sum(costs)

    def candidates(
        self,
        centres: Centres,
        sizes: Floats,
        prior_weight: float,
        slack: float,
        part: slice | None = None,
    ) -> NDArray[np.intp]:
        """Return rows that might move: all that scores do not rule out."""
        taken = centres.rank >= 0
        factors = np.full(len(taken), np.inf)  # no row joins a free slot
        used = sizes[: len(taken)][taken]
        # A little less than the test by the direct formula, which decides.
        factors[taken] = slack * (1 - 1e-9) * used / (used + self.heaviest)
        block_factors = factors.reshape(-1, centres.block).min(axis=1)
        labels, marks = self._labelling.slots, np.empty(self.n_rows, bool)

        def task(worker: int, start: int, stop: int) -> None:
            mark_near_border(
                self._rows, self.weights, self.constants, centres, sizes, factors, block_factors,
                labels, prior_weight, self._batch(worker, centres), marks, start, stop,
            )  # fmt: skip

        first, last = (0, self.n_rows) if part is None else (part.start, part.stop)
        self._tiling.run(
            lambda worker, start, stop: task(worker, first + start, first + stop),
            last - first,
            len(centres.rank),
        )
        return first + np.flatnonzero(marks[first:last])

    # -- some of the rows --------------------------------------------------------------------------

    def take(self, ids: NDArray[np.intp] | None = None) -> LocalRows:
        """Return some rows, or all, for algorithms that visit them one by one."""
        return self._all if ids is None else self._all.take(ids)

    def divide(
        self, slots: NDArray[np.intp], halves: DirectForm, into: NDArray[np.intp] | None = None
    ) -> Division:
        """Let the rows of these slots choose between two centres each."""
        if self._halves is None or self._halves[0] is not halves:
            self._halves = (halves, *self._second_halves(slots, halves))
        going, where = self._halves[1:]
        totals = self._new_totals(len(slots))
        if into is None:
            totals.add(going, where)
        else:
            chosen = into[where] >= 0
            self.set_labels(going[chosen], into[where[chosen]])
        return Division(np.bincount(where, minlength=len(slots)), totals.parts)

    def _second_halves(self, slots: NDArray[np.intp], halves: DirectForm) -> tuple[Ids, Ids]:
        """Return the rows (m,) that choose the second centre, and the number of each division."""
        group_of = np.full(int(slots.max()) + 2, -1)  # the last for rows in no slot
        group_of[slots] = np.arange(len(slots))
        first = np.arange(0, 2 * len(slots) + 1, 2)
        ids, parts = [], []
        for part in chunks(self.n_rows, 1):
            labels = np.minimum(self._labelling.slots[part], len(group_of) - 1)
            groups = group_of[labels]
            inside = np.flatnonzero(groups >= 0)
            grouped = self._all.group(part.start + inside, groups[inside], first)
            grouped.choose(halves)
            second = grouped.places % 2 == 1
            ids.append(part.start + inside[second])
            parts.append(groups[inside][second])
        return np.concatenate(ids), np.concatenate(parts)

    # -- scratch memory ----------------------------------------------------------------------------

    @cached_property
    def _marks(self) -> NDArray[np.uint8]:
        """Marks of rows within a sweep: zero, ABOVE or DECIDED."""
        return np.zeros(self.n_rows, np.uint8)

    def _batch(self, worker: int, centres: Centres) -> Batch:
        """Return a thread's scratch memory for scores, made anew when there are more blocks."""
        batch, dtype = self._batches.get(worker), centres.theta.dtype
        if batch is None or batch.x.dtype != dtype or batch.smallest.shape[1] < centres.n_blocks:
            size = 1  # sparse rows are scored one by one, dense ones as many as stay in cache
            if not self.layout.sparse:
                size = min(max(BATCH_BYTES // (dtype.itemsize * self.n_columns), 16), 256)
            batch = self._batches[worker] = new_batch(size, centres)
        return batch

    def _tile(self, worker: int, centres: Centres) -> Tile:
        """Return a thread's scratch memory for rows in lanes."""
        tile = self._tiles.get(worker)
        if tile is None or tile.x.dtype != centres.theta.dtype:
            tile = self._tiles[worker] = new_tile(centres)
        return tile

    def _radius(self) -> NDArray[np.float32]:
        """Return the distance (n,) of each row from the anchor, rounded up."""
        anchor = self.layout.anchor
        assert anchor is not None
        form = DirectForm(anchor[np.newaxis].copy(), np.zeros(1), True)
        squares = self._all.costs(form)[:, 0]
        return (np.sqrt(squares) * (1 + 1e-6)).astype(np.float32)
