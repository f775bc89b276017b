"""Fits of the hard HDP: stages of each search, several starts, solutions at rising penalties."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import GIVEN_ORDER, Floats, VisitOrder
from hardbayes.core.loop import Status, alternate, say_nothing
from hardbayes.dp_means.descent import Descent, SearchBudget, Solution
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.moves.merges import nearest_partners
from hardbayes.dp_means.moves.potentials import move_rows_by_potentials
from hardbayes.dp_means.moves.single_rows import border_rows, propose_row_moves
from hardbayes.dp_means.moves.splits import Divisions, divide_clusters
from hardbayes.dp_means.objective import Partition, terms_of
from hardbayes.dp_means.passes import passes_for
from hardbayes.dp_means.starts import Starts, first_centres, minimise
from hardbayes.groups.moves import (
    propose_exchange,
    propose_global_moves,
    propose_local_cluster_moves,
    propose_merges,
    propose_regrouping,
    propose_splits,
)
from hardbayes.groups.problem import GroupedPartition, GroupedTerms

if TYPE_CHECKING:
    from hardbayes.dp_means.state import PartitionState, Potential
    from hardbayes.groups.state import GroupedState, LocalClusters, Point


#: The stages of each search, as methods of `GroupedDescent`: cheap ones before expensive ones.
STAGES = {
    "paper": ("sweep",),
    "split-merge": ("sweep", "polish", "merge", "split", "solve_globally", "exchange"),
    "merge": ("merge", "polish"),
}  # fmt: skip

# Passes of single-row moves before all rows choose again.
ROW_MOVE_PASSES = 8
# Costs of rows at centres up to which all rows are tried, and not only those at a border.
SMALL = 1 << 18
# What the problem of the local clusters may spend each time: few exchanges, because it comes again.
BUDGET = SearchBudget(rounds=4, trials=8, uncompiled_rows=sys.maxsize)
GLOBAL_STEPS = 100
# Rounds of exchanges of rows, because each lowers the objective less; and trials in each of them.
EXCHANGES = 30
TRIALS = 8
TRIAL_STEPS = 8


@dataclass(frozen=True)
class GroupedSolution:
    """Where a fit ended, in working coordinates and units."""

    partition: Partition
    labels: NDArray[np.int32]  # (n,)
    ranks: NDArray[np.int32]  # (groups, k): local clusters by order of creation, -1 for none
    centres: Floats  # (k, d)
    terms: GroupedTerms
    trace: Floats  # (steps,): fit and prior terms after each step
    cluster_counts: NDArray[np.int64]  # (steps,)
    local_counts: NDArray[np.int64]  # (steps,)
    status: Status
    n_splits: int
    n_merges: int


class GroupedDescent:
    """One fit.

    Parameters
    ----------
    state : GroupedState
    grouped : GroupedPartition
    opening : array (n,) or (1,)
        What each row pays for a cluster, the local penalty aside.
    order : array (n,)
        Rows as they are visited.
    rng : RandomState
    report : callable
        ``report(step, clusters, changed)`` is called after every step.
    each_sweep : bool
        Whether the next sweep has another order.
    """

    def __init__(
        self,
        state: GroupedState,
        grouped: GroupedPartition,
        opening: Floats,
        order: NDArray[np.intp],
        rng: np.random.RandomState,
        report: Callable[[int, int, int], None] = say_nothing,
        each_sweep: bool = False,
    ) -> None:
        self.state = state
        self.grouped = grouped
        self.opening = opening
        self.order = order
        self.each_sweep = each_sweep
        self.rng = rng
        self.report = report
        self.passes = passes_for(grouped.partition)
        # Moves with local penalties are compiled for squared distances alone.
        compiled = grouped.partition.geometry.distance_costs
        self.move_rows = self.passes.move_rows if compiled else move_rows_by_potentials
        self.points: list[Point] = []
        self.divisions: Divisions | None = None
        self.is_capped = False
        self.exchanges_left = EXCHANGES
        self.n_splits = 0
        self.n_merges = 0

    def run(self, search: str, max_steps: int, is_last: bool = True) -> GroupedSolution:
        """Minimise by the stages of a search, from where the state stands.

        If this is not the last descent of the state, rows stay where the steps have left them;
        else those of an unfinished one go where a prediction puts them.
        """
        stages = [getattr(self, name) for name in STAGES[search]]
        if not alternate(stages, lambda: len(self.points) < max_steps):
            return self._end(Status.OUT_OF_STEPS, is_last)
        return self._end(Status.CAPPED if self.is_capped else Status.CONVERGED, is_last)

    # -- stages: each returns whether it changed the partition -------------------------------------

    def sweep(self) -> bool:
        """Rows choose, local clusters choose, centres follow: Kulis & Jordan's Algorithm 2."""
        if self.each_sweep and self.points:
            self.order = self.rng.permutation(len(self.order))
        swept = self.state.sweep(self.grouped, self.opening, self.order)
        self._note(self.state.refit(), swept.n_changed)
        at_cap = self.state.n_clusters >= self.grouped.partition.max_clusters
        self.is_capped = swept.is_capped and at_cap
        return swept.changing

    def polish(self) -> bool:
        """Rows and whole local clusters move, and groups open and close local clusters."""
        moves = (self._row_moves, self._local_cluster_moves, self._regrouping)
        changes = [self._apply(move()) for move in moves]
        return any(changes)

    def merge(self) -> bool:
        """Pairs of clusters unite where that lowers the objective."""
        return self._apply(propose_merges(self.state, self.grouped))

    def split(self) -> bool:
        """Clusters divide in two where that lowers the objective."""
        base, partition = self.state.base, self.grouped.partition
        self.divisions = divide_clusters(
            base, partition, self.passes.refine, self.rng, self.divisions
        )
        if base.n_clusters >= partition.max_clusters:
            self.is_capped |= bool(self.divisions.are_worth_it(partition.penalty).any())
        return self._apply(propose_splits(self.state, self.grouped, self.divisions))

    def solve_globally(self) -> bool:
        """Whole local clusters move by all moves that partitions have."""
        return self._apply(propose_global_moves(self.state, self.grouped, self._solve))

    def exchange(self) -> bool:
        """Try a split and a merge together, where neither alone lowers the objective."""
        if not self.exchanges_left:
            return False
        self.exchanges_left -= 1
        assert self.divisions is not None  # a stage before this one
        return self._apply(
            propose_exchange(self.state, self.grouped, self._improve, self.divisions, TRIALS)
        )

    # -- parts of stages ---------------------------------------------------------------------------

    def _row_moves(self) -> PartitionProposal | None:
        """Rows move one by one; the last of a group to leave a cluster frees the local penalty."""
        state, partition = self.state, self.grouped.partition
        ids = state.weighted
        if len(ids) * state.n_clusters > SMALL:
            ids = border_rows(state.base, partition, self.passes.border_slack)
            ids = np.union1d(ids, state.lone_rows())[: state.rows.most_taken]
        paid = state.local_penalties(self.grouped.local_penalty, ids)
        return propose_row_moves(state.base, partition, self.move_rows, ids, ROW_MOVE_PASSES, paid)

    def _local_cluster_moves(self) -> PartitionProposal | None:
        return propose_local_cluster_moves(
            self.state, self.grouped, self.move_rows, ROW_MOVE_PASSES
        )

    def _regrouping(self) -> PartitionProposal | None:
        return propose_regrouping(self.state, self.grouped)

    def _solve(self, whole: PartitionState, local: LocalClusters) -> Potential:
        descent = Descent(
            whole, self.grouped.partition, self.passes, local.opening, GIVEN_ORDER, self.rng,
            say_nothing, BUDGET,
        )  # fmt: skip
        descent.run(None, "split-merge", GLOBAL_STEPS)
        return descent.points[-1]

    def _improve(self, trial: GroupedState) -> None:
        """Polish a state of its own."""
        descent = GroupedDescent(trial, self.grouped, self.opening, self.order, self.rng)
        alternate([descent.polish], lambda: len(descent.points) < TRIAL_STEPS)

    def _apply(self, proposal: PartitionProposal | None) -> bool:
        """Do what a move proposes; return whether there was anything to do."""
        if proposal is None:
            return False
        self.state.apply(proposal)
        self.n_splits += proposal.n_splits
        self.n_merges += proposal.n_merges
        self._note(self.state.refit(), len(proposal.ids))
        return True

    def _note(self, point: Point, n_changed: int) -> None:
        self.points.append(point)
        self.report(len(self.points), point.potential.n_clusters, n_changed)

    def _end(self, status: Status, is_last: bool) -> GroupedSolution:
        """Return where the fit stands; if it is the last one, with labels as of a prediction."""
        state, partition = self.state, self.grouped.partition
        centres = state.base.centres()[1]
        terms = terms_of(state.base.fit_term(), partition, centres)
        trace = np.array(
            [
                terms.fit + terms.prior + point.potential.above(self.points[-1].potential)
                for point in self.points
            ]
        )
        counts = np.array([point.potential.n_clusters for point in self.points])
        locals_ = np.array([point.n_local for point in self.points])
        if is_last and (status is Status.OUT_OF_STEPS or len(state.weighted) < state.rows.n_rows):
            everything = status is Status.OUT_OF_STEPS
            centres = state.place_rows(centres, self.grouped.local_penalty, everything)
            fit = state.base.fit_term_at(centres, state.base.numbers())
            terms = terms_of(fit, partition, centres)
            trace[-1:], counts[-1:] = terms.fit + terms.prior, len(centres)
            locals_[-1:] = state.n_local
        return GroupedSolution(
            partition, state.base.numbers(), state.ranks, centres,
            GroupedTerms(terms, state.n_local), np.maximum(trace, 0.0), counts, locals_, status,
            self.n_splits, self.n_merges,
        )  # fmt: skip


