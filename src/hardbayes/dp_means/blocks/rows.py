"""Rows in blocks, read anew by every pass: the executor for data larger than memory.

It keeps one byte a row (two from 255 clusters on) and the totals of the slots. Everything else is
done by passes over single blocks (`block`), which a mapper carries out here or elsewhere
(`mapping`). Totals, sums of costs and decisions do not depend on how rows are cut into blocks, nor
on the order in which these are done: so a fit has the bits of one in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import (
    Births,
    Centres,
    DirectForm,
    Division,
    Drift,
    ExactSum,
    Floats,
    Layout,
    Summary,
    Totals,
    most_taken,
    no_totals,
)
from hardbayes.core.pool import Pool
from hardbayes.core.rows import kernel_rows
from hardbayes.dp_means.blocks.block import (
    BlockMaker,
    BlockState,
    Opening,
    compact,
    expand,
    rows_of,
)
from hardbayes.dp_means.blocks.mapping import Call, Mapper
from hardbayes.dp_means.compiled.assign import ABOVE
from hardbayes.dp_means.local_rows import LocalRows
from hardbayes.dp_means.memory import ALL, DOUBTFUL
from hardbayes.dp_means.totals import Rounding, SlotTotals

Ids = NDArray[np.signedinteger]
Labels = NDArray[np.int32]


@dataclass(frozen=True)
class BlockFacts:
    """What the first pass found of all rows, in working units."""

    sizes: NDArray[np.int64]  # rows of each block
    n_columns: int
    entries_per_row: int
    dtype: np.dtype  # of the data
    equal_weight: float | None  # of every row; None where they differ
    heaviest: float
    total_weight: float
    n_weighted: int
    heavy: dict[int, NDArray[np.uint8]]  # packed bits of blocks in which some rows weigh nothing
    shift: Floats  # (d,): of working coordinates


class BlockLabels:
    """The number of each row's cluster, one byte a row; an array where it is read as one."""

    def __init__(self, parts: list[NDArray[Any]], starts: NDArray[np.int64]) -> None:
        self.parts = parts
        self.starts = starts

    def __len__(self) -> int:
        return int(self.starts[-1])

    def min(self) -> int:
        """Return the smallest label."""
        return min((int(part.min()) - 1 for part in self.parts if len(part)), default=-1)

    def __getitem__(self, ids: Any) -> Labels:
        """Return the labels of some rows, in ascending order of their numbers, or of a slice."""
        if isinstance(ids, slice):
            if ids == ALL:
                return np.asarray(self)
            ids = np.arange(*ids.indices(len(self)))
        found = np.empty(len(ids), np.int32)
        for number, where, positions in by_block(self.starts, ids):
            found[where] = expand(self.parts[number][positions])
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Labels:
        """Return all labels (n,)."""
        whole = np.empty(len(self), np.int32)
        for start, part in zip(self.starts, self.parts, strict=False):
            whole[start : start + len(part)] = expand(part)
        return whole if dtype is None else whole.astype(dtype)


