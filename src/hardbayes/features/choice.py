"""The number of features: the widest range of penalties with one answer, if new rows confirm it.

Continuous factors and noise have wide ranges of penalties, too. So rows are halved first, and each
half says for which numbers its rows have the features of the other or do not (`null`). If they do
for none, there is one feature, the mean, or none. Otherwise the number with the widest range is
chosen, if the test agrees; but a larger one of which each feature passes goes before. Failing both,
it is the number with the most evidence.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from hardbayes.core.alone import Nearest, alone_sentences
from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.plateaus import Columns, Plateau, Table, plateaus, table_of, widest
from hardbayes.core.pool import Pool
from hardbayes.core.progress import SILENT, Report
from hardbayes.features.descent import FeatureSearch, FeatureSolution
from hardbayes.features.null import NEEDED, WEAKEST, Evidence, HeldOut
from hardbayes.features.problem import FeatureAllocation, FeatureProblem
from hardbayes.features.starts import no_features, with_one_more

# Features by which the path goes on after the widest plateau so far: a wider one may follow, and
# each takes time (benchmarks.choosing_features counts how often the widest is right).
LOOK_AHEAD = 6
# A base alone only shows that rows have a mean; a plateau counts more if it spans this factor
# (benchmarks.choosing_features).
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

    def of(self, n_components: int) -> FeatureSolution:
        """Return the solution with so many features: the first has none, or a base."""
        return self.solutions[n_components - self.solutions[0].n_components]

    def at(self, penalty: float) -> FeatureSolution:
        """Return the solution that is best at a penalty."""
        return min(self.solutions, key=lambda each: each.fit + penalty * each.n_components)

    def _open_end(self) -> Plateau:
        """Return the last number of features where a cap ends the path before any plateau does."""
        first, last = self.solutions[0], self.solutions[-1]
        more = last.n_components - first.n_components
        if more == 0:  # rows of zeros, or equal ones and a base: the same at any penalty
            return Plateau(last.n_components, 1.0, 1.0)
        gain = (first.fit - last.fit) / more
        return Plateau(last.n_components, gain / 4, gain)

    @property
    def _is_base(self) -> bool:
        return bool(self.of(1).allocation.membership.all())


def feature_path(
    problem: FeatureProblem,
    max_components: int | None,
    max_sweeps: int,
    n_starts: int,
    rng: np.random.RandomState,
    smallest: float | None = None,
    report: Report = SILENT,
    last: int | None = None,
    least: int = 0,
    base: bool | None = None,
) -> FeaturePath:
    """Follow K = 0, 1, 2, ... by the default search to LOOK_AHEAD beyond the widest plateau.

    Not beyond ``last``, and not to less than ``least``. Or, given a ``smallest`` penalty, beyond
    the best K at that one. Where K is that far beyond the widest plateau, more features explain
    only noise: then each K has the solution before and one seeded start, and no perturbations.
    """
    structure = FeatureAllocation(0.0, problem.cap(max_components))
    search = FeatureSearch(structure, False, False, max_sweeps, base)
    rows = problem.rows
    path = FeaturePath(search, [], rows.describe().negligible_fit)
    solution: FeatureSolution | None = no_features(rows)
    while solution is not None:
        path.solutions.append(solution)
        k, is_far = solution.n_components, False
        report.step("path, features", k, structure.max_components)
        if k == last:
            break
        if len(path.solutions) > 2:
            is_far = k >= max(path.suggest().k + LOOK_AHEAD, least)
            if is_far if smallest is None else k >= path.at(smallest).n_components + LOOK_AHEAD:
                break
        solution = with_one_more(rows, search, solution, 1 if is_far else n_starts, rng)
    return path


COLUMNS: Columns = {
    "n_components": np.int64,
    "penalty": np.float64,
    "width": np.float64,
    "deviations": np.float64,
    "p_value": np.float64,
    "weakest": np.float64,
    "strength": np.float64,
    "chosen": np.bool_,
}


class FeatureChoice(NamedTuple):
    """A number of features, and why. Penalties are in working units."""

    n_components: int
    penalty: float
    path: FeaturePath
    evidence: list[Evidence]
    is_confirmed: bool  # else there are no features, or nothing but a mean

    def table(self, unit: float) -> Table:
        """Return the numbers that held-out rows were asked about, with penalties of the user.

        The penalty and the width are zero where a number is optimal at no penalty.
        """
        ranges = {each.k: each for each in self.path.plateaus}
        shown = self.path.suggest().k
        rows = []
        for k, deviations, weakest in self.evidence:
            own = ranges.get(k)
            strength = max(0.0, deviations / NEEDED)
            if k not in (shown, self.n_components):  # each of its features must pass
                strength = min(strength, np.log(weakest) / np.log(WEAKEST))
            rows.append((
                k, own.middle / unit if own else 0.0,
                min(own.width, np.finfo(float).max) if own else 0.0, deviations,
                float(ndtr(-deviations)), weakest, strength,
                self.is_confirmed and k == self.n_components,
            ))  # fmt: skip
        return table_of(rows, COLUMNS)

    def sentence(self) -> str:
        """Return why there are no features, and how to get some."""
        why = "No number of features was confirmed by rows that a fit had not seen"
        if self.is_confirmed:
            why = "No feature lowers what any row costs"
        elif not self.evidence:
            why = "There are too few rows to confirm features by rows that a fit has not seen"
        found = "there is " + (
            "one, which tells that rows have a mean" if self.n_components else "none"
        )
        others = [each for each in self.evidence if each.n_components != self.n_components]
        if not others or self.is_confirmed:
            return alone_sentences(why, found, None, "KFeatures(k)", "features")
        k, deviations, _ = max(others, key=lambda each: each.deviations)
        evidence = (
            "rows do not fall into those that have a feature and those that have not; the "
            f"evidence is {deviations:.2g} standard deviations ({NEEDED:g} are needed)"
        )
        near = Nearest(k, evidence, f"KFeatures({k})")
        return alone_sentences(why, found, near, "KFeatures(k)", "features")


def choose_features(
    problem: FeatureProblem,
    matrix: Matrix,
    weights: Floats | None,
    max_components: int | None,
    max_sweeps: int,
    n_starts: int,
    rng: np.random.RandomState,
    pool: Pool,
    base: bool | None = None,
) -> FeatureChoice:
    """Return the number of features that suits the rows, and its penalty."""
    pool.report.stage("features of half of the rows")
    held_out = HeldOut(matrix, weights, max_sweeps, pool, base)
    evidence = held_out.evidence()
    are_there = held_out.are_too_few or bool(_confirmed(evidence))
    # Without evidence, a mean is all that is left to be found. A number is optimal at some penalty
    # only if the one after it is known.
    all_there = [each.n_components for each in evidence if each.are_all_there]
    path = feature_path(
        problem, max_components, max_sweeps, n_starts, rng, report=pool.report,
        last=None if are_there else 2, least=max(all_there, default=0) + 2, base=base,
    )  # fmt: skip
    shown = path.suggest().k
    if are_there and evidence and shown not in _confirmed(evidence):
        components, membership = path.of(shown).allocation
        again = held_out.evidence_from(membership, problem.components_to_user(components))
        others = [each for each in evidence if each.n_components != shown]
        evidence = sorted([*others, again]) if again is not None else others
    cap = problem.cap(max_components) if are_there and evidence else None
    number = _confirmed_number(path, evidence, matrix.shape[0], cap)
    if number is not None:
        own = next((each for each in path.plateaus if each.k == number), path.suggest())
        return FeatureChoice(number, own.middle, path, evidence, True)
    mean = next((each for each in path.plateaus if each.k == 1), None)
    if mean is not None and _has_mean(matrix, held_out):
        return FeatureChoice(1, mean.middle, path, evidence, False)
    gain = path.solutions[0].fit - path.solutions[-1].fit
    return FeatureChoice(
        path.solutions[0].n_components, 2.0 * gain if gain > 0 else 1.0, path, evidence, False
    )


def _confirmed_number(
    path: FeaturePath, evidence: list[Evidence], n_rows: int, cap: int | None
) -> int | None:
    """Return the number of features that has evidence, None if there is none."""
    confirmed, shown = _confirmed(evidence), path.suggest().k
    ranges = [each.k for each in path.plateaus if each.k in confirmed]
    all_there = [k for k in ranges if confirmed[k].are_all_there]
    if shown in confirmed or all_there:
        return max([shown] * (shown in confirmed) + all_there)
    if _is_exact(path, shown, n_rows) or path.solutions[-1].n_components == cap:
        return shown
    return max(ranges, key=lambda k: confirmed[k].deviations, default=None)


def _has_mean(matrix: Matrix, held_out: HeldOut) -> bool:
    """Whether the mean of one half of the rows predicts that of the other."""
    halves = [half if len(half) else slice(None) for half in held_out.halves]
    one, other = (
        np.asarray(matrix[half].mean(axis=0, dtype=np.float64)).ravel() for half in halves
    )
    return float(one @ other) > 0


def _confirmed(evidence: list[Evidence]) -> dict[int, Evidence]:
    return {each.n_components: each for each in evidence if each.deviations >= NEEDED}


def _is_exact(path: FeaturePath, k: int, n_rows: int) -> bool:
    """Whether k features explain every row: continuous noise would need one for each row."""
    return k <= n_rows / 2 and path.of(k).fit <= path.negligible
