"""One fit of overlapping features: how it sweeps, which moves it tries, how hard it searches.

Sweeps until no row changes, then moves on whole features. A row has a set of features, components
come from one least-squares problem, and a sweep is one pass that returns its sums: unlike for a
partition, only the allocation is kept from sweep to sweep. There are three ways to sweep and refit:
as published, with components integrated out, and by local search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from hardbayes.core.arrays import Floats
from hardbayes.core.loop import Status, alternate
from hardbayes.features.moves import (
    RELATIVE_TOLERANCE,
    LocalOptimum,
    Move,
    Proposal,
    close_at_rows,
    combine_features,
    drop_dependent,
    drop_feature,
    open_at_rows,
    open_feature,
    refit_components,
    run_collapsed_sweep,
    sweep_collapsed,
)
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation, FeatureRows, Sums

# Sweeps and refits, at least once, in place; of the allocation, whether components are at least
# squares, and the largest number of sweeps.
Stepping = Callable[[FeatureRows, FeatureAllocation, Allocation, bool, int], "Step"]


class Point(NamedTuple):
    """The objective's parts after one sweep."""

    fit: float
    n_components: int


class Step(NamedTuple):
    """The result of one sweep or several, each with its refit."""

    allocation: Allocation
    points: list[Point]  # after each sweep
    sums: Sums  # of the last sweep
    converged: bool  # the last sweep changed nothing, with components at least squares


@dataclass(frozen=True)
class FeatureSolution:
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


class FeatureDescent:
    """One start on its way down: Broderick, Kulis & Jordan 2013, sections 3 and 4.

    Parameters
    ----------
    rows : FeatureRows
    structure : FeatureAllocation
    step : Stepping
    moves : list of Move
        Tried in turn where a step has converged.
    rng : RandomState
        For the moves.
    """

    def __init__(
        self,
        rows: FeatureRows,
        structure: FeatureAllocation,
        step: Stepping,
        moves: Sequence[Move],
        rng: np.random.RandomState,
    ) -> None:
        self.rows = rows
        self.structure = structure
        self.step = step
        self.moves = moves
        self.rng = rng

    def run(self, start: Allocation, max_sweeps: int) -> FeatureSolution:
        """Minimise from a start."""
        self.allocation = start.copy()
        self.max_sweeps = max_sweeps
        self.trace: list[Point] = []
        self.optimum: LocalOptimum | None = None
        stages: list[Callable[[], bool]] = [
            self._sweep,
            *(partial(self._try, move) for move in self.moves),
        ]
        if alternate(stages, lambda: self.optimum is not None or len(self.trace) < max_sweeps):
            assert self.optimum is not None  # or the first stage would have gone on
            return self._solution(Status.CONVERGED, self.optimum.sums.gram)
        # Memberships that agree with the components, as `transform` would give them.
        sums = self.rows.sweep(self.allocation)
        kept = np.diagonal(sums.gram) > 0
        self.allocation = self.allocation.keep(kept)
        self.trace[-1] = Point(sums.fit, len(self.allocation.components))
        return self._solution(Status.OUT_OF_STEPS, sums.gram[np.ix_(kept, kept)])

    # -- stages: each returns whether sweeps should go on -----------------------------------------

    def _sweep(self) -> bool:
        """Sweep and refit, until that has converged."""
        if self.optimum is None:
            self._record(self._step_from(self.allocation))
        return self.optimum is None

    def _try(self, move: Move) -> bool:
        """Apply what a move proposes."""
        assert self.optimum is not None  # by the stage before
        proposal = move(self.rows, self.structure, self.optimum, self.rng)
        return proposal is not None and self.apply(proposal)

    def apply(self, proposal: Proposal) -> bool:
        """Refit and sweep from a proposal; if the objective does not fall, change nothing.

        Rounding can make a proposal seem better than it is. Returns whether sweeps should go on.
        """
        if len(self.trace) >= self.max_sweeps:
            self.optimum = None  # no sweep is left for the proposal: the fit has not converged
            return True
        step = self._step_from(refit_components(self.rows, proposal.allocation))
        total = self.structure.total
        if not total(*step.points[0]) < total(*self.trace[-1]):
            return False
        self._record(step)
        return True

    def _step_from(self, allocation: Allocation) -> Step:
        is_refitted, sweeps_left = bool(self.trace), self.max_sweeps - len(self.trace)
        return self.step(self.rows, self.structure, allocation, is_refitted, sweeps_left)

    def _record(self, step: Step) -> None:
        self.allocation = step.allocation
        self.trace += step.points
        self.optimum = None
        if step.converged:
            inverse = np.linalg.inv(step.sums.gram)
            self.optimum = LocalOptimum(step.allocation, step.sums, inverse)

    def _solution(self, status: Status, gram: Floats) -> FeatureSolution:
        return FeatureSolution(self.allocation, self.trace, status, gram)