def by_block(
    starts: NDArray[np.int64], ids: Ids
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield a block's number, which of rows ``ids`` it has, and where they are in it."""
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    ends = np.searchsorted(ranked, starts)
    for number in np.flatnonzero(np.diff(ends)).tolist():
        where = order[ends[number] : ends[number + 1]]
        yield number, where, (ids[where] - starts[number]).astype(np.intp)


def call_block(
    X: Any, weights: Any, state: BlockState, first: int, size: int, arguments: tuple[Any, ...],
    name: str, maker: BlockMaker, n_threads: int | Pool, shared: tuple[Any, ...],
) -> Any:  # fmt: skip
    """Call a pass of a block in any process; every pass goes through here."""
    if X.shape[0] != size:
        raise ValueError(
            f"The block of X from row {first} on has {X.shape[0]} rows where it had {size}: the "
            "source must yield the same blocks each time."
        )
    if isinstance(n_threads, Pool):
        block = maker(X, weights, first, n_threads)
        return getattr(block, name)(state, *shared, *arguments)
    with Pool(n_threads) as pool:
        block = maker(X, weights, first, pool)
        return getattr(block, name)(state, *shared, *arguments)


class OpeningCosts:
    """Opening costs that depend on the row, as a function of rows; an array where one is needed."""

    def __init__(self, rows: BlockRows, rule: Callable[[LocalRows], Floats]) -> None:
        self.rule = rule
        self._rows = rows

    def __call__(self, local: LocalRows) -> Floats:
        """Return what some rows pay (m,)."""
        return self.rule(local)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Return what all rows pay (n,)."""
        return self._rows.gather("pass_opening", "opening costs", Opening(self.rule))


@dataclass
class OpenSweep:
    """An assignment after which rows above their opening cost may open clusters."""

    summary: Summary
    opening: Opening
    before: list[NDArray[Any]]  # labels of each block


class BlockRows:
    """Rows in blocks; see `dp_means.rows.Rows`."""

    def __init__(
        self,
        mapper: Mapper,
        facts: BlockFacts,
        maker: BlockMaker,
        layout: Layout,
        rounding: Rounding,
        pool: Pool,
    ) -> None:
        self.starts = np.concatenate([[0], np.cumsum(facts.sizes)])
        self.n_rows = int(self.starts[-1])
        self.n_columns = facts.n_columns
        self.entries_per_row = facts.entries_per_row
        self.heaviest = facts.heaviest
        self.total_weight = facts.total_weight
        self.n_weighted = facts.n_weighted
        self.rounding = rounding
        self.layout = layout
        self.most_taken = most_taken(self.n_rows, self.entries_per_row)
        self.pool = pool
        self._mapper = mapper
        self._facts = facts
        self._maker = maker
        self.start()

    # -- passes ------------------------------------------------------------------------------------

    def _map(
        self,
        name: str,
        phase: str,
        shared: tuple[Any, ...] = (),
        some: Iterable[tuple[int, tuple[Any, ...]]] | None = None,
    ) -> Iterator[tuple[int, BlockState | None, Any]]:
        """Yield number, next state and result of a pass over all blocks, or over some.

        ``some``: numbers of blocks, in order, each with arguments of its own; ``shared``: those
        that all blocks have.
        """
        if some is None:
            some = ((number, ()) for number in range(len(self._states)))
        calls = [
            Call(number, (int(self.starts[number]), size, arguments), self._states[number])
            for number, arguments in some
            if (size := self._size(number))
        ]
        maker = self._maker.with_scores(self.layout.dtype)
        pool = self._mapper.threads(self.pool)
        for number, (state, found) in self._mapper.map(
            call_block, calls, phase, (name, maker, pool, shared)
        ):
            yield number, state, found

    def _size(self, number: int) -> int:
        return int(self._facts.sizes[number])

    def _parts(self) -> list[slice]:
        """Return the rows of each block."""
        return [slice(int(a), int(b)) for a, b in pairwise(self.starts)]

    def gather(self, name: str, phase: str, *shared: Any) -> Floats:
        """Return an array (n,) of numbers that a pass finds for every row."""
        whole = np.empty(self.n_rows)
        for number, _, found in self._map(name, phase, shared):
            whole[self.starts[number] : self.starts[number + 1]] = found
        return whole

    @cached_property
    def weights(self) -> Floats:
        """Weights (n,), or (1,) for all rows."""
        if self._facts.equal_weight is not None:
            return np.array([self._facts.equal_weight])
        return self.gather("pass_weights", "weights")

    @cached_property
    def constants_size(self) -> float:
        """The sum of ``weight |phi(x)|``; zero where costs are squared distances."""
        if self.layout.costs == "distance":
            return 0.0
        return self._sum("pass_constants", "sizes of costs")

    def _sum(self, name: str, phase: str, *shared: Any) -> float:
        total = ExactSum()
        for _, _, found in self._map(name, phase, shared):
            total.merge(found)
        return total.value

    # -- labels and totals -------------------------------------------------------------------------

    def start(self, labels: Labels | None = None, totals: Totals | None = None) -> None:
        """Forget all labels; or begin with these labels, whose exact totals are given."""
        self._open: OpenSweep | None = None
        if labels is None:
            self._states = [BlockState(np.zeros(size, np.uint8)) for size in self._facts.sizes]
        else:
            self._states = [BlockState(compact(labels[part])) for part in self._parts()]
        self._totals = SlotTotals(0, self.n_columns)
        if totals is not None:
            self._totals.set(totals)

    def labels(self, ids: Ids | slice = ALL) -> Labels:
        """Return the slots of rows."""
        return BlockLabels([state.labels for state in self._states], self.starts)[ids]

    def numbers(self, number_of: Labels | None) -> Any:
        """Return the number of each row's slot, or the slot, one byte a row."""
        parts = [state.labels for state in self._states]
        if number_of is not None:
            parts = [compact(number_of[expand(part)]) for part in parts]
        return BlockLabels(parts, self.starts)

    def has_weight(self, part: slice) -> NDArray[np.bool_] | None:
        """Return which rows of a part weigh more than nothing."""
        if not self._facts.heavy:
            return None
        found = np.ones(part.stop - part.start, bool)
        for number, bits in self._facts.heavy.items():
            start, stop = (int(end) for end in self.starts[number : number + 2])
            first, last = max(start, part.start), min(stop, part.stop)
            if first < last:
                block = np.unpackbits(bits, count=stop - start).view(bool)
                found[first - part.start : last - part.start] = block[first - start : last - start]
        return found

    def set_labels(self, ids: Ids, slots: Ids) -> None:
        """Give these rows to these slots."""
        self._open = None
        n_slots = max(int(slots.max(initial=-1)) + 1, len(self._totals.parts.touched))
        some = [
            (number, (positions, slots[where]))
            for number, where, positions in by_block(self.starts, ids)
        ]
        for number, after, change in self._map("pass_set", "moves of rows", (n_slots,), some):
            self._keep(number, after, change)

    def _keep(self, number: int, state: BlockState | None, change: Totals) -> None:
        assert state is not None
        self._states[number] = state
        self._totals.add_parts(change)

    def relabel(self, slots: Ids, n_slots: int | None = None) -> None:
        """Give the rows of slot c to ``slots[c]``."""
        self._open = None
        names = np.append(slots, -1).astype(np.int32)
        self._states = [BlockState(compact(names[expand(s.labels)])) for s in self._states]
        self._totals.grow(len(slots))
        if n_slots is None:
            self._totals.unite(slots)
        else:
            self._totals.rename(slots, n_slots)

    def totals(self, n_slots: int, labels: Labels | None = None) -> Totals:
        """Return the exact totals of so many slots, for the present labels or for others."""
        if labels is None:
            self._totals.grow(n_slots)
            return self._totals.parts
        found = SlotTotals(n_slots, self.n_columns)
        some = None
        shared: tuple[Any, ...] = (n_slots, labels)
        if len(labels) == self.n_rows > 1:
            shared = (n_slots,)
            some = [(number, (labels[part],)) for number, part in enumerate(self._parts())]
        for _, _, more in self._map("pass_totals", "totals", shared, some):
            found.add_parts(more)
        found.parts.touched[:] = True
        return found.parts

    # -- a sweep -----------------------------------------------------------------------------------

    def opening(self, rule: Callable[[LocalRows], Floats]) -> Any:
        """Return opening costs as a function of rows."""
        return OpeningCosts(self, rule)

    def assign(self, centres: Centres, opening: Any, drift: Drift | None = None) -> Summary:
        """Give every row to its cheapest centre; count rows above their opening cost."""
        before = [state.labels for state in self._states]
        self._open = None
        paid = Opening(opening.rule if isinstance(opening, OpeningCosts) else opening)
        n_changed, n_above, n_finer = 0, 0, 0
        finer = self.layout.dtype
        for number, state, (summary, change, dtype) in self._map(
            "pass_assign", "assignment", (centres, paid)
        ):
            self._keep(number, state, change)
            n_changed += summary.n_changed
            n_above += summary.n_above
            if dtype != self.layout.dtype:
                n_finer, finer = n_finer + self._size(number), dtype
        if n_finer > DOUBTFUL * self.n_rows:
            self.layout = self.layout._replace(dtype=finer)
        summary = Summary(n_changed, n_above)
        if n_above:
            self._open = OpenSweep(summary, paid, before)
        return summary

    def offer(self, centres: Centres, births: Births, count: int) -> Ids:
        """Offer the newest births to the rows that were above; return those that still are."""
        sweep = self._pending()
        first = np.empty(0, np.int64)
        if not len(births.openers):
            for number, state in enumerate(self._states):
                if state.marks is not None:
                    still = self.starts[number] + np.flatnonzero(state.marks == ABOVE)
                    first = births.order.first(np.concatenate([first, still]), count)
            return first
        slots = np.arange(centres.used - len(births.openers), centres.used)
        mine = {
            number: (positions, slots[where])
            for number, where, positions in by_block(self.starts, births.openers)
        }
        none = (np.empty(0, np.intp), np.empty(0, np.intp))
        some = [
            (number, (mine.get(number, none),))
            for number, state in enumerate(self._states)
            if state.marks is not None
        ]
        shared = (centres, births, sweep.opening, count)
        found = self._map("pass_offer", "births", shared, some)
        for number, after, (still, change) in found:
            self._keep(number, after, change)
            first = births.order.first(np.concatenate([first, still]), count)
        return first

    def finish(self, centres: Centres, births: Births) -> Summary:
        """Offer all births to the rows that were never above; return what was done in all."""
        sweep = self._pending()
        n_opened = len(births.opened)
        if not n_opened:
            self._states = [state._replace(marks=None) for state in self._states]
            self._open = None
            return sweep.summary
        self._states = [
            state._replace(before=before)
            for state, before in zip(self._states, sweep.before, strict=True)
        ]
        n_changed, same = 0, True
        partners = [np.full(centres.room + 1, -2, np.int32) for _ in range(2)]
        for number, state, (changed, change, found) in self._map(
            "pass_finish", "end of births", (centres, births, sweep.opening)
        ):
            self._keep(number, state, change)
            n_changed += changed
            same = same and found is not None and _agree(partners, found)
        self._open = None
        return Summary(n_changed, sweep.summary.n_above, n_opened, same)

    def _pending(self) -> OpenSweep:
        if self._open is None:
            raise RuntimeError("No row is above its opening cost: 'assign' comes first.")
        return self._open

    # -- costs -------------------------------------------------------------------------------------

    def costs(self, centres: Centres, labels: Labels | None = None) -> Floats:
        """Return the cost (n,) of every row at the centre in its slot."""
        if labels is not None and len(labels) == self.n_rows > 1:
            out, parts = np.empty(self.n_rows), self._parts()
            some = [(number, (labels[part],)) for number, part in enumerate(parts)]
            for number, _, found in self._map("pass_costs", "costs", (centres,), some):
                out[parts[number]] = found
            return out
        return self.gather("pass_costs", "costs", centres, labels)

    def fit_term(self, centres: Centres) -> float:
        """Return the sum of the weighted costs."""
        return self._sum("pass_fit", "objective", centres)

    def candidates(
        self,
        centres: Centres,
        sizes: Floats,
        prior_weight: float,
        slack: float,
        part: slice | None = None,
    ) -> NDArray[np.intp]:
        """Return rows that might move: all that scores do not rule out."""
        first, last = (0, self.n_rows) if part is None else (part.start, part.stop)
        common = (centres, sizes, prior_weight, slack, self.heaviest)
        some = []
        for number, start in enumerate(self.starts[:-1].tolist()):
            inside = slice(max(first - start, 0), min(last - start, self._size(number)))
            if inside.start < inside.stop:
                some.append((number, (inside,)))
        found = {n: ids for n, _, ids in self._map("pass_candidates", "candidates", common, some)}
        return np.concatenate([np.empty(0, np.intp), *(found[n] for n in sorted(found))])

    # -- some of the rows --------------------------------------------------------------------------

    def divide(
        self, slots: NDArray[np.intp], halves: DirectForm, into: NDArray[np.intp] | None = None
    ) -> Division:
        """Let the rows of these slots choose between two centres each."""
        counts = np.zeros(len(slots), np.int64)
        totals = SlotTotals(len(slots), self.n_columns)
        if into is None:
            for _, _, division in self._map("pass_divide", "divisions", (slots, halves)):
                counts += division.counts
                totals.add_parts(division.totals)
            return Division(counts, totals.parts)
        self._open = None
        n_slots = max(int(into.max()) + 1, len(self._totals.parts.touched))
        for number, state, (division, change) in self._map(
            "pass_halve", "splits", (slots, halves, into, n_slots)
        ):
            counts += division.counts
            self._keep(number, state, change)
        return Division(counts, no_totals(0, self.n_columns))

    def take(self, ids: NDArray[np.intp] | None = None) -> LocalRows:
        """Return some rows in the memory of this process."""
        ids = np.arange(self.n_rows) if ids is None else ids
        if len(ids) > self.most_taken:
            raise RuntimeError(f"{len(ids)} rows are more than may be taken: {self.most_taken}.")
        wanted = list(by_block(self.starts, ids))
        some = [(number, (positions,)) for number, _, positions in wanted]
        found = {n: taken for n, _, taken in self._map("pass_take", "rows", (), some)}
        order = np.concatenate([where for _, where, _ in wanted])
        taken = rows_of([found[number] for number, _, _ in wanted], order, self._facts.dtype)
        rows = kernel_rows(taken.matrix, self._facts.shift, taken.scale)
        return LocalRows(
            rows, taken.matrix.shape, taken.weights, taken.constants, self.layout.dtype, self.pool,
            n_all=self.n_rows,
        )  # fmt: skip


def _agree(partners: list[Labels], found: tuple[Labels, Labels]) -> bool:
    """Whether slots of a block have the partners that they have elsewhere; IN/OUT partners."""
    for whole, part in zip(partners, found, strict=True):
        n = min(len(whole), len(part)) - 1
        places = np.append(np.flatnonzero(part[:n] != -2), [-1] if part[-1] != -2 else []).astype(
            int
        )
        known = whole[places] != -2
        if (whole[places][known] != part[places][known]).any():
            return False
        whole[places] = part[places]
    return True
