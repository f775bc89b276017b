"""The penalty for features: the middle of the widest range of penalties with one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.features.search import FeatureSearch
from hardbayes.engine.features.stepwise import no_features, with_one_more
from hardbayes.selection.hull import Plateau, plateaus, widest
from hardbayes.structure.feature_allocation import FeatureAllocation

if TYPE_CHECKING:
    from hardbayes.engine.features.descent import AllocationSolution
    from hardbayes.problems.features import FeatureProblem

# How far the path goes on after the widest plateau so far: a wider one may follow.
LOOK_AHEAD = 6
# A base alone says that rows have a mean; any plateau this many times as high as low says more.
WORTH_A_LOOK = 1.5


class FeaturePath(NamedTuple):
    """The best fit terms for 0, 1, 2, ... features, and what penalties make of them.

    All numbers are in working units.
    """

    search: FeatureSearch  # that found the solutions
    solutions: list[AllocationSolution]
    nothing: float  # fit terms up to here are rounding

    @property
    def plateaus(self) -> list[Plateau]:
        """Ranges of penalties at which one number of features is optimal, from few to many."""
        return plateaus(
            [(s.n_components, s.fit if s.fit > self.nothing else 0.0) for s in self.solutions]
        )

    def suggest(self) -> Plateau:
        """Return the widest plateau.

        Where one feature is a base that all rows share, its plateau is as wide as the mean of the
        rows is large. That says nothing of features, so it counts only where no other does.
        """
        found = self.plateaus
        if not found:
            return self._open_end()
        others = [each for each in found if not (each.k == 1 and self._is_base)]
        if others and widest(others).width > np.log(WORTH_A_LOOK):
            return widest(others)
        return widest(found)

    def at(self, penalty: float) -> AllocationSolution:
        """Return the solution that is best at a penalty."""
        return min(self.solutions, key=lambda each: each.fit + penalty * each.n_components)

    def _open_end(self) -> Plateau:
        """Return what is known where a cap ends the path before any plateau does."""
        first, last = self.solutions[0], self.solutions[-1]
        if last.n_components == 0:  # rows of zeros: at any penalty there are no features
            return Plateau(0, 1.0, 1.0)
        gain = (first.fit - last.fit) / last.n_components
        return Plateau(last.n_components, gain / 4, gain)

    @property
    def _is_base(self) -> bool:
        return bool(self.solutions[1].allocation.membership.all())


def feature_path(
    problem: FeatureProblem,
    max_components: int | None,
    max_sweeps: int,
    n_starts: int,
    rng: np.random.RandomState,
    smallest: float | None = None,
) -> FeaturePath:
    """Follow K = 0, 1, 2, ... by the default search until the widest plateau lies well behind.

    Or, given a ``smallest`` penalty, until the solutions best at that one do. Of those with far
    more features than the widest plateau has, which is where noise is explained and nothing else,
    each has the one before and one seeded start to begin from, and no shakes.
    """
    structure = FeatureAllocation(0.0, problem.cap(max_components))
    search = FeatureSearch(structure, literal=False, collapsed=False, max_sweeps=max_sweeps)
    path = FeaturePath(search, [], problem.nothing)
    solution: AllocationSolution | None = no_features(problem)
    while solution is not None:
        path.solutions.append(solution)
        k, is_far = solution.n_components, False
        if len(path.solutions) > 2:
            is_far = k >= path.suggest().k + LOOK_AHEAD
            if is_far if smallest is None else k >= path.at(smallest).n_components + LOOK_AHEAD:
                break
        solution = with_one_more(problem, search, solution, 1 if is_far else n_starts, rng)
    return path
