"""The penalty for features: the middle of the widest range of penalties with one answer."""

from typing import NamedTuple

import numpy as np

from hardbayes.core.plateaus import Plateau, plateaus, widest
from hardbayes.core.progress import SILENT, Report
from hardbayes.features.descent import FeatureSearch, FeatureSolution
from hardbayes.features.problem import FeatureAllocation, FeatureProblem
from hardbayes.features.starts import no_features, with_one_more

# Features by which the path goes on after the widest plateau so far: a wider one may follow.
LOOK_AHEAD = 6
# A base alone only shows that rows have a mean; a plateau counts more if it spans this factor.
WIDE_ENOUGH = 1.5


class FeaturePath(NamedTuple):
    """The best fit terms for 0, 1, 2, ... features, and which is optimal at which penalty.

    All numbers are in working units.
    """

    search: FeatureSearch  # that found the solutions
    solutions: list[FeatureSolution]
    negligible: float  # fit terms up to here are rounding

    @property
    def plateaus(self) -> list[Plateau]:
        """Ranges of penalties at which one number of features is optimal, from few to many."""
        return plateaus(
            [(s.n_components, s.fit if s.fit > self.negligible else 0.0) for s in self.solutions]
        )

    def suggest(self) -> Plateau:
        """Return the widest plateau.

        Where one feature is a base that all rows have, its plateau is as wide as the mean of the
        rows is large, whatever the other features. So it counts only if no other is wide enough.
        """
        found = self.plateaus
        if not found:
            return self._open_end()
        others = [each for each in found if not (each.k == 1 and self._is_base)]
        if others and widest(others).width > np.log(WIDE_ENOUGH):
            return widest(others)
        return widest(found)

    def at(self, penalty: float) -> FeatureSolution:
        """Return the solution that is best at a penalty."""
        return min(self.solutions, key=lambda each: each.fit + penalty * each.n_components)

    def _open_end(self) -> Plateau:
        """Return the last number of features where a cap ends the path before any plateau does."""
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
    report: Report = SILENT,
) -> FeaturePath:
    """Follow K = 0, 1, 2, ... by the default search to LOOK_AHEAD beyond the widest plateau.

    Or, given a ``smallest`` penalty, beyond the best K at that one. Where K is that far beyond the
    widest plateau, more features explain only noise: then each K has the solution before and one
    seeded start, and no perturbations.
    """
    structure = FeatureAllocation(0.0, problem.cap(max_components))
    search = FeatureSearch(structure, literal=False, collapsed=False, max_sweeps=max_sweeps)
    rows = problem.rows
    path = FeaturePath(search, [], rows.describe().negligible_fit)
    solution: FeatureSolution | None = no_features(rows)
    while solution is not None:
        path.solutions.append(solution)
        k, is_far = solution.n_components, False
        report.step("path, features", k, structure.max_components)
        if len(path.solutions) > 2:
            is_far = k >= path.suggest().k + LOOK_AHEAD
            if is_far if smallest is None else k >= path.at(smallest).n_components + LOOK_AHEAD:
                break
        solution = with_one_more(rows, search, solution, 1 if is_far else n_starts, rng)
    return path
