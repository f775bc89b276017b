from dataclasses import replace

import numpy as np

from hardbayes.topics.moves import add_background
from tests.topics.cases import assert_consistent, planted, state_of


def with_common_words(seed=0):
    rng = np.random.default_rng(seed)
    return np.hstack([planted(60), rng.multinomial(40, np.full(10, 0.1), 60)])


def test_words_that_all_documents_use_go_to_the_background():
    state = state_of(with_common_words(), np.arange(60) % 3, penalty=8.0)
    proposal = add_background(state)

    assert proposal.change < 0
    outcome = proposal.outcome
    assert outcome.structure.has_background and outcome.n_topics == 3
    assert_consistent(outcome)
    common = outcome.totals[9:]
    assert common[:, 0].sum() > 0.5 * common.sum()
    assert outcome.totals[:9, 0].sum() < 0.1 * outcome.totals[:9].sum()
    assert add_background(outcome) is None, "there is one"


def test_it_is_added_where_it_is_worth_its_share():
    state = state_of(with_common_words(), np.arange(60) % 3, penalty=8.0)
    dear = replace(state, structure=replace(state.structure, background_share=50.0))
    assert add_background(dear) is None
    assert add_background(state_of(planted(), np.zeros(30, int))) is None, "one topic is enough"
