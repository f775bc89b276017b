"""Labels of rows, and bounds on what centres cost them, carried from one assignment to the next.

Each row has an upper bound on the cost of its own centre and, for each group of blocks, a lower
bound on the costs of all other centres there (Hamerly 2010 with one group, Ding et al. 2015 with
many). Most rows then keep their cluster without a score. Bounds are float32, and every update gives
away more than its rounding error. How many groups there are is what a budget for all per-row state
allows; with few columns several blocks share a bound, because one bound would cost more than the
scores that it may spare.

Bounds hold for the labels that an assignment left. They follow centres that move, open or close.
They become invalid

- where labels change by anything but an assignment: `Labelling.set` and `Labelling.rename` drop
  them, and `MemoryRows.start` makes a new labelling, which has none;
- where the table of centres gets more room, so that slots are grouped otherwise: `MemoryRows` then
  drops them, or begins with new ones.

`MemoryRows` also drops valid bounds where memory is short or where few would be tight. Without
bounds the next assignment scores every centre: slower, with the same labels.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from hardbayes.core.arrays import Centres, Drift, Floats, Layout, chunks
from hardbayes.dp_means.compiled.centres import NARROW, TINY, Bounds, gaps

# What bounds, labels and the rest of a row's state may take in all; beyond it rows have one lower
# bound.
STATE_BYTES = 48e6
BYTES_WITHOUT_LOWER = 17
# Nanoseconds to score a row against the blocks that share a bound: fewer would not pay for it.
BOUND_COST = 25
# Bounds may leave a share of the groups open; see `DistanceBounds.affordable_share`. They begin
# when at most MAX_CHANGES times that share of the rows change. They are dropped if they leave
# CLEARLY_MORE open, until at most FEWER_CHANGES times as many rows change.
MAX_CHANGES = 1 / 8
CLEARLY_MORE = 1.2
FEWER_CHANGES = 1 / 3
MAX_SHARE = 0.98  # shares nearer to one do not tell how far the number of changes must fall
# Entries of centres that are compared with each other, for each row.
COMPARED_A_ROW = 8
CENTRES_AT_A_TIME = 64  # new centres compared with all others at a time


def has_little_room(n_rows: int) -> bool:
    """Whether bounds and one more labelling take more than the budget for per-row state."""
    return n_rows * (BYTES_WITHOUT_LOWER + 8) > STATE_BYTES


def cell_of(layout: Layout, n_columns: int) -> int:
    """Return how many blocks are scored before the two least scores are found."""
    return 1 if layout.sparse else ceil(BOUND_COST / (5 + 0.3 * n_columns))


def span_of(n_rows: int, layout: Layout, centres: Centres) -> int:
    """Return how many blocks share a lower bound: whole cells, and what the budget allows."""
    cell = cell_of(layout, centres.exact.shape[1])
    affordable = max(1, int((STATE_BYTES / n_rows - BYTES_WITHOUT_LOWER) // 4))
    return -(-centres.room // centres.block // affordable // cell) * cell


def no_bounds(layout: Layout, centres: Centres) -> Bounds:
    """Return bounds for kernels that score every centre."""
    nothing, one = np.empty(0, np.float32), np.zeros(1, np.float32)
    shifts, cell = np.zeros(1), cell_of(layout, centres.exact.shape[1])
    return Bounds(
        nothing, nothing.reshape(0, 1), nothing, nothing, one, one, shifts, shifts, 0.0, 0.0,
        -(-centres.room // centres.block // cell) * cell, cell,
    )  # fmt: skip


class DistanceBounds:
    """Bounds on distances, where costs are squared distances."""

    upkeep = 10.0  # nanoseconds a row to bring bounds up to date

    def __init__(
        self, n_rows: int, layout: Layout, centres: Centres, radius: Callable[[], Floats]
    ) -> None:
        slots, n_columns = centres.room, centres.exact.shape[1]
        self.cell = cell_of(layout, n_columns)
        self.span = span_of(n_rows, layout, centres)
        self.width = self.span * centres.block  # slots in a group
        groups = -(-slots // self.width)
        self.upper = np.full(n_rows, np.inf, np.float32)
        self.lower = np.full((n_rows, groups), -np.inf, np.float32)  # rules nothing out
        self.half = np.zeros(slots, np.float32)
        self.drift = np.zeros(slots, np.float32)
        self.known = _used(centres)  # slots that the lower bounds speak of
        self.precision = (n_columns + 8) * float(np.finfo(np.float64).eps)
        self._starts = np.arange(0, slots, self.width)

    @classmethod
    def affordable_share(cls, n_rows: int, layout: Layout, centres: Centres) -> float:
        """Return the share of groups that may be scored before a pass without bounds is faster.

        Zero where bounds are never worth it.
        """
        if layout.sparse:  # scores take much longer than bounds
            return float(_used(centres) > 1)
        groups = -(-centres.n_blocks // span_of(n_rows, layout, centres))
        return _affordable_share(
            _used(centres), centres.n_blocks, groups, centres.exact.shape[1],
            centres.theta.itemsize, cls.upkeep,
        )  # fmt: skip

    @classmethod
    def max_changes(cls, n_rows: int, layout: Layout, centres: Centres) -> float:
        """Return how many rows may change in an assignment after which bounds are worth it."""
        return MAX_CHANGES * cls.affordable_share(n_rows, layout, centres) * n_rows

    def needed_fall(self, layout: Layout, centres: Centres, n_scored: int) -> float:
        """Return the factor by which changes must fall for bounds to be worth it; 1: they are.

        A row is scored if its bounds differ by less than the drift of centres, which goes with the
        number of changes: about ``1 - exp(-c changes)`` of the rows, for some c.
        """
        share = n_scored / (-(-centres.n_blocks // self.span) * len(self.upper))
        affordable = self.affordable_share(len(self.upper), layout, centres)
        if share <= CLEARLY_MORE * affordable:
            return 1.0
        fewer = np.log1p(-affordable) / np.log1p(-min(share, MAX_SHARE))
        return min(float(fewer), FEWER_CHANGES)

    def hold_for(self, centres: Centres) -> bool:
        """Whether the centres have the slots that these bounds were made for."""
        return len(self.drift) == centres.room

    def move(self, centres: Centres, drift: Drift) -> None:
        """Take in how far the centres have moved since the bounds held."""
        self.drift[:] = drift.distance * (1 + 1e-6)
        # Half the distance from each centre to the next, where that takes little time.
        self.half[:] = 0
        n_columns = centres.exact.shape[1]
        if centres.used > 1 and centres.used**2 * n_columns <= COMPARED_A_ROW * len(self.upper):
            slots = np.flatnonzero(centres.rank >= 0)
            nearest = np.empty(len(slots))
            gaps(slots, centres, np.zeros(n_columns), nearest)
            # Equal entries may differ by their rounding.
            rounding = 2.0 * self.precision * np.sqrt(centres.offset_bound)
            self.half[slots] = 0.5 * NARROW * np.maximum(np.sqrt(nearest) - rounding, 0.0)

    def view(self, blocks: int) -> Bounds:
        """Return the arrays for a kernel that reads so many blocks."""
        used = -(-blocks // self.span)
        nothing = np.zeros(1)
        return Bounds(
            self.upper, self.lower, self.half, self.drift,
            np.maximum.reduceat(self.drift, self._starts)[:used], np.ones(1, np.float32),
            nothing, nothing, self.precision, 0.0, self.span, self.cell,
        )  # fmt: skip

    def hold_now(self) -> None:
        """Declare that the bounds hold for the centres where they are."""
        self.drift[:] = 0

    def radii(self, centres: Centres) -> NDArray[np.float32]:
        """Return for each slot how near a row must be to its centre to need no new one.

        By the triangle inequality: half the distance to the nearest new centre. Zero, which spares
        no comparison, where there are many new centres.
        """
        used = _used(centres)
        if used - self.known > CENTRES_AT_A_TIME:
            return np.zeros(used, np.float32)
        return (0.5 * NARROW * _to_new(centres, self.known, used)).astype(np.float32)

    def include(self, centres: Centres, labels: NDArray[np.int32]) -> None:
        """Bound the distances to new centres, before any centre moves.

        Triangle inequality: d(row, new) >= d(own centre, new) - d(row, own centre).
        """
        used = _used(centres)
        for group in range(self.known // self.width, -(-used // self.width)):
            first = max(group * self.width, self.known)
            last = min((group + 1) * self.width, used)
            nearest = _to_new(centres, first, last) * NARROW
            nearest[self.known :] = 0  # their members are dealt with below
            low = (nearest.astype(np.float32)[labels] - self.upper) * np.float32(NARROW) - TINY
            if group * self.width < self.known:
                np.minimum(low, self.lower[:, group], out=low)
            self.lower[:, group] = low
        self._leave_open(labels, used)

    def _leave_open(self, labels: NDArray[np.int32], used: int) -> None:
        # For members of new clusters nothing is known of the centres they left.
        self.lower[labels >= self.known] = -np.inf
        self.known = used


class CostBounds(DistanceBounds):
    """Bounds on the costs themselves, where these are affine in the row.

    A centre that moves changes a cost by what it changes at the anchor m, give or take
    ``|x - m| |change of theta|`` (Cauchy and Schwarz): one number for each centre, one for each
    row. These bounds are wider than those on distances.
    """

    upkeep = 35.0

    def __init__(
        self, n_rows: int, layout: Layout, centres: Centres, radius: Callable[[], Floats]
    ) -> None:
        super().__init__(n_rows, layout, centres, radius)
        assert layout.anchor is not None
        self.radius = radius()  # (n,): the distance of each row from the anchor, rounded up
        self.farthest = float(np.linalg.norm(layout.anchor))
        self.shift = np.zeros(centres.room)
        self._least_shift = np.zeros(centres.room)

    @classmethod
    def affordable_share(cls, n_rows: int, layout: Layout, centres: Centres) -> float:
        """Return the share of groups that may be scored before a pass without bounds is faster."""
        if layout.anchor is None or layout.sparse:
            return 0.0  # of the thousands of columns of sparse rows some theta always moves far
        return super().affordable_share(n_rows, layout, centres)

    def move(self, centres: Centres, drift: Drift) -> None:
        """Take in how far the centres have moved since the bounds held."""
        slots = np.flatnonzero(centres.rank >= 0)
        self.drift[:] = drift.distance * (1 + 1e-6)
        self.shift[:] = drift.most
        self._least_shift[:] = np.inf  # no row goes to a free slot
        self._least_shift[slots] = drift.least[slots]

    def view(self, blocks: int) -> Bounds:
        """Return the arrays for a kernel that reads so many blocks."""
        used = -(-blocks // self.span)
        least = np.minimum.reduceat(self._least_shift, self._starts)[:used]
        least[np.isinf(least)] = 0.0  # groups of free slots
        return Bounds(
            self.upper, self.lower, self.half, self.drift,
            np.maximum.reduceat(self.drift, self._starts)[:used], self.radius, self.shift, least,
            self.precision, self.farthest, self.span, self.cell,
        )  # fmt: skip

    def hold_now(self) -> None:
        """Declare that the bounds hold for the centres where they are."""
        super().hold_now()
        self.shift[:] = 0
        self._least_shift[:] = 0

    def radii(self, centres: Centres) -> NDArray[np.float32]:
        """Return zeros: costs obey no triangle inequality, so every row compares."""
        return np.zeros(_used(centres), np.float32)

    def include(self, centres: Centres, labels: NDArray[np.int32]) -> None:
        """Leave the groups of new centres open until they are scored."""
        used = _used(centres)
        self.lower[:, self.known // self.width : -(-used // self.width)] = -np.inf
        self._leave_open(labels, used)


#: By the kind of costs of a layout.
BOUNDS: dict[str, type[DistanceBounds]] = {"distance": DistanceBounds, "affine": CostBounds}


@lru_cache(maxsize=64)
def _affordable_share(
    used: int, blocks: int, groups: int, n_columns: int, itemsize: int, upkeep: float
) -> float:
    """Return the share of groups at which rows take as long with bounds as without.

    By nanoseconds a row, as measured on several data sets with one thread.
    """
    if used == 1:
        return 0.0
    without = 7 + itemsize / 4 * used * (0.1 + 0.025 * n_columns)
    score = blocks * (5 + 0.4 * n_columns)  # a row against all groups
    decide = 40 + 0.2 * n_columns  # a row, if a group is open: of few open ones each in another row
    spared = without - upkeep
    return max(0.0, min(spared / (groups * decide + score), 1 / groups), (spared - decide) / score)


def _used(centres: Centres) -> int:
    """Return the number of slots up to the last that was ever taken, free ones included."""
    return int(centres.used)


def _to_new(centres: Centres, first: int, last: int) -> Floats:
    """Return each slot's distance (slots,) to the nearest other of slots first to last."""
    exact = centres.exact[: _used(centres)]
    nearest = np.full(len(exact), np.inf)
    for start in range(first, last, CENTRES_AT_A_TIME):
        stop = min(start + CENTRES_AT_A_TIME, last)
        distances = cdist(exact, exact[start:stop])
        distances[np.arange(start, stop), np.arange(stop - start)] = np.inf
        np.minimum(nearest, distances.min(axis=1), out=nearest)
    return nearest


