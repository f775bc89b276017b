import numpy as np

from hardbayes.topics.moves import delete, drop_topic, merge, merge_changes, merge_topics
from tests.topics.cases import assert_consistent, planted, state_of
from tests.topics.estimator_cases import lists_of, sets_of


def test_changes_by_a_union_are_exact():
    state = state_of(planted(), np.arange(30) % 6, global_penalty=1.0)
    one, other, changes = merge_changes(state)

    structure, costs = state.structure, state.own_costs
    for a, b, change in zip(one, other, changes, strict=True):
        merge = structure.topic_costs(state.totals[:, [a]] + state.totals[:, [b]])[0]
        both = [{a, b} <= {*own} for own in lists_of(state.sets)]
        local = state.documents.penalties[both].sum()
        np.testing.assert_allclose(change, merge - costs[a] - costs[b] - 1.0 - local)
    assert (one < other).all() and (np.diff(changes) >= 0).all()


def test_halves_of_a_topic_are_merged():
    state = state_of(planted(), np.arange(30) % 6, global_penalty=50.0)
    assert state.n_topics == 6
    proposal = merge(state)

    assert proposal.n_merges == 3 and proposal.outcome.n_topics == 3
    assert_consistent(proposal.outcome)
    assert merge(proposal.outcome) is None, "different topics stay apart"


def test_united_topics_keep_all_words():
    state = state_of(planted(), np.arange(30) % 6, global_penalty=50.0)
    proposal = merge_topics(state, np.array([0, 1, 2, 0, 4, 5]), 1)
    assert proposal.outcome.n_topics == 5
    assert proposal.outcome.totals.sum() == state.totals.sum()


def test_a_topic_that_is_hardly_missed_is_deleted():
    labels = np.arange(30) % 3
    labels[0] = 3
    state = state_of(planted(), labels, penalty=5.0, global_penalty=50.0, prior_weight=0.5)
    assert state.n_topics == 4
    proposal = delete(state)

    assert proposal.outcome.n_topics == 3 and proposal.change < 0
    assert_consistent(proposal.outcome)
    assert delete(proposal.outcome) is None


def test_sets_without_a_topic():
    sets = drop_topic(sets_of([[0, 1, 2], [2], [1], [0]]), 1)
    assert lists_of(sets) == [[0, 1], [1], [], [0]]


def test_places_beyond_a_set_do_not_name_the_topic_that_is_gone():
    sets = sets_of([[0, 2], [1], [2]])
    sets.topics[1, 1:] = 2
    assert (drop_topic(sets, 2).topics < 2).all()
