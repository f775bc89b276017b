"""What a move on features starts from, and what it returns."""

from collections.abc import Callable
from typing import NamedTuple

from numpy.random import RandomState

from hardbayes.executors.features.protocol import Allocation, FeatureRows, Sums
from hardbayes.matrices import Floats
from hardbayes.structure.feature_allocation import FeatureAllocation

# Returns a proposal that lowers the objective, or None; changes nothing.
Move = Callable[[FeatureRows, FeatureAllocation, "LocalOptimum", RandomState], "Proposal | None"]

# Improvements below this share of the fit term are rounding.
ROUNDING = 1e-10


class LocalOptimum(NamedTuple):
    """An allocation that no sweep changes, its components at least squares."""

    allocation: Allocation
    sums: Sums
    inverse: Floats  # (k, k): of Z'WZ

    def is_lowered_by(self, change: float) -> bool:
        """Whether a change of the objective is below rounding."""
        return change < -ROUNDING * self.sums.fit


class Proposal(NamedTuple):
    """An allocation to put in the place of the present one."""

    change: float  # of the objective, exact up to rounding once components are at least squares
    allocation: Allocation  # shares no memory with the present one; components need a refit