Labels = NDArray[np.int32]


FIRST_ROWS = 4096  # compared before all others: most different partitions differ there


class Labelling:
    """Labels of n rows, none of them in a cluster at first.

    Attributes
    ----------
    slots : array (n,)
        The slot of each row, -1 for none. An assignment writes into it; everything else that
        changes labels is a method here.
    counted : array (n,) or None
        The labels that the totals were computed from; None where those are ``slots``.
    bounds : DistanceBounds or None
        Bounds of the last assignment. They hold for the labels that it left.
    """

    def __init__(self, n_rows: int, slots: Labels | None = None) -> None:
        self.slots: Labels = np.full(n_rows, -1, np.int32) if slots is None else slots
        self.counted: Labels | None = None
        self.bounds: DistanceBounds | None = None
        self._copy: Labels | None = None

    def set(self, ids: NDArray[np.signedinteger], slots: NDArray[np.signedinteger]) -> None:
        """Give rows ``ids`` to these slots; the totals remain those of the labels before."""
        if self.counted is None:
            self.counted = self.copy()
        self.slots[ids] = slots
        self.drop_bounds()

    def rename(self, names: Labels) -> None:
        """Give the rows of slot c to ``names[c]``; the last name is for rows in no slot."""
        for part in chunks(len(self.slots), 1):  # in place: a labelling is as long as the data
            self.slots[part] = names[self.slots[part]]
        self.drop_bounds()

    def drop_bounds(self) -> None:
        """Drop the bounds: the next assignment scores every centre."""
        self.bounds = None

    def copy(self) -> Labels:
        """Return a copy of the labels, valid until the next one is made."""
        if self._copy is None:
            self._copy = np.empty_like(self.slots)
        self._copy[:] = self.slots
        return self._copy


def is_same_partition(before: Labels, after: Labels, weights: Floats) -> bool:
    """Whether rows of positive weight are together as they were, whatever their slots."""
    some = slice(0, FIRST_ROWS)
    if not (_follows(before[some], after[some]) or (weights == 0).any()):
        return False
    weighted = weights > 0 if len(weights) > 1 else slice(None)
    old, new = before[weighted], after[weighted]
    return _follows(old, new) and _follows(new, old)


def _follows(source: Labels, target: Labels) -> bool:
    """Whether equal labels in ``source`` always have equal labels in ``target``."""
    partner = np.zeros(int(source.max(initial=-1)) + 2, np.int32)  # the last for rows in no slot
    partner[source] = target
    return bool((partner[source] == target).all())
