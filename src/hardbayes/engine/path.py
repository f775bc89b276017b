"""Solutions from one cluster to many: the penalty falls, and each fit goes on from the last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.loop import Descent, Solution, alternate
from hardbayes.engine.problem import opening_prices
from hardbayes.engine.restarts import visiting_order
from hardbayes.moves.merges import nearest_partners
from hardbayes.moves.splits import divide_clusters

if TYPE_CHECKING:
    from hardbayes.engine.problem import Problem
    from hardbayes.geometry.base import Floats
    from hardbayes.moves.splits import Divisions
    from hardbayes.structure.partition import Partition

# Rounds of exchanges and trials in each: few, for the fits before and after have theirs.
EXCHANGES = (6, 12)
# Stands for an infinite penalty, and leaves room to add to it.
PROHIBITIVE = np.finfo(np.float64).max / 4


class Path:
    """A walk through solutions of one problem at falling penalties; all in working units.

    Parameters
    ----------
    problem : Problem
    partition : Partition
        With any penalty.
    search, order : str
    max_steps : int
        Of each fit.
    rng : RandomState
    """

    def __init__(
        self,
        problem: Problem,
        partition: Partition,
        search: str,
        order: str,
        max_steps: int,
        rng: np.random.RandomState,
    ) -> None:
        self.problem = problem
        self.partition = partition
        self.search = search
        self.max_steps = max_steps
        self.rng = rng
        self.visits = visiting_order(problem.executor.n_rows, order, rng)
        self.solutions: list[Solution] = []
        self._points: list[tuple[int, float, float]] = []
        #: Below this penalty the last solution is known to change.
        self.next_change = np.inf
        #: Down to this penalty nothing changes any more; None where the path just ended.
        self.floor: float | None = None
        self._divisions: Divisions | None = None
        self._solve(PROHIBITIVE, problem.mean[np.newaxis], 1)
        #: Above this penalty one cluster is best.
        self.first_change = self.next_change

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the last solution."""
        return self.solutions[-1].terms.n_clusters

    @property
    def points(self) -> list[tuple[int, float]]:
        """Number of clusters and objective without penalties of all that is known to be possible.

        Besides the solutions, each with its cheapest pair of clusters united.
        """
        united = [(k - 1, fit + cost) for k, fit, cost in self._points if k > 1]
        return [(k, fit) for k, fit, _ in self._points] + united

    def go_down_to(self, penalty: float, max_clusters: int) -> None:
        """Solve at this penalty with at most so many clusters, beginning with the last solution."""
        self._solve(penalty, None, max_clusters)

    def best_at(self, penalty: float) -> Solution:
        """Return the best of all solutions at this penalty.

        The larger the penalty, the fewer clusters it has: a minimum over the same few solutions.
        """
        return min(self.solutions, key=lambda s: (s.total(penalty), s.terms.n_clusters))

    def _solve(self, penalty: float, start: Floats | None, max_clusters: int) -> None:
        executor = self.problem.executor
        partition = replace(self.partition, penalty=penalty, max_clusters=max_clusters)
        prices = opening_prices(executor, partition)
        descent = Descent(executor, partition, prices, self.visits, self.rng, _say_nothing)
        descent.divisions = self._divisions  # of clusters that are still as they were
        descent.rounds, descent.trials = EXCHANGES
        self.solutions.append(alternate(descent, start, self.search, self.max_steps))
        self._note()
        if self.search == "split-merge":
            self._divisions = divide_clusters(executor, partition, self.rng, descent.divisions)
            self.next_change = float(self._divisions.saved.max())
        else:
            self.next_change = float((executor.weights * executor.costs()).max())

    def _note(self) -> None:
        terms = self.solutions[-1].terms
        weights, totals = self.problem.executor.totals()
        cheapest = np.inf
        if len(weights) > 1:
            centres = self.partition.centres(weights, totals)
            cheapest = float(nearest_partners(self.partition, weights, centres)[1].min())
        self._points.append((terms.n_clusters, terms.fit + terms.prior, cheapest))


def _say_nothing(step: int, n_clusters: int, n_changed: int) -> None:
    pass
