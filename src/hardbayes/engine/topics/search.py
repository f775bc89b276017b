"""Several starts of a fit of topics; and the global penalty at which there are about so many."""

from collections.abc import Sequence
from dataclasses import replace

from numpy.random import RandomState

from hardbayes.engine.status import Status
from hardbayes.engine.topics.descent import Limits, Report, TopicDescent, TopicSolution
from hardbayes.moves.topics.state import TopicState

MAX_PENALTIES = 8  # tried for a number of topics
NEAR = 0.05  # share of that number by which it may be missed
FAR = 0.1  # and the share from which that is said
STEP = 2.0  # least factor between penalties before there is one on either side
STEEPNESS = 1.5  # on text, penalties fall about with this power of the number of topics


def best_of_starts(
    starts: Sequence[TopicState], rng: RandomState, limits: Limits, report: Report
) -> TopicSolution:
    """Return the solution with the lowest objective, the first of equals."""
    solutions = [TopicDescent(start, rng, limits, report).run() for start in starts]
    return min(solutions, key=lambda solution: solution.objective)


def with_about_n_topics(
    n_topics: int, start: TopicState, rng: RandomState, limits: Limits, report: Report
) -> TopicSolution:
    """Return a solution with about ``n_topics`` topics, by a search over global penalties.

    A descent begins where the one before it ended if that had too many topics, and at the start if
    it had too few: merges are found more surely than splits. Where the number jumps past the wished
    one from penalty to penalty, the last descent is one with that many topics at most.
    """
    state = start
    low, high = 0.0, float("inf")  # the last penalties with too many topics, and with too few
    lowest = float("inf")  # of all with too many
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
            low, lowest = penalty, min(penalty, lowest)
        else:
            high = penalty
        if low and high < float("inf"):
            penalty = (low * high) ** 0.5
        else:
            ratio = (state.n_topics / n_topics) ** STEEPNESS
            penalty *= max(STEP, ratio) if missed > 0 else min(1 / STEP, ratio)
        state = at_penalty(state if missed > 0 else start, penalty)
    assert best is not None  # there is at least one descent
    if _is_far(best, n_topics) and low:
        limits = limits._replace(max_topics=n_topics)
        best = TopicDescent(at_penalty(start, lowest), rng, limits, report).run()
    if _is_far(best, n_topics):
        return best._replace(status=Status.CAPPED)
    return best._replace(status=Status.CONVERGED) if best.status is Status.CAPPED else best


def _is_far(solution: TopicSolution, n_topics: int) -> bool:
    return abs(solution.state.n_topics - n_topics) > FAR * n_topics


def at_penalty(state: TopicState, penalty: float) -> TopicState:
    """Return the state under another global penalty."""
    structure = replace(state.structure, global_penalty=penalty)
    objective = structure.objective(state.totals, state.documents.penalties, state.sets.sizes)
    return replace(state, structure=structure, objective=objective)
