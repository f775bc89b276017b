"""Several starts of a feature search; the best is kept, and shaken."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.features.descent import Allocation, AllocationSolution, refitted
from hardbayes.engine.status import Status
from hardbayes.matrices import total_weight
from hardbayes.moves.features.canonical_form import readable
from hardbayes.moves.features.perturbation import shaken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hardbayes.engine.features.search import FeatureSearch
    from hardbayes.executors.features.memory import Allocator
    from hardbayes.problems.features import FeatureProblem

    Start = Callable[[Allocator, np.random.RandomState], Allocation]

MOST_SHAKES = 64
ROUND = 8  # shakes of one solution side by side; a fixed number, so that threads do not matter


def minimise_features(
    problem: FeatureProblem,
    search: FeatureSearch,
    n_starts: int,
    rng: np.random.RandomState,
    given: Sequence[Allocation] = (),
    report: Callable[[str], None] = lambda _: None,
) -> AllocationSolution:
    """Return the best of ``n_starts`` seeded starts and of those ``given``.

    Unless the search is literal, the best is then shaken until ``n_starts - 1`` shakes in a row, or
    MOST_SHAKES, have not helped, or they took as many sweeps as MOST_SHAKES may; and where the data
    is more than one tile, starts and shakes are made on a sample, and all rows begin from what
    it finds. ``report`` gets a sentence for the starts and for every round of shakes that helped.
    """
    starts: list[Start] = [lambda _rows, _rng, start=start: start for start in given]  # type: ignore[misc]
    if search.literal or problem.tiles.is_single:
        starts += [partial(seeded_start, problem, search, at) for at in range(n_starts)]
    else:
        starts.append(start_from_sample(problem, search, n_starts, rng, report))
    best = best_of(search, solved(problem, search, starts, rng))
    report(sentence(problem, search, best, f"best of {len(starts)}, {problem.tiles.n_rows} rows"))
    if search.literal:
        return best
    if problem.tiles.is_single:
        best = best_of_shakes(problem, search, best, min(n_starts - 1, MOST_SHAKES), rng, report)
    return made_readable(problem, search, best, rng)


def best_of_shakes(
    problem: FeatureProblem,
    search: FeatureSearch,
    best: AllocationSolution,
    patience: int,
    rng: np.random.RandomState,
    report: Callable[[str], None],
) -> AllocationSolution:
    """Shake the best solution until ``patience`` shakes in a row have not helped.

    Where noise pays for features, or sweeps run out before rows come to rest, nearly every shake
    helps a little; so there is an end to their sweeps, too.
    """
    # Few shakes can afford what many starts cannot: rows judged with components integrated out.
    search = replace(search, collapsed=True)
    failed, sweeps_left = 0, MOST_SHAKES * search.max_sweeps
    while failed < patience and sweeps_left > 0:
        size = min(ROUND, patience - failed)
        shakes = [partial(shaken_start, search, best.allocation)] * size
        solutions = solved(problem, search, shakes, rng)
        sweeps_left -= sum(len(solution.trace) for solution in solutions)
        found = best_of(search, solutions)
        if search.improves(found.trace[-1], best):
            below = [point for point in found.trace if search.improves(point, best)]
            best, failed = replace(found, trace=[*best.trace, *below]), 0
            report(sentence(problem, search, best, "shaken"))
        else:
            failed += size
    return best


def made_readable(
    problem: FeatureProblem,
    search: FeatureSearch,
    best: AllocationSolution,
    rng: np.random.RandomState,
) -> AllocationSolution:
    """Return a solution no worse, with a base where all rows share one."""
    weight = total_weight(problem.tiles.weights, problem.tiles.n_rows)
    membership = readable(best.allocation.membership, best.gram, weight)
    if membership is None:
        return best
    rows = problem.allocator()
    start = refitted(rows, Allocation(best.allocation.components.copy(), membership))
    found = search.run(rows, start, rng)
    if search.improves(best.trace[-1], found):
        return best
    return replace(found, trace=[*best.trace, found.trace[-1]])


def sentence(
    problem: FeatureProblem, search: FeatureSearch, best: AllocationSolution, how: str
) -> str:
    """Say what was found, in the user's units."""
    objective = search.structure.total(*best.trace[-1]) / problem.unit
    return f"{how}: {best.n_components} features, objective {objective:.6g}"


def best_of(search: FeatureSearch, solutions: list[AllocationSolution]) -> AllocationSolution:
    """Return the solution with the lowest objective, the first of equals."""
    return min(solutions, key=lambda solution: search.structure.total(*solution.trace[-1]))


def solved(
    problem: FeatureProblem,
    search: FeatureSearch,
    starts: Sequence[Start],
    rng: np.random.RandomState,
) -> list[AllocationSolution]:
    """Return a solution from each of the starts.

    Starts run side by side where the data is one tile; otherwise threads share the tiles of each.
    """
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(starts))
    solutions: list[AllocationSolution | None] = [None] * len(starts)

    def run(at: int, _worker: int) -> None:
        rows, stream = problem.allocator(), np.random.RandomState(np.random.PCG64(seeds[at]))
        solutions[at] = search.run(rows, starts[at](rows, stream), stream)

    if problem.tiles.is_single:
        problem.pool.run(run, len(starts))
    else:
        for at in range(len(starts)):
            run(at, 0)
    return [solution for solution in solutions if solution is not None]


def seeded_start(
    problem: FeatureProblem,
    search: FeatureSearch,
    at: int,
    rows: Allocator,
    rng: np.random.RandomState,
) -> Allocation:
    """Return the start number ``at``: with a base or without, all features drawn or one.

    The published seeding begins with a base at the mean that all rows share, and draws the rest. On
    data without a base it hurts, and features drawn at once can hide each other: of four starts one
    is as published, unless the search is literal, and where only one feature is drawn, the search
    adds others as it comes to rest.
    """
    with_base = search.literal or at % 2 == 0
    most = search.structure.max_components if search.literal or at % 4 < 2 else 1
    base = problem.mean if with_base else None
    return Allocation(*rows.seed(base, search.structure.penalty, most, rng))


def start_from_sample(
    problem: FeatureProblem,
    search: FeatureSearch,
    n_starts: int,
    rng: np.random.RandomState,
    report: Callable[[str], None],
) -> Start:
    """Return a start at the best components for a sample of the rows."""
    part = problem.sampled(rng)
    share = part.tiles.n_rows / problem.tiles.n_rows
    structure = replace(search.structure, penalty=share * search.structure.penalty)
    small = replace(search, structure=structure)
    found = minimise_features(part, small, n_starts, rng, report=report)
    membership = np.zeros((problem.tiles.n_rows, found.n_components), np.uint8)
    start = Allocation(found.allocation.components, membership)
    return lambda _rows, _rng: start


def shaken_start(
    search: FeatureSearch, best: Allocation, rows: Allocator, rng: np.random.RandomState
) -> Allocation:
    """Return the best so far with one feature dealt anew."""
    return refitted(rows, Allocation(*shaken(*best, search.structure.max_components, rng)))


def marked_if_capped(
    problem: FeatureProblem,
    search: FeatureSearch,
    solution: AllocationSolution,
    rng: np.random.RandomState,
) -> AllocationSolution:
    """Return the solution, its status saying so where only the cap keeps out another feature."""
    structure = search.structure
    if solution.status is not Status.CONVERGED or solution.n_components < structure.max_components:
        return solution
    wider = replace(structure, max_components=structure.max_components + 1)
    is_capped = replace(search, structure=wider).would_open(problem.allocator(), solution, rng)
    return replace(solution, status=Status.CAPPED) if is_capped else solution
