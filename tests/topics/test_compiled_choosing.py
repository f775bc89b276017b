import numpy as np
import pytest

from hardbayes.topics.compiled import choose
from tests.topics.estimator_cases import (
    corpus_of,
    document_cost,
    lists_of,
    random_counts,
    random_topics,
    sets_of,
)


def run(counts, topics, sets, penalty):
    corpus = corpus_of(counts, penalty)
    n, v = counts.shape
    regrets = np.zeros(sets.topics.shape)
    scratch = np.empty(v), np.empty(v), np.empty(v, np.int64), np.empty(topics.costs.shape[1])
    return choose(corpus, *topics, sets, regrets, 0, n, *scratch), regrets


@pytest.mark.parametrize("n_free", [0, 1])
@pytest.mark.parametrize("penalty", [0.1, 1.0, 5.0])
def test_no_addition_drop_or_swap_lowers_the_cost_of_a_document(n_free, penalty):
    counts, topics = random_counts(0), random_topics(1, 8, 5, n_free)
    sets = sets_of([[n_free]] * len(counts), room=5)
    stopped, regrets = run(counts, topics, sets, penalty)

    assert stopped == len(counts)
    for row, own, regret in zip(counts, lists_of(sets), regrets, strict=True):
        cost = document_cost(row, topics.costs, own, n_free, penalty)
        others = [k for k in range(n_free, 5) if k not in own]
        rivals = [[*own, k] for k in others]
        rivals += [[k for k in own if k != gone] for gone in own]
        rivals += [[*(j for j in own if j != gone), k] for gone in own for k in others]
        costs = [document_cost(row, topics.costs, rival, n_free, penalty) for rival in rivals]
        assert cost <= min(costs) + 1e-12 * cost
        assert (regret[: len(own)] >= -1e-9).all()


def test_one_or_two_topics_are_the_best_of_all_sets_of_that_size():
    counts, topics = random_counts(3), random_topics(4, 8, 4)
    sets = sets_of([[]] * len(counts))
    run(counts, topics, sets, 100.0)

    for row, own in zip(counts, lists_of(sets), strict=True):
        costs = [document_cost(row, topics.costs, [k], 0, 100.0) for k in range(4)]
        assert own == [int(np.argmin(costs))]


def test_regrets_are_the_cost_of_the_best_set_one_change_away_without_the_topic():
    counts, topics = random_counts(5), random_topics(6, 8, 4)
    sets = sets_of([[0]] * len(counts))
    _, regrets = run(counts, topics, sets, 0.5)

    for d, row in enumerate(counts):
        own = sets.topics[d, : sets.sizes[d]].tolist()
        cost = document_cost(row, topics.costs, own, 0, 0.5)
        for position, gone in enumerate(own):
            left = [k for k in own if k != gone]
            others = [k for k in range(4) if k not in own]
            rivals = [left, *([*left, k] for k in others)]
            best = min(document_cost(row, topics.costs, rival, 0, 0.5) for rival in rivals)
            np.testing.assert_allclose(regrets[d, position], best - cost, atol=1e-9)


def test_a_document_without_room_is_returned():
    counts, topics = random_counts(7, rate=5.0), random_topics(8, 8, 6)
    sets = sets_of([[0]] * len(counts), room=1)
    stopped, _ = run(counts, topics, sets, 0.0)

    assert stopped == 0, "without a penalty every document would have several topics"


def test_an_empty_document_has_no_topics():
    counts = random_counts(9)
    counts[2] = 0
    sets = sets_of([[1]] * len(counts))
    run(counts, random_topics(0, 8, 3), sets, 1.0)

    assert sets.sizes[2] == 0 and (np.delete(sets.sizes, 2) > 0).all()
