"""Three ways to sweep and refit: as published, with components integrated out, by local search."""

from hardbayes.engine.features.descent import Point, Step
from hardbayes.executors.features.protocol import Allocation, FeatureRows, Sums
from hardbayes.moves.features.births import open_at_rows
from hardbayes.moves.features.collapsed import swept_collapsed
from hardbayes.moves.features.refitting import refitted, without_dependent
from hardbayes.structure.feature_allocation import FeatureAllocation


def published_step(
    rows: FeatureRows,
    structure: FeatureAllocation,
    allocation: Allocation,
    is_refitted: bool,
    _: int,
) -> Step:
    """Sweep once by single flips, open features at single rows, refit."""
    sums = rows.sweep(allocation, literal=True)
    opened = open_at_rows(rows, structure, allocation, sums.costs)
    if opened is not None:
        allocation = opened
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
    allocation = allocation if is_refitted else refitted(rows, allocation)
    return _refit(rows, *swept_collapsed(rows, structure, allocation), is_refitted=True)


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
        allocation = without_dependent(allocation, found.sums)
        points[-1] = Point(found.sums.fit, len(allocation.components))
    return Step(allocation, points, found.sums, found.converged)


def _refit(rows: FeatureRows, allocation: Allocation, sums: Sums, is_refitted: bool) -> Step:
    """Refit after one sweep, unless nothing has changed."""
    converged = sums.changed == 0 and is_refitted
    if not converged:
        allocation = refitted(rows, allocation, sums)
    return Step(allocation, [Point(sums.fit, len(allocation.components))], sums, converged)
