"""A fit of overlapping features: sweeps until rows are at rest, then moves of whole features.

A row has a set of features, components come from one least-squares problem, and a sweep is one pass
that leaves its sums: unlike for a partition, nothing but the memberships is carried on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from hardbayes.engine.loop import alternate
from hardbayes.engine.status import Status
from hardbayes.structure.feature_allocation import independent_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hardbayes.executors.features.memory import Allocator
    from hardbayes.executors.features.results import Sums
    from hardbayes.matrices import Floats
    from hardbayes.structure.feature_allocation import FeatureAllocation


class Allocation(NamedTuple):
    """Components (k, d) and which rows (n, k) have them."""

    components: Floats
    membership: NDArray[np.uint8]

    def keep(self, kept: NDArray[np.bool_]) -> Allocation:
        """Return the allocation without some features."""
        return Allocation(self.components[kept], np.ascontiguousarray(self.membership[:, kept]))


class Point(NamedTuple):
    """The objective's parts after one sweep."""

    fit: float
    n_components: int


class Step(NamedTuple):
    """One sweep or several, each with its refit."""

    allocation: Allocation
    points: list[Point]  # after each sweep
    sums: Sums  # of the last sweep
    at_rest: bool  # the last sweep changed nothing, with components at least squares


class AtRest(NamedTuple):
    """An allocation that no row wants to leave, its components at least squares."""

    allocation: Allocation
    sums: Sums
    inverse: Floats  # (k, k): of Z'WZ


class Stepping(Protocol):
    """How rows decide; the third argument says whether components are at least squares."""

    def __call__(
        self, rows: Allocator, allocation: Allocation, is_refitted: bool, max_sweeps: int
    ) -> Step:
        """Sweep and refit, at least once."""


class Move(Protocol):
    """How whole features change."""

    def __call__(self, rows: Allocator, rest: AtRest) -> Allocation | None:
        """Return a better allocation, its components not yet refitted; None if none is known."""


@dataclass(frozen=True)
class AllocationSolution:
    """Where a start ended, in working coordinates and units."""

    allocation: Allocation
    trace: list[Point]
    status: Status
    gram: Floats  # (k, k): Z'WZ

    @property
    def fit(self) -> float:
        """The fit term."""
        return self.trace[-1].fit

    @property
    def n_components(self) -> int:
        """Number of features."""
        return len(self.allocation.components)


class AllocationDescent:
    """One start on its way down: Broderick, Kulis & Jordan 2013, sections 3 and 4.

    Parameters
    ----------
    rows : Allocator
    structure : FeatureAllocation
    step : Stepping
        Lets rows decide and components follow.
    moves : list of callable
        Each may change whole features of an allocation at rest, or return None.
    """

    def __init__(
        self,
        rows: Allocator,
        structure: FeatureAllocation,
        step: Stepping,
        moves: Sequence[Move] = (),
    ) -> None:
        self.rows = rows
        self.structure = structure
        self.step = step
        self.moves = moves
        self.trace: list[Point] = []
        self.rest: AtRest | None = None

    def run(self, start: Allocation, max_sweeps: int) -> AllocationSolution:
        """Minimise from a start."""
        self.allocation = Allocation(start.components.copy(), start.membership.copy())
        self.max_sweeps = max_sweeps
        stages: list[Callable[[], bool]] = [
            self._sweep,
            *(partial(self._try, move) for move in self.moves),
        ]
        if alternate(stages, lambda: self.rest is not None or len(self.trace) < max_sweeps):
            assert self.rest is not None  # or the first stage would have gone on
            return self._solution(Status.CONVERGED, self.rest.sums.gram)
        # Memberships that agree with the components, as `transform` would give them.
        sums = self.rows.sweep(*self.allocation)
        kept = np.diagonal(sums.gram) > 0
        self.allocation = self.allocation.keep(kept)
        self.trace[-1] = Point(sums.fit, len(self.allocation.components))
        return self._solution(Status.OUT_OF_STEPS, sums.gram[np.ix_(kept, kept)])

    # -- stages: each returns whether it changed the allocation ------------------------------------

    def _sweep(self) -> bool:
        """Rows decide and components follow, until they are at rest."""
        if self.rest is None:
            self._take(self._stepped(self.allocation))
        return self.rest is None

    def _try(self, move: Move) -> bool:
        """Move whole features, and sweep."""
        assert self.rest is not None  # the stage before this one
        moved = move(self.rows, self.rest)
        if moved is None:
            return False
        if len(self.trace) >= self.max_sweeps:
            self.rest = None  # not to be left, for want of sweeps, but not the end either
            return True
        stepped = self._stepped(refitted(self.rows, moved))
        # Rounding can make a move look better than it is.
        total = self.structure.total
        if not total(*stepped.points[0]) < total(*self.trace[-1]):
            return False
        self._take(stepped)
        return True

    def _stepped(self, allocation: Allocation) -> Step:
        is_refitted = bool(self.trace)
        return self.step(self.rows, allocation, is_refitted, self.max_sweeps - len(self.trace))

    def _take(self, stepped: Step) -> None:
        self.allocation = stepped.allocation
        self.trace += stepped.points
        self.rest = None
        if stepped.at_rest:
            inverse = np.linalg.inv(stepped.sums.gram)
            self.rest = AtRest(self.allocation, stepped.sums, inverse)

    def _solution(self, status: Status, gram: Floats) -> AllocationSolution:
        return AllocationSolution(self.allocation, self.trace, status, gram)


def refitted(rows: Allocator, allocation: Allocation) -> Allocation:
    """Return the allocation at least squares, without features that buy nothing."""
    sums = rows.collect(*allocation)
    if rows.refit(allocation.components, sums):
        return allocation
    return without_dependent(allocation, sums)


def without_dependent(allocation: Allocation, sums: Sums) -> Allocation:
    """Return the allocation at least squares without the columns that depend on others.

    They buy nothing: the others fit the rows as well, and less is paid.
    """
    kept = independent_columns(sums.gram)
    target = sums.correction[kept] + sums.gram[kept] @ allocation.components
    smaller = allocation.keep(kept)
    components = np.linalg.solve(sums.gram[np.ix_(kept, kept)], target)
    return Allocation(components, smaller.membership)