class Found(NamedTuple):
    """A solution to begin with."""

    centres: Floats  # (k, d)
    labels: NDArray[np.int32] | None  # (n,); None where each row begins at the cheapest centre


def minimise_grouped(
    state: GroupedState,
    grouped: GroupedPartition,
    opening: Floats,
    mean: Callable[[], Floats],
    starts: Starts,
    rng: np.random.RandomState,
    report: Callable[[int, int, int, int], None],
    found: Found | None = None,
) -> GroupedSolution:
    """Return the solution with the lowest objective.

    ``opening`` (n,) or (1,): what each row pays for a cluster, the local penalty aside; ``mean()``
    returns the mean (d,) of all rows; ``report(start, step, clusters, changed)`` is called after
    every step; ``found``: where the first start begins.
    """
    rows = state.rows
    best: GroupedSolution | None = None
    for start in range(starts.number if starts.random else 1):
        order = VisitOrder.draw(starts.order, rng).rows(rows.n_rows)
        if found is not None and start == 0:
            state.start(*found)
        else:
            openings = grouped.row_openings(opening)
            state.start(
                first_centres(rows, grouped.partition, openings, mean, starts.init, rng)
            )  # fmt: skip
        descent = GroupedDescent(
            state,
            grouped,
            opening,
            order,
            rng,
            lambda step, k, changed, start=start: report(start, step, k, changed),  # type: ignore[misc]
            starts.order == "random-each-sweep",
        )
        solution = descent.run(starts.search, starts.max_steps)
        if best is None or solution.terms.total(grouped) < best.terms.total(grouped):
            best = solution
    assert best is not None  # there is at least one start
    return best


