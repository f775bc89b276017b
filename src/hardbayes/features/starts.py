"""Several starts of a search for features, of which the best is kept and perturbed.

And one feature more at a time: K-features for K = 0, 1, 2, ..., each begun from the one before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.random import RandomState

from hardbayes.core.arrays import total_weight
from hardbayes.core.loop import Status
from hardbayes.features.descent import FeatureSearch, FeatureSolution, Point
from hardbayes.features.moves import canonical_membership, perturb, refit_components
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation, FeatureRows

Start = Callable[[FeatureRows, RandomState], Allocation]
Report = Callable[[str, int, float], None]

# Perturbations in a row that do not help, at most; and as many times the sweeps of a start, in all:
# what a large n_init may cost.
MAX_PERTURBATIONS = 64
ROUND = 8  # perturbations side by side; a fixed number, so that threads do not matter


def minimise_features(
    rows: FeatureRows,
    search: FeatureSearch,
    n_starts: int,
    rng: RandomState,
    given: Sequence[Allocation] = (),
    report: Report = lambda *_: None,
    seeded: bool = True,
) -> FeatureSolution:
    """Return the best of ``n_starts`` seeded starts, unless there are none, and of those ``given``.

    Unless the search is literal, the best is then perturbed until ``n_starts - 1`` perturbations in
    a row, or MAX_PERTURBATIONS, have not helped; and where there is a sample of the rows, starts
    and perturbations are made on it, and all rows begin from its features. ``report`` is called
    with what was done, and the number of features and the objective of the best so far.
    """
    sample = None if search.literal else rows.sample(rng)
    starts: list[Start] = [lambda _rows, _rng, start=start: start for start in given]  # type: ignore[misc]
    if not seeded:
        pass
    elif sample is None:
        starts += [partial(seeded_start, search, at) for at in range(n_starts)]
    else:
        starts.append(start_from_sample(rows, sample, search, n_starts, rng, report))
    best = best_of(search, solve(rows, search, starts, rng))
    what = f"best of {len(starts)}, {rows.describe().n_rows} rows"
    report(what, best.n_components, search.objective(best))
    if search.literal:
        return best
    if sample is None:
        max_failures = min(n_starts - 1, MAX_PERTURBATIONS)
        best = best_of_perturbations(rows, search, best, max_failures, rng, report)
    return in_canonical_form(rows, search, best, rng)


def best_of_perturbations(
    rows: FeatureRows,
    search: FeatureSearch,
    best: FeatureSolution,
    max_failures: int,
    rng: RandomState,
    report: Report,
) -> FeatureSolution:
    """Perturb the best solution until that has failed ``max_failures`` times in a row.

    Where noise is worth a feature, or sweeps end before a fit converges, nearly every perturbation
    helps a little. So all of them together may take no more sweeps than MAX_PERTURBATIONS can.
    """
    # They are few enough to afford collapsed sweeps, which many starts are not.
    search = replace(search, collapsed=True)
    failed, sweeps_left = 0, MAX_PERTURBATIONS * search.max_sweeps
    while failed < max_failures and sweeps_left > 0:
        size = min(ROUND, max_failures - failed)
        starts = [partial(perturbed_start, search, best.allocation)] * size
        solutions = solve(rows, search, starts, rng)
        sweeps_left -= sum(len(solution.trace) for solution in solutions)
        found = best_of(search, solutions)
        if search.improves(found.trace[-1], best):
            below = [point for point in found.trace if search.improves(point, best)]
            best, failed = replace(found, trace=[*best.trace, *below]), 0
            report("perturbed", best.n_components, search.objective(best))
        else:
            failed += size
    return best


def in_canonical_form(
    rows: FeatureRows, search: FeatureSearch, best: FeatureSolution, rng: RandomState
) -> FeatureSolution:
    """Return a solution no worse, in canonical form where it has one."""
    info = rows.describe()
    weight = total_weight(info.weights, info.n_rows)
    membership = canonical_membership(best.allocation.membership, best.gram, weight)
    if membership is None or search.base is False:
        return best
    start = refit_components(rows, Allocation(best.allocation.components.copy(), membership))
    found = search.run(rows, start, rng)
    if search.improves(best.trace[-1], found):
        return best
    return replace(found, trace=[*best.trace, found.trace[-1]])


def best_of(search: FeatureSearch, solutions: list[FeatureSolution]) -> FeatureSolution:
    """Return the solution with the lowest objective, the first of equals."""
    return min(solutions, key=search.objective)


def solve(
    rows: FeatureRows, search: FeatureSearch, starts: Sequence[Start], rng: RandomState
) -> list[FeatureSolution]:
    """Return a solution from each of the starts."""
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(starts))
    solutions: list[FeatureSolution | None] = [None] * len(starts)

    def run(at: int, rows: FeatureRows) -> None:
        stream = np.random.RandomState(np.random.PCG64(seeds[at]))
        solutions[at] = search.run(rows, starts[at](rows, stream), stream)

    rows.run_starts(run, len(starts))
    return [solution for solution in solutions if solution is not None]


def seeded_start(search: FeatureSearch, at: int, rows: FeatureRows, rng: RandomState) -> Allocation:
    """Return start number ``at``: with a base or without, all features drawn or one.

    The published seeding begins with a base at the mean that all rows have, and draws the rest. On
    data without a base this hurts, and features drawn at once can hide each other. So one start of
    four is as published, unless the search is literal; where only one feature is drawn, the search
    adds others.
    """
    with_base = search.literal or at % 2 == 0
    if search.base is not None:
        with_base = search.base
    most = search.structure.max_components if search.literal or at % 4 < 2 else 1
    return rows.seed(with_base, search.structure.penalty, most, rng)


def start_from_sample(
    rows: FeatureRows,
    sample: FeatureRows,
    search: FeatureSearch,
    n_starts: int,
    rng: RandomState,
    report: Report,
) -> Start:
    """Return a start at the best components for a sample of the rows."""
    n_rows = rows.describe().n_rows
    share = sample.describe().n_rows / n_rows
    structure = replace(search.structure, penalty=share * search.structure.penalty)
    found = minimise_features(
        sample, replace(search, structure=structure), n_starts, rng, report=report
    )
    membership = np.zeros((n_rows, found.n_components), np.uint8)
    membership[:, : rows.describe().n_fixed] = 1
    start = Allocation(found.allocation.components, membership)
    return lambda _rows, _rng: start


def perturbed_start(
    search: FeatureSearch, best: Allocation, rows: FeatureRows, rng: RandomState
) -> Allocation:
    """Return a perturbation of the best so far."""
    fixed = rows.describe().n_fixed
    return refit_components(rows, perturb(best, search.structure.max_components, rng, fixed))


def marked_if_capped(
    rows: FeatureRows, search: FeatureSearch, solution: FeatureSolution, rng: RandomState
) -> FeatureSolution:
    """Return the solution, marked as capped if only the cap prevents another feature."""
    structure = search.structure
    if solution.status is not Status.CONVERGED or solution.n_components < structure.max_components:
        return solution
    wider = replace(structure, max_components=structure.max_components + 1)
    is_capped = replace(search, structure=wider).would_open(rows, solution, rng)
    return replace(solution, status=Status.CAPPED) if is_capped else solution


def no_features(rows: FeatureRows) -> FeatureSolution:
    """Return the solution for K = 0, or for the base alone where rows have one."""
    n, d, *_, fixed = rows.describe()
    first = Allocation(np.zeros((fixed, d)), np.ones((n, fixed), np.uint8))
    sums = rows.collect(first)
    if fixed:
        first = refit_components(rows, first, sums)
        sums = rows.collect(first)
    return FeatureSolution(first, [Point(sums.fit, fixed)], Status.CONVERGED, sums.gram)


def with_one_more(
    rows: FeatureRows,
    search: FeatureSearch,
    before: FeatureSolution,
    n_starts: int,
    rng: np.random.RandomState,
) -> FeatureSolution | None:
    """Return the best K-features solution with one feature more, None where it fits no better.

    Or where ``search.structure`` allows no more. Unless the search is literal, the solution before
    is one of the starts.
    """
    k = before.n_components + 1
    if before.fit <= rows.describe().negligible_fit or k > search.structure.max_components:
        return None
    free = replace(search, structure=FeatureAllocation(0.0, k))
    given = [] if search.literal else [before.allocation]
    solution = minimise_features(rows, free, n_starts, rng, given)
    return solution if solution.n_components == k else None  # the residuals have no direction left


def k_features_path(
    rows: FeatureRows, search: FeatureSearch, n_starts: int, rng: np.random.RandomState
) -> Iterator[FeatureSolution]:
    """Yield the best K-features solutions for K = 0, 1, ..., while more features fit better."""
    solution: FeatureSolution | None = no_features(rows)
    while solution is not None:
        yield solution
        solution = with_one_more(rows, search, solution, n_starts, rng)


def stepwise(path: Iterable[FeatureSolution], structure: FeatureAllocation) -> FeatureSolution:
    """Return the first solution of a path after which the objective does not fall.

    Broderick, Kulis & Jordan 2013, section 5. The trace holds one point for each K.
    """
    points: list[Point] = []
    best: FeatureSolution | None = None
    for solution in path:
        if best is not None and not (
            structure.total(*solution.trace[-1]) < structure.total(*best.trace[-1])
        ):
            break
        best = solution
        points.append(solution.trace[-1])
    assert best is not None  # a path begins with no features at all
    return replace(best, trace=points)
