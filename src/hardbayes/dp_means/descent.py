"""A fit of a partition: the stages of each search, which `core.loop` goes through."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.core.loop import Status, alternate
from hardbayes.dp_means.moves.exchanges import propose_exchanges, propose_split_then_merge
from hardbayes.dp_means.moves.merges import propose_merges
from hardbayes.dp_means.moves.single_rows import (
    border_rows,
    propose_all_row_moves,
    propose_row_moves,
)
from hardbayes.dp_means.moves.splits import divide_clusters, propose_splits
from hardbayes.dp_means.objective import Terms, terms_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats, VisitOrder
    from hardbayes.dp_means.moves import PartitionProposal
    from hardbayes.dp_means.moves.splits import Divisions
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.passes import Passes
    from hardbayes.dp_means.state import PartitionState, Potential


#: The stages of each search, as methods of `Descent`: cheap ones before expensive ones.
STAGES = {
    "paper": ("sweep",),
    "split-merge": (
        "sweep", "merge_early", "split", "sweep_to_convergence", "move_rows", "merge", "exchange",
        "split_then_merge",
    ),
    "collapsed": ("collapse", "sweep"),
}  # fmt: skip

# Passes of single-row moves before all rows choose again.
ROW_MOVE_PASSES = 8
# After a round of moves sweeps need not converge before the next: so large a part of the rows may
# still change cluster.
UNCONVERGED = 0.01


@dataclass(frozen=True)
class SearchBudget:
    """How much a fit may spend on moves."""

    rounds: int  # of exchanges at most, because each lowers the objective less
    trials: int  # in each of them
    uncompiled_rows: int  # that may move alone at a time, where single-row moves are not compiled
    # At the cap: rounds of splits then merges. None where a cap only ends a step of a path, which
    # goes on; there splits do not come with unions either.
    cap_rounds: int = 0


# Of a fit by itself: more find slightly better clusters at times, and take longer.
THOROUGH = SearchBudget(rounds=30, trials=8, uncompiled_rows=sys.maxsize, cap_rounds=6)


@dataclass(frozen=True)
class Solution:
    """Where a fit ended, in working coordinates and units."""

    labels: NDArray[np.int32]  # (n,), clusters in order of creation
    centres: Floats  # (k, d)
    terms: Terms
    trace: Floats  # (steps,): fit and prior terms after each sweep or round of moves
    cluster_counts: NDArray[np.int64]  # (steps,)
    status: Status
    n_splits: int
    n_merges: int
    weights: Floats | None = None  # (k,): of the clusters; None where labels tell

    def total(self, partition: Partition) -> float:
        """Return the objective under this penalty, in working units."""
        return self.cost + partition.total_penalty(self.terms.n_clusters)

    @property
    def cost(self) -> float:
        """The objective without penalties."""
        return self.terms.fit + self.terms.prior

    def at_its_end(self) -> Solution:
        """Return the solution without its trace, which belongs to another penalty."""
        return replace(self, trace=self.trace[-1:], cluster_counts=self.cluster_counts[-1:])


class Descent:
    """One fit.

    Parameters
    ----------
    state : PartitionState
    partition : Partition
    passes : Passes
    opening : array (n,) or (1,), or what `Rows.opening` returned
        What it costs each row to open a cluster.
    order : VisitOrder
    rng : RandomState
    report : callable
        ``report(step, clusters, changed)`` is called after every step.
    budget : SearchBudget
    divisions : Divisions or None
        Found in a fit before, of clusters that may still be as they were.
    """

    def __init__(
        self,
        state: PartitionState,
        partition: Partition,
        passes: Passes,
        opening: Floats,
        order: VisitOrder,
        rng: np.random.RandomState,
        report: Callable[[int, int, int], None],
        budget: SearchBudget = THOROUGH,
        divisions: Divisions | None = None,
    ) -> None:
        self.state = state
        self.partition = partition
        self.passes = passes
        self.opening = opening
        self.order = order
        self.rng = rng
        self.report = report
        self.budget = budget
        self.divisions = divisions
        self.points: list[Potential] = []
        self.after_row_moves: Potential | None = None  # after all rows were last visited
        self.is_capped = False  # there would be more clusters, were it not for the cap
        self.has_births = False  # rows have opened clusters since merges were last tried
        self.n_splits = 0
        self.n_merges = 0
        self.exchanges_left = budget.rounds
        self.cap_rounds_left = budget.cap_rounds if passes.are_plain else 0
        self.max_steps = sys.maxsize
        self.halfway = 0  # after so many steps other stages do not wait for sweeps to converge
        self.must_converge = True  # whether sweeps go on for as long as any row changes
        self.converged = True  # whether the last sweep changed nothing

    def run(self, start: Floats | None, search: str, max_steps: int) -> Solution:
        """Minimise by the stages of a search.

        From the centres ``start`` (k, d), or from where the last fit on these rows ended.
        """
        if start is not None:
            self.state.start(start)
        self.max_steps = max_steps
        if search == "split-merge":
            self.halfway = max_steps // 2
        else:
            self.cap_rounds_left = 0
        stages = [getattr(self, name) for name in STAGES[search]]
        if not alternate(stages, lambda: len(self.points) < max_steps):
            return self._end(Status.OUT_OF_STEPS)
        return self._end(Status.CAPPED if self.is_capped else Status.CONVERGED)

    @property
    def max_changes(self) -> int:
        """A sweep is the last one where at most so many rows change."""
        return 0 if self.must_converge else int(UNCONVERGED * self.state.rows.n_rows)

    # -- stages: each returns whether it changed the partition -------------------------------------

    def sweep(self) -> bool:
        """Every row goes to its cheapest centre, or opens a cluster: Kulis & Jordan's Algorithm 1.

        Old centres stay where they are until all rows have chosen.
        """
        self._renew_order()
        if self._is_small():
            return self._sweep_small()
        cap = self.partition.max_clusters
        swept = self.state.sweep(self.opening, self.order, cap)
        n_before = self.points[-1].n_clusters if self.points else -1
        self._note(self.state.refit(), swept.n_changed)
        # Births may give the partition before other slots only.
        renamed = swept.same_partition and self.points[-1].n_clusters == n_before
        self.has_births |= swept.n_opened > 0
        self.is_capped = swept.n_above > swept.n_opened and self.state.n_clusters >= cap
        return self._note_sweep(swept.n_changed > 0 and not renamed, swept.n_changed)

    def collapse(self) -> bool:
        """Every row in turn moves to where the objective is lowest: collapsed DP-means."""
        if not self.points:
            self.state.choose_nearest()
            self.state.close_empty()
        self._renew_order()
        order = self.order.rows(self.state.rows.n_rows)
        size, n_changed = self.state.rows.most_taken, 0
        for start in range(0, len(order), size):
            ids = order[start : start + size]
            proposal = propose_row_moves(self.state, self.partition, self.passes.move_rows, ids)
            if proposal is not None:
                self.state.apply(proposal)
                n_changed += len(ids)
        self._note(self.state.refit(), n_changed)
        return n_changed > 0

    def move_rows(self) -> bool:
        """Rows at the border of their cluster move one by one where that lowers the objective."""
        state, rows = self.state, self.state.rows
        entries = rows.n_rows * rows.entries_per_row * state.n_clusters
        if entries < self.passes.max_entries_all_rows and rows.n_rows <= rows.most_taken:
            if self.points[-1] == self.after_row_moves:  # nothing has changed since
                return False
            changed = self._apply(propose_all_row_moves(state, self.partition, self.rng))
            self.after_row_moves = self.points[-1]
            return changed
        if self._is_small():
            return self._apply(self._row_moves(np.arange(rows.n_rows)))
        *parts, last = state.parts()
        n_changed = sum(self._move_part(part) for part in parts)
        return self._apply(self._row_moves(self._border_rows(last)), n_changed)

    def _move_part(self, part: slice) -> int:
        """Move rows of a part of many rows; return how many might have moved."""
        proposal = self._row_moves(self._border_rows(part))
        if proposal is None:
            return 0
        self.state.apply(proposal)
        self.state.refit()
        return proposal.n_rows

    def _border_rows(self, part: slice) -> NDArray[np.intp]:
        ids = border_rows(self.state, self.partition, self.passes.border_slack, part)
        return ids if self.passes.are_compiled else ids[: self.budget.uncompiled_rows]

    def sweep_to_convergence(self) -> bool:
        """Sweeps go on until they converge, where those after the last moves did not.

        At the cap not before splits then merges, which single rows prepare as well.
        """
        return not self._has_cap_rounds() and self._converge()

    def merge_early(self) -> bool:
        """Do the same as `merge`; where that takes long, only after rows have opened clusters."""
        if not (self.passes.merges_early or self.has_births):
            return False
        self.has_births = False
        return self.merge()

    def merge(self) -> bool:
        """Pairs of clusters unite where that lowers the objective."""
        return self._apply(propose_merges(self.state, self.partition))

    def split(self) -> bool:
        """Clusters divide in two where that lowers the objective."""
        state, partition = self.state, self.partition
        self.divisions = divide_clusters(
            state, partition, self.passes.refine, self.rng, self.divisions
        )
        if state.n_clusters >= partition.max_clusters:
            self.is_capped |= bool(self.divisions.are_worth_it(partition.penalty).any())
        with_unions = self.budget.cap_rounds > 0
        return self._apply(propose_splits(state, partition, self.divisions, with_unions))

    def exchange(self) -> bool:
        """Try splits and merges together, where neither alone lowers the objective."""
        if not self.exchanges_left:
            return False
        self.exchanges_left -= 1
        assert self.divisions is not None  # a stage before this one
        pairs_alone = self.budget.cap_rounds > 0 and self.is_capped
        return self._apply(
            propose_exchanges(
                self.state,
                self.partition,
                self.passes.refine,
                self.divisions,
                self.budget.trials,
                pairs_alone,
            )
        )

    def split_then_merge(self) -> bool:
        """At the cap: have more clusters for a while, where exchanges no longer help."""
        if not self._has_cap_rounds():
            return False
        self.cap_rounds_left -= 1
        if self._apply(propose_split_then_merge(self.state, self.partition, self.rng)):
            return True
        self.cap_rounds_left = 0
        return self._converge()

    # -- sweeps ------------------------------------------------------------------------------------

    def _note_sweep(self, changes: bool, n_changed: int) -> bool:
        """Note whether sweeps have converged; return whether they should go on."""
        self.converged = not changes
        self.must_converge &= not self._has_cap_rounds()
        return changes and n_changed > self.max_changes and len(self.points) != self.halfway

    def _converge(self) -> bool:
        """Let sweeps go on until nothing changes; return whether they have to."""
        self.must_converge = True
        return not self.converged

    def _has_cap_rounds(self) -> bool:
        return self.is_capped and self.cap_rounds_left > 0

    def _is_small(self) -> bool:
        """Whether several sweeps are worth doing in one compiled call."""
        from hardbayes.dp_means.small import is_small  # numba comes with it: not before a fit

        return self.passes.are_plain and is_small(self.state)

    def _renew_order(self) -> None:
        """Let rows be visited in another order than in the sweep before, where that is wished."""
        if self.points:
            self.order = self.order.of_next_sweep(self.rng)

    def _sweep_small(self) -> bool:
        """Sweeps one after the other in one call, until few rows change."""
        from hardbayes.dp_means.small import sweep_small

        n_done = len(self.points)
        limit = self.halfway if n_done < self.halfway else self.max_steps
        if self.order.each_sweep:
            limit = n_done + 1
        swept = sweep_small(
            self.state,
            self.order,
            self.partition,
            self.max_changes,
            limit - n_done,
            self.points[-1].n_clusters if self.points else -1,
        )
        for point, n_changed in zip(swept.points, swept.n_changed, strict=True):
            self._note(point, n_changed)
        self.is_capped = swept.is_capped
        return self._note_sweep(swept.changing, swept.n_changed[-1])

    # -- moves -------------------------------------------------------------------------------------

    def _row_moves(self, ids: NDArray[np.intp]) -> PartitionProposal | None:
        return propose_row_moves(
            self.state, self.partition, self.passes.move_rows, ids, ROW_MOVE_PASSES
        )

    def _apply(self, proposal: PartitionProposal | None, n_changed: int = 0) -> bool:
        """Do what a move proposes; return whether there was anything to do.

        On small data all rows may then move one by one, which spares sweeps. ``n_changed`` rows
        have moved before.
        """
        if proposal is None and not n_changed:
            return False
        state = self.state
        if proposal is not None:
            n_changed += proposal.n_rows
            state.apply(proposal)
            self.n_splits += proposal.n_splits
            self.n_merges += proposal.n_merges
        n_rows = state.rows.n_rows
        is_small = n_rows * state.n_clusters < self.passes.max_costs_all_rows
        if is_small and n_rows <= state.rows.most_taken:
            more = self._row_moves(np.arange(n_rows))
            if more is not None:
                state.apply(more)
                n_changed += len(more.ids)
        self._note(state.refit(), n_changed)
        self.must_converge = False
        return True

    def _note(self, point: Potential, n_changed: int) -> None:
        self.points.append(point)
        self.report(len(self.points), point.n_clusters, n_changed)

    def _end(self, status: Status) -> Solution:
        """Return where the fit stands."""
        state, partition = self.state, self.partition
        centres = state.centres()[1]
        terms = terms_of(state.fit_term(), partition, centres)
        trace = np.array(
            [terms.fit + terms.prior + point.above(self.points[-1]) for point in self.points]
        )
        counts = np.array([point.n_clusters for point in self.points])
        numbers = state.final_numbers()
        if status is Status.OUT_OF_STEPS or numbers.min() < 0:
            # Labels that agree with the centres, as predict would give them; drop empty centres.
            has_rows = state.choose_nearest(last=True)
            state.close(~has_rows)
            centres = centres[has_rows]
            terms = terms_of(state.fit_term(), partition, centres)
            trace[-1], counts[-1] = terms.fit + terms.prior, len(centres)
            numbers = state.final_numbers()
        return Solution(
            numbers, centres, terms, np.maximum(trace, 0.0), counts, status,
            self.n_splits, self.n_merges, state.weights(),
        )  # fmt: skip
