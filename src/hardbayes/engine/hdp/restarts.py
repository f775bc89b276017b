"""Several starts of a fit of the hard HDP, of which the best is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.engine.hdp.descent import GroupedDescent, GroupedSolution
from hardbayes.engine.hdp.objective import GroupedTerms
from hardbayes.engine.partition.restarts import Starts, draw_visit_rank, first_centres, minimise
from hardbayes.matrices import Floats, inverse_permutation
from hardbayes.structure.hdp import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.moves.hdp.state import GroupedState


class Found(NamedTuple):
    """A solution to begin with."""

    centres: Floats  # (k, d)
    labels: NDArray[np.int32] | None  # (n,); None where each row begins at the cheapest centre


def minimise_grouped(
    state: GroupedState,
    grouped: GroupedPartition,
    opening: Floats,
    mean: Callable[[], Floats],
    starts: Starts,
    rng: np.random.RandomState,
    report: Callable[[int, int, int, int], None],
    found: Found | None = None,
) -> GroupedSolution:
    """Return the solution with the lowest objective.

    ``opening`` (n,) or (1,): what each row pays for a cluster, the local penalty aside; ``mean()``
    returns the mean (d,) of all rows; ``report(start, step, clusters, changed)`` is called after
    every step; ``found``: where the first start begins.
    """
    rows = state.rows
    best: GroupedSolution | None = None
    for start in range(starts.number if starts.random else 1):
        order = inverse_permutation(draw_visit_rank(rows.n_rows, starts.order, rng))
        if found is not None and start == 0:
            state.start(*found)
        else:
            openings = grouped.row_openings(opening)
            state.start(
                first_centres(rows, grouped.partition, openings, mean, starts.init, rng)
            )  # fmt: skip
        descent = GroupedDescent(
            state,
            grouped,
            opening,
            order.astype(np.intp),
            rng,
            lambda step, k, changed, start=start: report(start, step, k, changed),  # type: ignore[misc]
        )
        solution = descent.run(starts.search, starts.max_steps)
        if best is None or solution.terms.total(grouped) < best.terms.total(grouped):
            best = solution
    assert best is not None  # there is at least one start
    return best


def minimise_without_groups(
    state: GroupedState,
    grouped: GroupedPartition,
    opening: Floats,
    mean: Callable[[], Floats],
    starts: Starts,
    rng: np.random.RandomState,
    report: Callable[[int, int, int, int], None],
) -> GroupedSolution:
    """Return the solution for one group, or without local penalty: groups do not matter.

    It is a partition whose clusters cost both penalties.
    """
    partition = grouped.partition
    both = replace(partition, penalty=partition.penalty + grouped.local_penalty)
    openings = grouped.row_openings(opening)
    solution = minimise(state.base, both, openings, mean, starts, rng, report)
    state.start(solution.centres, solution.labels)
    # Of one group there are as many local clusters as clusters, of several they cost nothing.
    return GroupedSolution(
        partition, solution.labels, state.ranks, solution.centres,
        GroupedTerms(solution.terms, state.n_local), solution.trace, solution.cluster_counts,
        solution.cluster_counts, solution.status, solution.n_splits, solution.n_merges,
    )  # fmt: skip
