import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.pool import Pool
from hardbayes.topics import choice
from hardbayes.topics.choice import MAX_LOCAL, global_penalty, group_documents, local_rate
from hardbayes.topics.problem import SharedTopics
from tests.topics.cases import planted
from tests.topics.estimator_cases import random_counts, structure_of


def groups_of(counts):
    return group_documents(sparse.csr_array(counts), 20, np.random.RandomState(0))


def totals_of(counts, k, n_threads=1):
    with Pool(n_threads) as pool:
        return groups_of(counts).totals(k, np.random.RandomState(0), pool)


def test_groups_of_similar_documents():
    totals = totals_of(planted(60), 3)
    assert totals.shape == (9, 3)
    assert sorted((totals > 0).sum(axis=0).tolist()) == [3, 3, 3]
    np.testing.assert_array_equal(totals.sum(axis=1), planted(60).sum(axis=0))


def test_one_group_is_all_documents():
    np.testing.assert_array_equal(totals_of(planted(), 1)[:, 0], planted().sum(axis=0))


@pytest.mark.parametrize(("few", "n_starts"), [(9, 3), (8, 2)])
def test_few_words_begin_with_a_topic_each(few, n_starts, monkeypatch):
    monkeypatch.setattr(choice, "FEW_WORDS", few)
    with Pool(1) as pool:
        starts = groups_of(planted()).starts(np.random.RandomState(0), pool)
    assert len(starts) == n_starts
    for totals in starts:
        np.testing.assert_array_equal(totals.sum(axis=1), planted().sum(axis=0))
    assert n_starts == 2 or np.count_nonzero(starts[-1]) == 9


def test_threads_do_not_matter():
    np.testing.assert_array_equal(*(totals_of(random_counts(0, 90), 5, n) for n in (1, 2)))


def test_large_corpora_are_sampled(monkeypatch):
    monkeypatch.setattr(choice, "SAMPLE", 60)
    sample = groups_of(planted(90)).weighted
    assert 15 <= sample.shape[0] <= 25 and sample.nnz <= 75


def test_equal_documents_have_equal_coordinates():
    counts = random_counts(0, 40, 30)
    found = groups_of(np.repeat(counts, 3, axis=0)).coordinates.reshape(40, 3, -1)
    np.testing.assert_array_equal(found, found[:, :1].repeat(3, axis=1))


def test_documents_without_words_are_left_out():
    counts = planted()
    counts[4] = 0
    assert groups_of(counts).weighted.shape[0] == 29


def test_the_local_penalty_grows_with_structure():
    rates = []
    for counts in (random_counts(0, 200, 9, 2.0), planted(200)):
        totals = totals_of(counts, 5)
        rng = np.random.RandomState(0)
        rates.append(local_rate(groups_of(counts), totals, structure_of(counts), rng))
    assert 0 < rates[0] < rates[1] <= MAX_LOCAL


def test_the_global_penalty_by_the_formula():
    counts = random_counts(0, 40)
    structure = structure_of(counts)
    found = global_penalty(groups_of(counts), structure, 2.0, np.random.RandomState(0))
    random = groups_of(counts).random_totals(20, np.random.RandomState(0))
    assert random.shape == (8, 20) and random.sum() == counts.sum()
    one = structure.topic_costs(random.sum(axis=1, keepdims=True))[0]
    saved = (one - structure.topic_costs(random).sum()) / 19
    np.testing.assert_allclose(found, 0.4 * max(saved, 0) + 10.0)


@pytest.mark.parametrize("counts", [np.ones((1, 1)), np.array([[1.0, 2.0]]), np.ones((2, 1))])
def test_tiny_corpora(counts):
    structure = SharedTopics(np.ones(counts.shape[1]), 1.0, False)
    totals = totals_of(counts, 20)
    rate = local_rate(groups_of(counts), totals, structure, np.random.RandomState(0))
    assert 0 <= rate <= MAX_LOCAL
    assert global_penalty(groups_of(counts), structure, 1.0, np.random.RandomState(0)) >= 5.0