def published_step(
    rows: FeatureRows,
    structure: FeatureAllocation,
    allocation: Allocation,
    is_refitted: bool,
    _: int,
) -> Step:
    """Sweep once by single flips, open and close features of single rows, refit."""
    sums = rows.sweep(allocation, literal=True)
    opened = open_at_rows(rows, structure, allocation, sums.costs)
    if opened is not None:
        allocation = opened
        sums = rows.collect(allocation)._replace(changed=sums.changed + 1)
    closed = close_at_rows(rows, structure, allocation, sums)
    if closed is not None:
        allocation = closed
        sums = rows.collect(allocation)._replace(changed=sums.changed + 1)
    return _refit(rows, allocation, sums, is_refitted)


def collapsed_step(
    rows: FeatureRows,
    structure: FeatureAllocation,
    allocation: Allocation,
    is_refitted: bool,
    _: int,
) -> Step:
    """Sweep once with components integrated out, refit."""
    allocation = allocation if is_refitted else refit_components(rows, allocation)
    return _refit(rows, *run_collapsed_sweep(rows, structure, allocation), is_refitted=True)


def local_search_step(
    rows: FeatureRows,
    structure: FeatureAllocation,
    allocation: Allocation,
    is_refitted: bool,
    max_sweeps: int,
) -> Step:
    """Sweep exactly and refit, several times where the executor can."""
    found = rows.local_search(allocation, is_refitted=is_refitted, max_sweeps=max_sweeps)
    points = [Point(fit, len(allocation.components)) for fit in found.fits]
    if not found.is_independent:
        allocation = drop_dependent(allocation, found.sums)
        points[-1] = Point(found.sums.fit, len(allocation.components))
    return Step(allocation, points, found.sums, found.converged)


def _refit(rows: FeatureRows, allocation: Allocation, sums: Sums, is_refitted: bool) -> Step:
    """Refit after one sweep, unless nothing has changed."""
    converged = sums.changed == 0 and is_refitted
    if not converged:
        allocation = refit_components(rows, allocation, sums)
    return Step(allocation, [Point(sums.fit, len(allocation.components))], sums, converged)


@dataclass(frozen=True)
class FeatureSearch:
    """One way to minimise a feature allocation from one start.

    ``literal``: the published steps alone. ``collapsed``: with components integrated out
    (Broderick, Kulis & Jordan 2013, section 4.1). ``base``: whether starts have a base; None: some.
    If False, none is made of what is found either.
    """

    structure: FeatureAllocation
    literal: bool
    collapsed: bool
    max_sweeps: int
    base: bool | None = None

    def run(self, rows: FeatureRows, start: Allocation, rng: RandomState) -> FeatureSolution:
        """Minimise from a start."""
        step: Stepping = local_search_step
        moves: tuple[Move, ...] = (drop_feature, combine_features, open_feature)
        if self.literal:
            step, moves = collapsed_step if self.collapsed else published_step, ()
        elif self.collapsed:
            moves = (sweep_collapsed, *moves)
        return FeatureDescent(rows, self.structure, step, moves, rng).run(start, self.max_sweeps)

    def objective(self, solution: FeatureSolution) -> float:
        """Return the objective of a solution."""
        return self.structure.total(*solution.trace[-1])

    def improves(self, point: Point, solution: FeatureSolution) -> bool:
        """Whether the objective is lower at a point than where a solution ended."""
        return (
            self.structure.total(*point)
            < self.objective(solution) - RELATIVE_TOLERANCE * solution.fit
        )

    def would_open(self, rows: FeatureRows, solution: FeatureSolution, rng: RandomState) -> bool:
        """Whether another feature would lower the objective."""
        sums = rows.collect(solution.allocation)
        optimum = LocalOptimum(solution.allocation, sums, np.linalg.inv(sums.gram))
        return open_feature(rows, self.structure, optimum, rng) is not None
