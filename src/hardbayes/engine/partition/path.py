"""Solutions of one problem from one cluster to many, and which of them is best at a penalty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.partition.descent import THOROUGH, Descent, Effort, Solution
from hardbayes.engine.status import say_nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.engine.partition.passes import Passes
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.splits import Divisions
    from hardbayes.moves.partition.state import PartitionState
    from hardbayes.structure.partition import Partition

RANGE = np.exp(-16.0)  # of penalties, from the one that first gives two clusters


class Path(ABC):
    """What all paths have; all in working units.

    Parameters
    ----------
    state : PartitionState
    partition : Partition
        With any penalty.
    passes : Passes
    opening_costs : callable
        Returns what rows (n,) or (1,) pay to open a cluster of a partition.
    mean : array (d,)
        Of all rows.
    visit_rank : array (n,)
    max_steps : int
        Of each fit.
    rng : RandomState
    unit : float
        A penalty of one in the user's units.
    """

    def __init__(
        self,
        state: PartitionState,
        partition: Partition,
        passes: Passes,
        opening_costs: Callable[[Partition], Floats],
        mean: Floats,
        visit_rank: NDArray[np.signedinteger],
        max_steps: int,
        rng: np.random.RandomState,
        unit: float,
    ) -> None:
        self.unit = unit
        self.state = state
        self.partition = partition
        self.passes = passes
        self.opening_costs = opening_costs
        self.mean = mean
        self.visit_rank = visit_rank
        self.max_steps = max_steps
        self.rng = rng
        self.solutions: list[Solution] = []
        #: With a prior: number of clusters and fit term of what is known to be possible without it,
        #: where clusters are at their means.
        self.fits: list[tuple[int, float]] = []
        #: Down to this penalty nothing changes any more; None where the path just ended.
        self.floor: float | None = None
        #: The largest number of clusters that the path was traced for.
        self.most: float = np.inf
        #: The smallest penalty so far.
        self.lowest: float = np.inf

    @property
    @abstractmethod
    def n_clusters(self) -> int:
        """The largest number of clusters so far."""

    @property
    @abstractmethod
    def next_change(self) -> float:
        """Below this penalty the solutions so far are suboptimal."""

    @abstractmethod
    def trace(self, n_clusters: int, cap: int | None = None, thorough: bool = False) -> None:
        """Go on until there are so many clusters, or nothing is gained.

        No number of clusters is left out while there are few, nor is ``cap``. ``thorough``: takes
        twice as long for solutions that are a little better.
        """

    @property
    def points(self) -> list[tuple[int, float]]:
        """Number of clusters and objective without penalties of all that is known to be possible.

        One cluster comes first.
        """
        return [(s.terms.n_clusters, s.cost) for s in self.solutions]

    def labels_with(self, n_clusters: int) -> NDArray[np.int32] | None:
        """Return the labels (n,), 0 to k - 1, of the best solution with exactly k clusters.

        None where the path has no such solution.
        """
        found = [s for s in self.solutions if s.terms.n_clusters == n_clusters]
        return min(found, key=lambda s: s.cost).labels if found else None

    @property
    def partitions(self) -> dict[int, NDArray[np.int32]]:
        """For each number of clusters that came up, labels (n,) of the best partition: any."""
        ranked = sorted(self.solutions, key=lambda s: s.cost, reverse=True)
        return {s.terms.n_clusters: s.labels for s in ranked}

    @property
    def first_penalty(self) -> float:
        """Above this penalty one cluster is best of all that is known; one where it always is."""
        fit = self.points[0][1]
        gains = [(fit - other) / (k - 1) for k, other in self.points if k > 1 and other < fit]
        return max(gains, default=self.next_change or self.unit)

    def best_at(self, penalty: float, max_clusters: int | None = None) -> Solution:
        """Return the best of all solutions at this penalty, with at most so many clusters.

        The larger the penalty, the fewer clusters it has: a minimum over the same few solutions.
        """
        allowed = [s for s in self.solutions if s.terms.n_clusters <= (max_clusters or np.inf)]
        return self._best(penalty, allowed)

    def _best(self, penalty: float, solutions: list[Solution]) -> Solution:
        partition = replace(self.partition, penalty=penalty)
        return min(solutions, key=lambda s: (s.total(partition), s.terms.n_clusters))

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
        self.lowest = min(self.lowest, penalty)
        partition = replace(self.partition, penalty=penalty, max_clusters=max_clusters)
        descent = Descent(
            self.state, partition, self.passes, self.opening_costs(partition), self.visit_rank,
            self.rng, say_nothing, effort, divisions,
        )  # fmt: skip
        self.solutions.append(descent.run(start, "split-merge", self.max_steps))
        return descent
