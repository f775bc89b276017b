"""One block of rows, for one pass: what any process does with it, from what is told it alone.

A pass over a block depends on the rows, on their labels and on a few small arrays, and on nothing
that an earlier pass has left in the process. So a pass may be repeated anywhere, and gives the same
bits. Labels and marks of rows go in and out as a `BlockState`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import (
    Births,
    Centres,
    DirectForm,
    Division,
    ExactSum,
    Floats,
    Summary,
    Totals,
    inverse_permutation,
    is_sparse,
    no_totals,
)
from hardbayes.core.rows import SparseRows
from hardbayes.dp_means.compiled.assign import ABOVE, OPENER
from hardbayes.dp_means.memory import NO_ROWS, Labels, MemoryRows, OpenAssignment

Ids = NDArray[np.signedinteger]


def compact(labels: Labels) -> NDArray[Any]:
    """Return labels plus one in the smallest type that holds them: mostly one byte a row."""
    dtype = np.min_scalar_type(int(labels.max(initial=-1)) + 1)
    return np.add(labels, 1, dtype=dtype, casting="unsafe")


def expand(small: NDArray[Any]) -> Labels:
    """Return the labels that `compact` was called on."""
    labels = small.astype(np.int32)
    labels -= 1
    return labels


class BlockState(NamedTuple):
    """What is known of the rows of a block between two passes."""

    labels: NDArray[Any]  # (m,), as `compact` returns them
    marks: NDArray[np.uint8] | None = None  # (m,): of rows that may open clusters; None: of none
    before: NDArray[Any] | None = None  # (m,): labels before the assignment, while marks count

    @property
    def n_bytes(self) -> int:
        """What it takes in memory."""
        return sum(part.nbytes for part in self if part is not None)

    def since(self, earlier: BlockState) -> BlockChange:
        """Return what turns an earlier state into this one: the labels that differ, if few do."""
        if earlier.labels.dtype == self.labels.dtype:
            places = np.flatnonzero(self.labels != earlier.labels).astype(np.int32)
            values = self.labels[places]
            if places.nbytes + values.nbytes < self.labels.nbytes:
                return BlockChange(places, self._replace(labels=values))
        return BlockChange(None, self)


class BlockChange(NamedTuple):
    """What turns the state of a block into a later one."""

    places: NDArray[np.int32] | None  # of the labels; None: all
    state: BlockState

    def after(self, earlier: BlockState) -> BlockState:
        """Return the later state."""
        if self.places is None:
            return self.state
        labels = earlier.labels.copy()
        labels[self.places] = self.state.labels
        return self.state._replace(labels=labels)


class Assigned(NamedTuple):
    """What an assignment of a block, or births after it, did."""

    summary: Summary
    totals: Totals  # by how much those of the slots have changed
    dtype: np.dtype  # of scores, for the next assignment


class Taken(NamedTuple):
    """Some rows of a block as kernels read them."""

    matrix: Any  # (m, d), dense or CSR, in the type of the data
    scale: Floats  # (m,), or (1,) for all
    weights: Floats
    constants: Floats


@dataclass
class Opening:
    """Opening costs of the rows of a block: the same for all, or a function of rows."""

    rule: Any

    def of(self, block: Block) -> Floats:
        """Return them, (m,) or (1,)."""
        return block.opening(self.rule) if callable(self.rule) else self.rule


class Block(MemoryRows):
    """The rows of a block. Its methods take the state of the block, and return the next."""

    first = 0  # the number of the first row

    def start(self, labels: Labels | None = None, totals: Totals | None = None) -> None:
        """Begin with these labels; without any until then, as most passes begin with a state."""
        super().start(NO_ROWS if labels is None else labels, totals)

    def _resume(self, state: BlockState) -> None:
        """Begin with the labels of a state; totals count from here."""
        self.start(expand(state.labels), no_totals(0, self.n_columns))
        if state.marks is not None:
            self._marks = state.marks.copy()
            self._are_marked = True

    def _state(self, state: BlockState, **changed: Any) -> BlockState:
        return state._replace(labels=compact(self.labels()), **changed)

    # -- sweeps ------------------------------------------------------------------------------------

    def pass_assign(
        self, state: BlockState, centres: Centres, opening: Opening
    ) -> tuple[BlockState, Assigned]:
        """Give every row to its cheapest centre; mark rows above their opening cost."""
        self._resume(BlockState(state.labels))
        summary = self.assign(centres, opening.of(self))
        marks = self._marks.copy() if summary.n_above else None
        change = self.totals(centres.used)
        after = self._state(state, marks=marks, before=None)
        return after, Assigned(summary, change, self.layout.dtype)

    def pass_offer(
        self,
        state: BlockState,
        centres: Centres,
        births: Births,
        opening: Opening,
        count: int,
        openers: tuple[Ids, Ids],
    ) -> tuple[BlockState, tuple[Ids, Totals]]:
        """Offer the newest births to rows that were above; return the first that still are.

        ``openers``: which rows of this block opened clusters, and in which slots.
        """
        self._resume(state)
        self._reopen(centres, opening)
        positions, slots = openers
        labelling = self._labelling
        labelling.counted = labelling.copy()
        labelling.slots[positions], self._marks[positions] = slots, OPENER
        ids = np.flatnonzero(self._marks).astype(np.int32)
        local = births._replace(order=births.order._replace(offset=self.first))
        if len(ids):
            self._consider(centres, local, len(births.openers), ids)
        still = self.first + ids[self._marks[ids] == ABOVE].astype(np.int64)
        found = births.order.first(still, count)
        marks = self._marks.copy()
        self._open = None
        change = self.totals(centres.used)
        return self._state(state, marks=marks), (found, change)

    def pass_finish(
        self, state: BlockState, centres: Centres, births: Births, opening: Opening
    ) -> tuple[BlockState, tuple[int, Totals, tuple[Labels, Labels] | None]]:
        """Offer all births to the rows that were never above.

        Return how many rows have changed in all, the change of totals, and which slots replace
        which, either way, where those of this block do.
        """
        self._resume(state)
        if state.marks is None:
            self._marks = np.zeros(self.n_rows, np.uint8)
        self._reopen(centres, opening)
        labelling = self._labelling
        labelling.counted = labelling.copy()
        local = births._replace(order=births.order._replace(offset=self.first))
        if (self._marks == 0).any():
            self._consider(centres, local, len(births.opened), NO_ROWS)
        self._open = None
        change = self.totals(centres.used)
        assert state.before is not None
        before, after = expand(state.before), self.labels()
        n_changed = int(np.count_nonzero(before != after))
        if len(self.weights) > 1 or self.weights[0] == 0:
            heavy = np.broadcast_to(self.weights > 0, self.n_rows)
            before, after = before[heavy], after[heavy]
        partners = partners_of(before, after, centres.room)
        return self._state(state, marks=None, before=None), (n_changed, change, partners)

    def _reopen(self, centres: Centres, opening: Opening) -> None:
        """Be as after an assignment with rows above their opening cost."""
        self._open = OpenAssignment(Summary(0, 0), opening.of(self), NO_ROWS, centres.used)

    # -- sums --------------------------------------------------------------------------------------

    def pass_totals(
        self, state: BlockState, n_slots: int, labels: Labels | None
    ) -> tuple[None, Totals]:
        """Return the exact totals for labels (m,), or (1,) for all rows."""
        return None, self.totals(n_slots, labels)

    def pass_constants(self, state: BlockState) -> tuple[None, ExactSum]:
        """Return the sum of ``weight |phi(x)|``."""
        total = ExactSum()
        total.add(np.broadcast_to(self.weights * np.abs(self.constants), self.n_rows))
        return None, total

    def pass_weights(self, state: BlockState) -> tuple[None, Floats]:
        """Return the weights of the rows."""
        return None, np.array(np.broadcast_to(self.weights, self.n_rows))

    def pass_opening(self, state: BlockState, opening: Opening) -> tuple[None, Floats]:
        """Return the opening costs of the rows."""
        return None, np.array(np.broadcast_to(opening.of(self), self.n_rows))

    def pass_fit(self, state: BlockState, centres: Centres) -> tuple[None, ExactSum]:
        """Return the sum of the weighted costs."""
        costs = self.costs(centres, expand(state.labels))
        costs *= self.weights
        total = ExactSum()
        total.add(costs)
        return None, total

    def pass_costs(
        self, state: BlockState, centres: Centres, labels: Labels | None
    ) -> tuple[None, Floats]:
        """Return the cost of each row at the centre in its slot, or in that of other labels."""
        return None, self.costs(centres, expand(state.labels) if labels is None else labels)

    # -- moves -------------------------------------------------------------------------------------

    def pass_candidates(
        self,
        state: BlockState,
        centres: Centres,
        sizes: Floats,
        prior_weight: float,
        slack: float,
        heaviest: float,
        part: slice,
    ) -> tuple[None, Ids]:
        """Return rows that might move alone, by their numbers among all rows."""
        self._resume(BlockState(state.labels))
        self.heaviest = heaviest  # of all rows
        return None, self.first + self.candidates(centres, sizes, prior_weight, slack, part)

    def pass_divide(
        self, state: BlockState, slots: NDArray[np.intp], halves: DirectForm
    ) -> tuple[None, Division]:
        """Let the rows of some slots choose between two centres each."""
        self._resume(BlockState(state.labels))
        return None, self.divide(slots, halves)

    def pass_halve(
        self,
        state: BlockState,
        slots: NDArray[np.intp],
        halves: DirectForm,
        into: NDArray[np.intp],
        n_slots: int,
    ) -> tuple[BlockState, tuple[Division, Totals]]:
        """Do the same, and give those that choose the second to other slots."""
        self._resume(BlockState(state.labels))
        division = self.divide(slots, halves, into)
        change = self.totals(n_slots)
        return self._state(state), (division, change)

    def pass_set(
        self, state: BlockState, n_slots: int, positions: Ids, slots: Ids
    ) -> tuple[BlockState, Totals]:
        """Give some rows to other slots; return the change of totals."""
        self._resume(BlockState(state.labels))
        self.set_labels(positions, slots)
        change = self.totals(n_slots)
        return self._state(state), change

    def pass_take(self, state: BlockState, positions: Ids) -> tuple[None, Taken]:
        """Return some rows."""
        rows = self._rows
        if isinstance(rows, SparseRows):
            from scipy.sparse import csr_array

            whole = csr_array(
                (rows.values, rows.columns, rows.starts), (self.n_rows, self.n_columns)
            )
            matrix: Any = csr_array(whole[positions])
        else:
            matrix = rows.values[positions]
        some = (
            v if len(v) == 1 else v[positions] for v in (rows.scale, self.weights, self.constants)
        )
        return None, Taken(matrix, *some)


def partners_of(before: Labels, after: Labels, n_slots: int) -> tuple[Labels, Labels] | None:
    """Return for each slot (slots + 1,) the one that its rows went to, and the one they come from.

    -2 where it has none, -1 for no slot, which is the last; None where rows of a slot went to
    several, or come from several.
    """
    partners = []
    for source, target in ((before, after), (after, before)):
        partner = np.full(n_slots + 1, -2, np.int32)
        partner[source] = target
        if (partner[source] != target).any():
            return None
        partners.append(partner)
    return partners[0], partners[1]


@dataclass(frozen=True)
class BlockMaker:
    """Makes the rows of a block in working coordinates, the same in every process.

    ``read(X, weights)`` returns the matrix and the weights (m,), or (1,) for all rows, as the
    problem has them; ``make(matrix, weights, pool)`` a `Block`.
    """

    read: Any
    make: Any
    layout: Any
    rounding: Any

    def __call__(self, X: Any, weights: Any, first: int, pool: Any) -> Block:
        """Return the rows of a block."""
        block: Block = self.make(*self.read(X, weights), pool)
        block.first, block.layout, block.rounding = first, self.layout, self.rounding
        return block

    def with_scores(self, dtype: np.dtype) -> BlockMaker:
        """Return the same with scores of another type."""
        return replace(self, layout=self.layout._replace(dtype=dtype))


def rows_of(taken: list[Taken], order: Ids, dtype: np.dtype) -> Taken:
    """Return rows of several blocks as one, each at the place (n,) that ``order`` tells."""
    if is_sparse(taken[0].matrix):
        from scipy.sparse import csr_array, vstack

        rows = csr_array(vstack([part.matrix for part in taken], format="csr"))
        matrix: Any = csr_array(rows[inverse_permutation(order)])
        matrix.sort_indices()
    else:
        matrix = np.empty((len(order), taken[0].matrix.shape[1]), dtype)
        start = 0
        for part in taken:
            stop = start + len(part.matrix)
            matrix[order[start:stop]] = part.matrix
            start = stop
    return Taken(matrix, *(_joined(taken, name, order) for name in Taken._fields[1:]))


def _joined(taken: list[Taken], name: str, order: Ids) -> Floats:
    """Return what rows of several blocks have, one number each; (1,) where all have the same."""
    parts = [getattr(part, name) for part in taken]
    if all(len(part) == 1 and part[0] == parts[0][0] for part in parts):
        return np.array(parts[0])
    counts = [part.matrix.shape[0] for part in taken]
    values = np.empty(len(order))
    values[order] = np.concatenate(
        [np.broadcast_to(part, n) for part, n in zip(parts, counts, strict=True)]
    )
    return values
