import numpy as np

from hardbayes.core.loop import Status
from hardbayes.topics.descent import LiteralDescent, same_partition
from tests.topics.estimator_cases import documents_of, random_counts, structure_of


def test_it_ends_where_words_stay_together():
    counts = random_counts(0)
    descent = LiteralDescent(documents_of(counts, 1.0), structure_of(counts, 0.0), lambda *_: None)
    solution = descent.run(50)

    assert solution.status is Status.CONVERGED
    assert (np.diff(solution.history) <= 1e-9).all()
    assert solution.objective == solution.state.objective
    assert not descent.sweep(), "another pass changes nothing"
    stopped = LiteralDescent(documents_of(counts, 1.0), structure_of(counts, 0.0), lambda *_: None)
    assert stopped.run(1).status is Status.OUT_OF_STEPS


def test_totals_are_those_of_the_words():
    counts = random_counts(1)
    descent = LiteralDescent(documents_of(counts, 0.7), structure_of(counts, 0.0), lambda *_: None)
    state = descent.run(50).state
    np.testing.assert_array_equal(state.totals.sum(axis=1), counts.sum(axis=0))
    assert state.totals.any(axis=0).all()


def test_partitions_are_compared_without_names():
    assert same_partition(np.array([0, 0, 1]), np.array([1, 1, 0]))
    assert not same_partition(np.array([0, 0, 1]), np.array([0, 1, 1]))
    assert not same_partition(np.array([0, 0, 0]), np.array([0, 0, 1]))