def minimise_without_groups(
    state: GroupedState,
    grouped: GroupedPartition,
    opening: Floats,
    mean: Callable[[], Floats],
    starts: Starts,
    rng: np.random.RandomState,
    report: Callable[[int, int, int, int], None],
) -> GroupedSolution:
    """Return the solution for one group, or without local penalty: groups do not matter.

    It is a partition whose clusters cost both penalties.
    """
    partition = grouped.partition
    both = replace(partition, penalty=partition.penalty + grouped.local_penalty)
    openings = grouped.row_openings(opening)
    solution = minimise(state.base, both, openings, mean, starts, rng, report)
    return grouped_solution(state, partition, solution)


def grouped_solution(
    state: GroupedState, partition: Partition, solution: Solution
) -> GroupedSolution:
    """Return a solution for which groups do not matter. IN/OUT state: begins there."""
    state.start(solution.centres, solution.labels)
    # Of one group there are as many local clusters as clusters, of several they cost nothing.
    return GroupedSolution(
        partition, solution.labels, state.ranks, solution.centres,
        GroupedTerms(solution.terms, state.n_local), solution.trace, solution.cluster_counts,
        solution.cluster_counts, solution.status, solution.n_splits, solution.n_merges,
    )  # fmt: skip


STEP = 1.2  # from one penalty to the next
MIN_PENALTY = 1e-6  # penalty to begin with, over the largest cost of a union
MAX_STEPS = 3  # of each descent: the next one goes on from where it ends


def rising_path(
    state: GroupedState,
    free: GroupedPartition,
    ratio: float,
    start: Floats,
    rng: np.random.RandomState,
) -> Iterator[tuple[GroupedPartition, GroupedSolution]]:
    """Yield solutions from centres ``start`` (k, d) to one cluster, each from the one before.

    The local penalty is ``ratio`` times the global one. ``free``: the problem without penalties.
    """
    state.start(start)
    state.refit()
    order = np.arange(state.rows.n_rows)
    partition = replace(free.partition, max_clusters=state.n_clusters)
    # The first penalty is one at which few clusters go. With a prior, unions may cost less than
    # nothing.
    costs = nearest_partners(partition, *state.base.centres())[1]
    if not len(costs):
        costs = np.ones(1)
    penalty = max(float(np.quantile(costs, 0.25)) / 2, MIN_PENALTY * float(np.abs(costs).max()))
    while True:
        grouped = GroupedPartition(replace(partition, penalty=penalty), ratio * penalty)
        # No cluster opens on the way: what rows would pay for one does not matter.
        descent = GroupedDescent(state, grouped, np.array([np.inf]), order, rng)
        yield grouped, descent.run("merge", MAX_STEPS, is_last=False)
        if state.n_clusters == 1:
            return
        penalty *= STEP
