"""How hard a feature allocation is minimised: the published steps, or those and better ones."""

from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState

from hardbayes.engine.features.descent import FeatureDescent, FeatureSolution, Point, Stepping
from hardbayes.engine.features.steps import collapsed_step, local_search_step, published_step
from hardbayes.executors.features.protocol import Allocation, FeatureRows
from hardbayes.moves.features.births import open_feature
from hardbayes.moves.features.collapsed import sweep_collapsed
from hardbayes.moves.features.columns import combine_features, drop_feature
from hardbayes.moves.features.proposals import ROUNDING, LocalOptimum, Move
from hardbayes.structure.feature_allocation import FeatureAllocation


@dataclass(frozen=True)
class FeatureSearch:
    """One way to minimise a feature allocation from one start.

    ``literal``: the published steps alone. ``collapsed``: with components integrated out
    (Broderick, Kulis & Jordan 2013, section 4.1).
    """

    structure: FeatureAllocation
    literal: bool
    collapsed: bool
    max_sweeps: int

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
        return self.structure.total(*point) < self.objective(solution) - ROUNDING * solution.fit

    def would_open(self, rows: FeatureRows, solution: FeatureSolution, rng: RandomState) -> bool:
        """Whether another feature would lower the objective."""
        sums = rows.collect(solution.allocation)
        optimum = LocalOptimum(solution.allocation, sums, np.linalg.inv(sums.gram))
        return open_feature(rows, self.structure, optimum, rng) is not None
