import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.topics import descent
from hardbayes.topics.descent import Limits, at_penalty, best_of_starts, with_about_n_topics
from tests.topics.cases import planted, state_of
from tests.topics.estimator_cases import random_counts

LIMITS = Limits(max_topics=40, max_steps=50, may_add_background=False)


def nothing(*_):
    pass


def test_the_best_start_is_kept():
    starts = [state_of(planted(), labels) for labels in (np.zeros(30, int), np.arange(30) % 3)]
    best = best_of_starts(starts, np.random.RandomState(0), LIMITS, nothing)
    rng = np.random.RandomState(0)
    singles = [best_of_starts([start], rng, LIMITS, nothing) for start in starts]
    assert best.objective == min(single.objective for single in singles)


@pytest.mark.parametrize("wished", [2, 6, 12])
def test_a_wished_number_is_reached(wished):
    counts = random_counts(0, n=120, v=30, rate=0.6)
    start = state_of(counts, np.zeros(120, int), penalty=6.0, global_penalty=10.0)
    solution = with_about_n_topics(wished, start, np.random.RandomState(0), LIMITS, nothing)
    assert abs(solution.state.n_topics - wished) <= 0.1 * wished
    assert solution.status is Status.CONVERGED


def test_where_no_penalty_gives_the_number_it_is_a_cap(monkeypatch):
    monkeypatch.setattr(descent, "MAX_PENALTIES", 1)  # which gives three topics
    start = state_of(planted(60), np.arange(60) % 2, penalty=8.0, global_penalty=100.0)
    solution = with_about_n_topics(2, start, np.random.RandomState(0), LIMITS, nothing)
    assert solution.state.n_topics == 2 and solution.status is Status.CONVERGED


def test_a_number_that_cannot_be_reached_is_said():
    start = state_of(planted(4), np.zeros(4, int))
    solution = with_about_n_topics(30, start, np.random.RandomState(0), LIMITS, nothing)
    assert solution.status is Status.CAPPED and solution.state.n_topics < 27


def test_another_penalty_changes_the_objective_by_the_number_of_topics():
    state = state_of(planted(), np.arange(30) % 3)
    np.testing.assert_allclose(at_penalty(state, 10.0).objective - state.objective, 3 * 7.0)
