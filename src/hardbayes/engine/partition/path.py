"""Solutions of one problem from one cluster to many, and which of them is best at a penalty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.partition.descent import THOROUGH, Descent, Effort, Solution
from hardbayes.engine.partition.restarts import draw_visits
from hardbayes.engine.status import say_nothing
from hardbayes.problems.partition import opening_prices

if TYPE_CHECKING:
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.splits import Divisions
    from hardbayes.problems.partition import Problem
    from hardbayes.structure.partition import Partition

RANGE = np.exp(-16.0)  # of penalties, from the one that first gives two clusters


class Path(ABC):
    """What all paths have; all in working units.

    Parameters
    ----------
    problem : Problem
    partition : Partition
        With any penalty.
    order : str
    max_steps : int
        Of each fit.
    rng : RandomState
    """

    def __init__(
        self,
        problem: Problem,
        partition: Partition,
        order: str,
        max_steps: int,
        rng: np.random.RandomState,
    ) -> None:
        self.problem = problem
        self.partition = partition
        self.max_steps = max_steps
        self.rng = rng
        self.visits = draw_visits(problem.executor.n_rows, order, rng)
        self.solutions: list[Solution] = []
        #: With a prior: number of clusters and fit term of what is known to be possible without it,
        #: where clusters are at their means.
        self.fits: list[tuple[int, float]] = []
        #: Down to this penalty nothing changes any more; None where the path just ended.
        self.floor: float | None = None
        #: So many clusters at most were asked for: of more a path knows little.
        self.most: float = np.inf
        #: The smallest penalty so far.
        self.lowest: float = np.inf

    @property
    @abstractmethod
    def n_clusters(self) -> int:
        """How far the path has come."""

    @property
    @abstractmethod
    def next_change(self) -> float:
        """Below this penalty what there is is known not to be best."""

    @abstractmethod
    def trace(self, n_clusters: int, cap: int | None = None, thorough: bool = False) -> None:
        """Go on until there are so many clusters, or nothing is left to gain.

        No number of clusters is missed while there are few, nor is ``cap``. ``thorough``: takes
        twice as long for solutions that are a little better.
        """

    @property
    def points(self) -> list[tuple[int, float]]:
        """Number of clusters and objective without penalties of all that is known to be possible.

        One cluster comes first.
        """
        return [(s.terms.n_clusters, s.total(0.0)) for s in self.solutions]

    @property
    def first_penalty(self) -> float:
        """Above this penalty one cluster is best of all that is known; one where it always is."""
        fit = self.points[0][1]
        gains = [(fit - other) / (k - 1) for k, other in self.points if k > 1 and other < fit]
        return max(gains, default=self.next_change or self.problem.unit)

    def best_at(self, penalty: float, max_clusters: int | None = None) -> Solution:
        """Return the best of all solutions at this penalty, with at most so many clusters.

        The larger the penalty, the fewer clusters it has: a minimum over the same few solutions.
        """
        allowed = [s for s in self.solutions if s.terms.n_clusters <= (max_clusters or np.inf)]
        return min(allowed, key=lambda s: (s.total(penalty), s.terms.n_clusters))

    def jump_to(self, penalty: float) -> None:
        """Solve at a penalty far below, beginning with the solution that fits best."""
        self.solve(penalty, self.best_at(0.0).centres, self.partition.max_clusters, THOROUGH)

    def solve(
        self,
        penalty: float,
        start: Floats | None,
        max_clusters: int,
        effort: Effort,
        divisions: Divisions | None = None,
    ) -> Descent:
        """Solve at a penalty, from centres (k, d) or where the last fit ended; add the solution."""
        executor = self.problem.executor
        self.lowest = min(self.lowest, penalty)
        partition = replace(self.partition, penalty=penalty, max_clusters=max_clusters)
        prices = opening_prices(executor, partition)
        descent = Descent(
            executor, partition, prices, self.visits, self.rng, say_nothing, effort, divisions
        )
        self.solutions.append(descent.run(start, "split-merge", self.max_steps))
        return descent
