import numpy as np

from hardbayes.topics.moves import find_splits, split, split_topics
from tests.topics.cases import assert_consistent, planted, state_of


def test_savings_of_divisions_are_exact():
    state = state_of(planted(), np.zeros(30, int))
    saved, sides, second = find_splits(state, np.random.RandomState(0))

    structure = state.structure
    parts = [structure.topic_costs(each) for each in (state.totals, second, state.totals - second)]
    np.testing.assert_allclose(saved, parts[0] - parts[1] - parts[2])
    member = sides[:, 0] == 1
    assert 0 < member.sum() < 30
    assert all(len(set(member[kind::3].tolist())) == 1 for kind in range(3)), "whole kinds"


def test_splits_are_proposed_where_they_pay():
    state = state_of(planted(), np.zeros(30, int))
    proposal = split(state, 10, np.random.RandomState(0))

    assert proposal.n_splits == 1 and proposal.outcome.n_topics == 2
    assert_consistent(proposal.outcome)
    assert split(state, 0, np.random.RandomState(0)) is None, "no room"
    dear = state_of(planted(), np.zeros(30, int), global_penalty=1e6)
    assert split(dear, 10, np.random.RandomState(0)) is None


def test_only_chosen_topics_are_divided():
    labels = np.arange(30) % 3 // 2  # two kinds in topic 0, one in topic 1
    state = state_of(planted(), labels)
    found = find_splits(state, np.random.RandomState(0))
    proposal = split_topics(state, np.array([0]), found)

    assert proposal.outcome.n_topics == 3
    assert_consistent(proposal.outcome)


def test_without_a_prior_divisions_are_found_too():
    state = state_of(planted(), np.zeros(30, int), prior_weight=0.0)
    proposal = split(state, 10, np.random.RandomState(0))
    assert proposal is not None and proposal.outcome.n_topics == 2
