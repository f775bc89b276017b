"""Several starts of a fit of topics; and the global penalty at which there are about so many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hardbayes.engine.status import Status
from hardbayes.engine.topics.descent import TopicDescent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import RandomState

    from hardbayes.engine.topics.descent import Limits, Report, TopicSolution
    from hardbayes.moves.topics.state import TopicState

MAX_PENALTIES = 16  # tried for a number of topics
NEAR = 0.05  # share of that number by which it may be missed
FAR = 0.1  # and the share from which that is said
STEP = 2.0  # factor between penalties before there is one on either side


def best_of_starts(
    starts: Sequence[TopicState], rng: RandomState, limits: Limits, report: Report
) -> TopicSolution:
    """Return the solution with the lowest objective, the first of equals."""
    solutions = [TopicDescent(start, rng, limits, report).run() for start in starts]
    return min(solutions, key=lambda solution: solution.objective)


def about(
    n_topics: int, start: TopicState, rng: RandomState, limits: Limits, report: Report
) -> TopicSolution:
    """Return a solution with about ``n_topics`` topics, by a search over global penalties.

    A descent begins where the one before it ended if that had too many topics, and at the start if
    it had too few: merges are found more surely than splits.
    """
    state = start
    lowest, highest = 0.0, float("inf")
    best: TopicSolution | None = None
    for _ in range(MAX_PENALTIES):
        solution = TopicDescent(state, rng, limits, report).run()
        state = solution.state
        missed = state.n_topics - n_topics
        if best is None or abs(missed) < abs(best.state.n_topics - n_topics):
            best = solution
        penalty = state.structure.global_penalty
        if abs(missed) <= NEAR * n_topics or penalty == 0.0:
            break
        if missed > 0:
            lowest = penalty
        else:
            highest = penalty
        if lowest and highest < float("inf"):
            penalty = (lowest * highest) ** 0.5
        else:
            penalty = penalty * STEP if missed > 0 else penalty / STEP
        state = priced(state if missed > 0 else start, penalty)
    assert best is not None  # there is at least one descent
    is_far = abs(best.state.n_topics - n_topics) > FAR * n_topics
    return best._replace(status=Status.CAPPED) if is_far else best


def priced(state: TopicState, penalty: float) -> TopicState:
    """Return the state under another global penalty."""
    structure = replace(state.structure, global_penalty=penalty)
    objective = structure.objective(state.totals, state.documents.penalties, state.sets.sizes)
    return replace(state, structure=structure, objective=objective)
