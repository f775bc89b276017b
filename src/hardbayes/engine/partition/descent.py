"""A fit of a partition: the stages of each search, which `engine.loop` goes through."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.loop import alternate
from hardbayes.engine.objective import Point, Terms, measure
from hardbayes.engine.status import Status
from hardbayes.matrices import inverse_permutation
from hardbayes.moves.partition.births import open_clusters
from hardbayes.moves.partition.exchanges import exchange_clusters
from hardbayes.moves.partition.merges import merge_clusters
from hardbayes.moves.partition.single_rows import relocate_rows
from hardbayes.moves.partition.splits import divide_clusters, split_clusters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.splits import Divisions
    from hardbayes.structure.partition import Partition

#: The stages of each search, as methods of `Descent`.
STAGES = {
    "paper": ("sweep",),
    "split-merge": ("sweep", "merge", "split", "sweep_to_rest", "settle", "exchange"),
    "collapsed": ("collapse", "sweep"),
}

# Rows move one by one at most so often before all of them choose again.
SETTLING_PASSES = 8
# Costs of rows at centres up to which every round of moves ends with such passes.
SMALL = 1 << 17
# After a round of moves rows need not all be settled before the next: so large a part may still
# change cluster.
UNSETTLED = 0.01


@dataclass(frozen=True)
class Effort:
    """How much a fit may spend on moves."""

    rounds: int  # of exchanges at most, for each lowers the objective less
    trials: int  # in each of them
    priced_rows: int  # that may move alone at a time, where they are priced in NumPy


THOROUGH = Effort(rounds=30, trials=8, priced_rows=sys.maxsize)


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

    def total(self, penalty: float) -> float:
        """Return the objective at this penalty, in working units."""
        return self.terms.fit + self.terms.prior + penalty * self.terms.n_clusters

    def at_its_end(self) -> Solution:
        """Return the solution without its way there, which belongs to another penalty."""
        return replace(self, trace=self.trace[-1:], cluster_counts=self.cluster_counts[-1:])


class Descent:
    """One fit on its way down.

    Parameters
    ----------
    executor : MemoryExecutor
    partition : Partition
    prices : array (n,) or (1,)
        What it costs each row to open a cluster.
    visits : array (n,)
        Each row's place in the visiting order.
    rng : RandomState
    report : callable
        ``report(step, clusters, changed)`` is called after every step.
    effort : Effort
    divisions : Divisions or None
        Known from a fit before, of clusters that may still be as they were.
    """

    def __init__(
        self,
        executor: MemoryExecutor,
        partition: Partition,
        prices: Floats,
        visits: NDArray[np.signedinteger],
        rng: np.random.RandomState,
        report: Callable[[int, int, int], None],
        effort: Effort = THOROUGH,
        divisions: Divisions | None = None,
    ) -> None:
        self.executor = executor
        self.partition = partition
        self.prices = prices
        self.visits = visits
        self.rng = rng
        self.report = report
        self.points: list[Point] = []
        self.wants_more = False  # there would be more clusters, were it not for the cap
        self.n_splits = 0
        self.n_merges = 0
        self.effort = effort
        self.exchanges_left = effort.rounds
        self.divisions = divisions
        self.max_steps = sys.maxsize
        self.halfway = 0  # after so many steps sweeps no longer keep other stages waiting
        self.patience = 0  # so many rows may change in a sweep, and it counts as none
        self.at_rest = True  # none did in the last
        self.births_expected = True  # in the next sweep, for the last one had some

    def run(self, start: Floats | None, search: str, max_steps: int) -> Solution:
        """Minimise by the stages of a search.

        From the centres ``start`` (k, d), or from where the last fit on these rows ended.
        """
        if start is not None:
            self.executor.start(start)
        self.max_steps = max_steps
        if search == "split-merge":
            self.halfway = max_steps // 2
        stages = [getattr(self, name) for name in STAGES[search]]
        if not alternate(stages, lambda: len(self.points) < max_steps):
            return self._end(Status.OUT_OF_STEPS)
        return self._end(Status.CAPPED if self.wants_more else Status.CONVERGED)

    # -- stages: each returns whether it changed the partition ------------------------------------

    def sweep(self) -> bool:
        """Every row goes to its cheapest centre, or opens a cluster: Kulis & Jordan's Algorithm 1.

        Old centres stay where they are until all rows have chosen.
        """
        executor, partition = self.executor, self.partition
        if self._is_few():
            return self._sweep_on()
        # Births after rows are counted take the room of one labelling more.
        n_dear = executor.assign(self.prices, counting=not self.births_expected)
        n_born = open_clusters(executor, partition, self.prices, self.visits) if n_dear else 0
        self.births_expected = n_born > 0
        n_changed = executor.collect()
        changes = n_changed > 0 and not (n_born and self._as_many() and executor.same_partition())
        executor.commit()
        self._refit(n_changed)
        self.wants_more = n_dear > n_born and executor.n_clusters >= partition.max_clusters
        return self._swept(changes, n_changed)

    def collapse(self) -> bool:
        """Every row in turn moves to where the objective is lowest: collapsed DP-means."""
        executor = self.executor
        if not self.points:
            executor.assign(np.array([np.inf]))
            executor.recount()
            self._close_empty()
        order = inverse_permutation(self.visits).astype(np.intp)
        n_moves = relocate_rows(executor, self.partition, order)
        self._take_over()
        return n_moves > 0

    def settle(self) -> bool:
        """Rows at the border of their cluster move one by one where that lowers the objective."""
        return self._settle_rows() > 0 and self._after_moves()

    def sweep_to_rest(self) -> bool:
        """Sweeps go on to their end, where those before the last moves did not."""
        self.patience = 0
        return not self.at_rest

    def merge(self) -> bool:
        """Pairs of clusters unite where that lowers the objective."""
        n_merges = merge_clusters(self.executor, self.partition)
        self.n_merges += n_merges
        return n_merges > 0 and self._after_moves()

    def split(self) -> bool:
        """Clusters divide in two where that lowers the objective."""
        self.divisions = divide_clusters(self.executor, self.partition, self.rng, self.divisions)
        if self.executor.n_clusters >= self.partition.max_clusters:
            self.wants_more |= bool(self.divisions.pay(self.partition.penalty).any())
        n_splits = split_clusters(self.executor, self.partition, self.divisions)
        self.n_splits += n_splits
        return n_splits > 0 and self._after_moves()

    def exchange(self) -> bool:
        """Try splits and merges together, where neither alone lowers the objective."""
        if not self.exchanges_left:
            return False
        self.exchanges_left -= 1
        assert self.divisions is not None  # a stage before this one
        n_splits, n_merges = exchange_clusters(
            self.executor, self.partition, self.divisions, self.effort.trials
        )
        self.n_splits += n_splits
        self.n_merges += n_merges
        return n_splits + n_merges > 0 and self._after_moves()

    # -- sweeps -----------------------------------------------------------------------------------

    def _swept(self, changes: bool, n_changed: int) -> bool:
        """Note whether rows are at rest; return whether sweeps should go on before other stages."""
        self.at_rest = not changes
        return changes and n_changed > self.patience and len(self.points) != self.halfway

    def _is_few(self) -> bool:
        """Whether the interpreter would take longer than the rows."""
        partition = self.partition
        plain = partition.geometry.squared_distance and not partition.prior_weight
        return plain and self.executor.is_few()

    def _sweep_on(self) -> bool:
        """Sweeps one after the other in one call, until few rows change."""
        n_done = len(self.points)
        limit = self.halfway if n_done < self.halfway else self.max_steps
        n_clusters = self.points[-1].n_clusters if self.points else None
        swept = self.executor.sweep_on(
            self.partition.penalty, self.partition.max_clusters, self.visits, n_clusters,
            self.patience, limit - n_done,
        )  # fmt: skip
        for k, potential, n_changed in zip(*swept[:3], strict=True):
            self._note(Point(k, *potential), n_changed)
        self.wants_more = swept.refused
        return self._swept(swept.changing, int(swept.n_changed[-1]))

    # -- between stages ---------------------------------------------------------------------------

    def _after_moves(self) -> bool:
        """Take over what moves did; on small data rows settle at once, which spares sweeps."""
        executor = self.executor
        n_costs = executor.n_rows * executor.n_clusters
        if self.partition.geometry.squared_distance and n_costs < SMALL:
            executor.recount()
            self._close_empty()
            everyone = np.arange(executor.n_rows)
            relocate_rows(executor, self.partition, everyone, SETTLING_PASSES)
        self._take_over()
        self.patience = int(UNSETTLED * executor.n_rows)
        return True

    def _take_over(self) -> None:
        """Refit after labels were changed by moves, of which the bounds know nothing."""
        self.executor.forget_bounds()
        self._refit(self.executor.recount())

    def _settle_rows(self) -> int:
        executor, eta = self.executor, self.partition.prior_weight
        if self._is_few():
            return relocate_rows(
                executor, self.partition, np.arange(executor.n_rows), SETTLING_PASSES
            )
        executor.forget_bounds()
        executor.assign(self.prices)  # for bounds as tight as they can be
        executor.forget_dear()
        executor.restore()  # a row that is alone, and opens its cluster in every sweep, had left it
        ids = executor.restless(executor.weights_of_clusters() + eta, eta)
        if not self.partition.geometry.squared_distance:
            ids = ids[: self.effort.priced_rows]
        return relocate_rows(executor, self.partition, ids, SETTLING_PASSES) if len(ids) else 0

    def _as_many(self) -> bool:
        """Whether there are as many clusters as after the last step."""
        n_clusters = np.count_nonzero(self.executor.weights_of_clusters())
        return bool(self.points) and n_clusters == self.points[-1].n_clusters

    def _close_empty(self) -> None:
        """Close clusters without weight."""
        weights = self.executor.weights_of_clusters()
        if not weights.all():
            self.executor.close(weights == 0)

    def _refit(self, n_changed: int) -> None:
        """Close empty clusters, move the centres to the means, note the objective."""
        self._close_empty()
        value = self.executor.refit(self.partition)
        self._note(Point(self.executor.n_clusters, *value), n_changed)

    def _note(self, point: Point, n_changed: int) -> None:
        self.points.append(point)
        self.report(len(self.points), point.n_clusters, n_changed)

    def _end(self, status: Status) -> Solution:
        """Return where the fit stands."""
        executor, partition = self.executor, self.partition
        executor.forget_bounds()
        centres = partition.centres(*executor.totals())
        terms = measure(executor, partition, centres)
        trace = np.array(
            [terms.fit + terms.prior + point.above(self.points[-1]) for point in self.points]
        )
        counts = np.array([point.n_clusters for point in self.points])
        if status is Status.OUT_OF_STEPS or executor.cluster_numbers().min() < 0:
            # Labels that agree with the centres, as predict would give them; nobody misses a centre
            # nobody chose.
            executor.assign(np.array([np.inf]), last=True)
            chosen = np.bincount(executor.cluster_numbers(), minlength=len(centres)) > 0
            executor.close(~chosen)
            executor.recount()
            centres = centres[chosen]
            terms = measure(executor, partition, centres)
            trace[-1], counts[-1] = terms.fit + terms.prior, len(centres)
        return Solution(
            executor.cluster_numbers(), centres, terms, np.maximum(trace, 0.0), counts, status,
            self.n_splits, self.n_merges,
        )  # fmt: skip
