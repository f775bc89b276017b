"""The loop for overlapping features: decide for each row, refit, and move whole features at rest.

A sibling of `engine.loop`, not a case of it: there a row has one centre and centres are means, so
that labels, bounds and totals can be carried from sweep to sweep; here a row has a set of features,
components come from one least-squares problem, and a sweep is one pass that leaves its sums. What
both share, the status of a fit, its trace and the pool of threads, is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from hardbayes.engine.status import Status
from hardbayes.structure.feature_allocation import independent_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.allocation_results import Sums
    from hardbayes.executors.allocator import Allocator
    from hardbayes.geometry.base import Floats
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


def alternate(
    rows: Allocator,
    structure: FeatureAllocation,
    start: Allocation,
    step: Stepping,
    moves: list[Callable[[Allocator, AtRest], Allocation | None]],
    max_sweeps: int,
) -> AllocationSolution:
    """Minimise from a start: Broderick, Kulis & Jordan 2013, sections 3 and 4.

    ``step`` lets rows decide and components follow. When nothing changes any more, each of
    ``moves`` in turn may change whole features; the first that does sends the loop on.
    """
    allocation = Allocation(start.components.copy(), start.membership.copy())
    is_refitted = False
    rest: AtRest | None = None
    untried = iter(moves)
    trace: list[Point] = []
    while len(trace) < max_sweeps:
        stepped = step(rows, allocation, is_refitted, max_sweeps - len(trace))
        # Rounding can make a move look better than it is; then the next one has its turn.
        if rest is None or structure.total(*stepped.points[0]) < structure.total(*trace[-1]):
            allocation, is_refitted, rest = stepped.allocation, True, None
            trace += stepped.points
            if not stepped.at_rest:
                continue
            rest = AtRest(allocation, stepped.sums, np.linalg.inv(stepped.sums.gram))
            untried = iter(moves)
        moved = next((new for move in untried if (new := move(rows, rest)) is not None), None)
        if moved is None:
            return AllocationSolution(rest.allocation, trace, Status.CONVERGED, rest.sums.gram)
        allocation = refitted(rows, moved)
    if rest is not None:
        allocation = rest.allocation
    # Memberships that agree with the components, as `transform` would give them.
    sums = rows.sweep(*allocation)
    kept = np.diagonal(sums.gram) > 0
    allocation = allocation.keep(kept)
    trace[-1] = Point(sums.fit, len(allocation.components))
    return AllocationSolution(allocation, trace, Status.OUT_OF_STEPS, sums.gram[np.ix_(kept, kept)])


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
