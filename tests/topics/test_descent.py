import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.topics.descent import Limits, TopicDescent
from tests.topics.cases import assert_consistent, planted, state_of
from tests.topics.test_background import with_common_words

LIMITS = Limits(max_topics=20, max_steps=50, may_add_background=False)


def descent(state, limits=LIMITS):
    return TopicDescent(state, np.random.RandomState(0), limits)


@pytest.mark.parametrize("labels", [np.zeros(30, int), np.arange(30) % 3, np.arange(30) % 9])
def test_three_kinds_of_documents_are_three_topics(labels):
    solution = descent(state_of(planted(), labels, penalty=8.0, global_penalty=40.0)).run()

    assert solution.status is Status.CONVERGED
    assert solution.state.n_topics == 3
    assert_consistent(solution.state)
    assert (np.diff(solution.history) < 0).all()
    assert solution.objective == solution.history[-1] == solution.state.objective


def test_steps_are_reported():
    seen = []
    state = state_of(planted(), np.zeros(30, int))
    solution = TopicDescent(
        state, np.random.RandomState(0), LIMITS, lambda *step: seen.append(step)
    ).run()
    assert [step[0] for step in seen] == list(range(2, len(solution.history) + 1))
    assert [step[2] for step in seen] == solution.history[1:]


def test_limits():
    start = state_of(planted(), np.zeros(30, int))
    capped = descent(start, LIMITS._replace(max_topics=2)).run()
    assert capped.status is Status.CAPPED and capped.state.n_topics == 2
    stopped = descent(start, LIMITS._replace(max_steps=1)).run()
    assert stopped.status is Status.OUT_OF_STEPS and len(stopped.history) == 1


def test_a_background_is_added_where_it_may_be():
    start = state_of(with_common_words(), np.zeros(60, int), penalty=8.0, global_penalty=40.0)
    assert not descent(start).run().state.structure.has_background
    allowed = descent(start, LIMITS._replace(may_add_background=True)).run()
    assert allowed.state.structure.has_background
