"""How hard a feature allocation is minimised: the published steps, or those and better ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.features.descent import (
    Allocation,
    AllocationDescent,
    AllocationSolution,
    AtRest,
    Move,
    Point,
    Step,
    refitted,
    without_dependent,
)
from hardbayes.moves.features.columns import ColumnMove, best_drop
from hardbayes.moves.features.new_features import best_new_feature, with_feature
from hardbayes.moves.features.residual_births import open_features

if TYPE_CHECKING:
    from hardbayes.executors.features.memory import Allocator
    from hardbayes.executors.features.results import Sums
    from hardbayes.structure.feature_allocation import FeatureAllocation

# Improvements below this share of the fit term are rounding.
ROUNDING = 1e-10


@dataclass(frozen=True)
class FeatureSearch:
    """One way to minimise a feature allocation from one start.

    ``literal``: the published steps alone. ``collapsed``: rows are judged with components
    integrated out (Broderick, Kulis & Jordan 2013, section 4.1).
    """

    structure: FeatureAllocation
    literal: bool
    collapsed: bool
    max_sweeps: int

    def run(
        self, rows: Allocator, start: Allocation, rng: np.random.RandomState
    ) -> AllocationSolution:
        """Minimise from a start."""
        if self.literal:
            step = self._collapsed_step if self.collapsed else self._published_step
            return AllocationDescent(rows, self.structure, step).run(start, self.max_sweeps)
        moves: list[Move] = [
            self._drop,
            self._combine,
            lambda rows, rest: self._open(rows, rest, rng),
        ]
        if self.collapsed:
            moves.insert(0, self._collapse)
        descent = AllocationDescent(rows, self.structure, settling_step, moves)
        return descent.run(start, self.max_sweeps)

    def improves(self, point: Point, solution: AllocationSolution) -> bool:
        """Whether the objective is lower at a point than where a solution ended."""
        before = self.structure.total(*solution.trace[-1])
        return self.structure.total(*point) < before - ROUNDING * solution.fit

    def would_open(
        self, rows: Allocator, solution: AllocationSolution, rng: np.random.RandomState
    ) -> bool:
        """Whether another feature would pay its penalty."""
        sums = rows.collect(*solution.allocation)
        rest = AtRest(solution.allocation, sums, np.linalg.inv(sums.gram))
        return self._open(rows, rest, rng) is not None

    # -- steps -------------------------------------------------------------------------------------

    def _published_step(
        self, rows: Allocator, allocation: Allocation, is_refitted: bool, max_sweeps: int
    ) -> Step:
        sums = rows.sweep(*allocation, literal=True)
        opened = open_features(rows, self.structure, *allocation, sums.costs)
        if opened is not None:
            allocation = Allocation(*opened)
            sums = rows.collect(*allocation)._replace(changed=sums.changed + 1)
        return single_step(rows, allocation, is_refitted, sums)

    def _collapsed_step(
        self, rows: Allocator, allocation: Allocation, is_refitted: bool, max_sweeps: int
    ) -> Step:
        allocation = allocation if is_refitted else refitted(rows, allocation)
        gram = rows.collect(*allocation).gram
        components, membership, changed = rows.collapsed_sweep(
            *allocation, gram, self.structure.penalty, self.structure.max_components
        )
        allocation = Allocation(components, membership)
        sums = rows.collect(*allocation)._replace(changed=changed)
        return single_step(rows, allocation, True, sums)

    # -- moves -------------------------------------------------------------------------------------

    def _drop(self, rows: Allocator, rest: AtRest) -> Allocation | None:
        components = rest.allocation.components
        if not len(components):
            return None
        return self._moved(rest, best_drop(rest.inverse, components, self.structure.penalty))

    def _combine(self, rows: Allocator, rest: AtRest) -> Allocation | None:
        found = rows.best_combination(
            *rest.allocation, rest.sums.gram, rest.inverse, self.structure.penalty
        )
        goes = [at for at, gone in ((found.a, found.a_goes), (found.b, found.b_goes)) if gone]
        pair = (found.a, found.b)
        return self._moved(rest, ColumnMove(found.change, goes, pair, found.factors))

    def _moved(self, rest: AtRest, move: ColumnMove) -> Allocation | None:
        if not move.change < -ROUNDING * rest.sums.fit:
            return None
        return Allocation(*move.made_on(*rest.allocation))

    def _open(self, rows: Allocator, rest: AtRest, rng: np.random.RandomState) -> Allocation | None:
        components, membership = rest.allocation
        is_full = len(components) >= self.structure.max_components
        if is_full or not (rows.weights * rest.sums.costs).max() > rows.nothing:
            return None
        gain, component, members = best_new_feature(
            rows, components, membership, rest.inverse, rest.sums.costs, rng
        )
        if not gain > self.structure.penalty + ROUNDING * rest.sums.fit:
            return None
        return Allocation(*with_feature(components, membership, component, members))

    def _collapse(self, rows: Allocator, rest: AtRest) -> Allocation | None:
        stepped = self._collapsed_step(rows, rest.allocation, is_refitted=True, max_sweeps=1)
        return None if stepped.at_rest else stepped.allocation


def settling_step(
    rows: Allocator, allocation: Allocation, is_refitted: bool, max_sweeps: int
) -> Step:
    """Sweep and refit, several times where all rows are one tile."""
    settled = rows.settle(*allocation, is_refitted=is_refitted, max_sweeps=max_sweeps)
    points = [Point(fit, len(allocation.components)) for fit in settled.fits]
    if not settled.is_sound:
        allocation = without_dependent(allocation, settled.sums)
        points[-1] = Point(settled.sums.fit, len(allocation.components))
    return Step(allocation, points, settled.sums, settled.at_rest)


def single_step(rows: Allocator, allocation: Allocation, is_refitted: bool, sums: Sums) -> Step:
    """Refit after one sweep."""
    at_rest = sums.changed == 0 and is_refitted
    if not at_rest and not rows.refit(allocation.components, sums):
        allocation = without_dependent(allocation, sums)
    return Step(allocation, [Point(sums.fit, len(allocation.components))], sums, at_rest)
