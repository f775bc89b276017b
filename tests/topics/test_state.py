import numpy as np

from hardbayes.topics.state import propose, rename_topics
from tests.topics.cases import assert_consistent, planted, state_of
from tests.topics.estimator_cases import lists_of, sets_of


def test_a_sweep_finds_the_documents_of_each_topic():
    counts = planted()
    labels = np.arange(30) % 3
    labels[:3] = 0  # two documents begin in the wrong topic
    state = state_of(counts, labels)

    assert_consistent(state)
    assert lists_of(state.sets) == [[d % 3] for d in range(30)]


def test_topics_without_words_are_dropped():
    counts = planted()
    labels = np.arange(30) % 3
    labels[0] = 3  # alone with words that topic 0 has, too
    state = state_of(counts, labels, penalty=50.0)

    assert state.n_topics == 3
    assert_consistent(state)


def test_a_proposal_has_the_exact_change():
    state = state_of(planted(), np.zeros(30, int))
    better = state_of(planted(), np.arange(30) % 3)
    proposal = propose(state, better.sets, better.totals)

    assert proposal.change == proposal.outcome.objective - state.objective < 0
    assert propose(better, state.sets, state.totals) is None, "no rise is proposed"


def test_renamed_sets_have_no_repeats():
    sets = sets_of([[0, 1, 2], [2, 0], [1], []])
    assert lists_of(rename_topics(sets, np.array([0, 0, 1]))) == [[0, 1], [0, 1], [0], []]
