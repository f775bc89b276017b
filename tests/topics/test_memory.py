import numpy as np
import pytest

from hardbayes.topics import memory
from hardbayes.topics.memory import WordLabels
from tests.topics.estimator_cases import (
    document_cost,
    documents_of,
    lists_of,
    random_counts,
    random_topics,
    sets_of,
    structure_of,
    totals_of,
)

COUNTS = random_counts(0, n=40, v=12, rate=2.0)
TOPICS = random_topics(1, 12, 5, 1)
EMPTY = sets_of([[]] * 40)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(memory, "TILE_WORK", 256)


def test_a_sweep_gives_sets_totals_and_losses():
    documents = documents_of(COUNTS, 2.0)
    sets, totals, losses = documents.sweep(TOPICS, EMPTY)

    np.testing.assert_array_equal(totals.sum(axis=1), COUNTS.sum(axis=0))
    np.testing.assert_array_equal(totals, totals_of(documents, TOPICS, sets))
    assert losses[0] == 0 and (losses[1:] >= 0).all()
    costs = [
        document_cost(row, TOPICS.costs, own, 1, 2.0)
        for row, own in zip(COUNTS, lists_of(sets), strict=True)
    ]
    _, fits = documents.shares(TOPICS, sets)
    np.testing.assert_allclose(fits + 2.0 * sets.sizes, costs)
    assert (EMPTY.sizes == 0).all(), "arguments are left alone"


def test_sets_grow_beyond_their_room():
    documents = documents_of(COUNTS, 0.0)
    narrow, wide = sets_of([[]] * 40, room=1), sets_of([[]] * 40, room=8)
    assert lists_of(documents.choose(TOPICS, narrow)) == lists_of(documents.choose(TOPICS, wide))


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_and_tiles_do_not_matter(n_threads, small_tiles):
    one, several = documents_of(COUNTS, 1.5), documents_of(COUNTS, 1.5, n_threads)
    structure = structure_of(COUNTS)
    for a, b in zip(one.sweep(TOPICS, EMPTY), several.sweep(TOPICS, EMPTY), strict=True):
        for left, right in zip(a, b, strict=True):
            np.testing.assert_array_equal(left, right)
    sets = one.sweep(TOPICS, EMPTY).sets
    ratios = [
        documents.ratios(TOPICS, sets, structure.prior, 3, np.random.RandomState(0))
        for documents in (one, several)
    ]
    np.testing.assert_array_equal(*ratios)
    for left, right in zip(
        one.split(TOPICS, sets, ratios[0]), several.split(TOPICS, sets, ratios[0]), strict=True
    ):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.cheapest_topics(TOPICS), several.cheapest_topics(TOPICS))


def test_one_thread_adds_up_where_totals_are_large(monkeypatch):
    expected = documents_of(COUNTS).sweep(TOPICS, EMPTY).totals
    monkeypatch.setattr(memory, "MAX_SHARED", 0)
    found = documents_of(COUNTS, n_threads=2).sweep(TOPICS, EMPTY).totals
    np.testing.assert_array_equal(found, expected)


def test_divisions_come_from_a_sample_and_are_of_the_right_topics(monkeypatch):
    counts = np.zeros((30, 6))
    counts[:15, :3], counts[15:, 3:] = 2.0, 3.0
    documents, topics = documents_of(counts), random_topics(0, 6, 1)
    sets, structure = sets_of([[0]] * 30), structure_of(counts)
    monkeypatch.setattr(memory, "SAMPLE", 40)
    ratios = documents.ratios(topics, sets, structure.prior, 8, np.random.RandomState(0))

    signs = np.sign(ratios[:, 0])
    assert (signs[:3] == signs[0]).all() and (signs[3:] == -signs[0]).all()
    sides, second = documents.split(topics, sets, ratios)
    assert len(set(sides[:15, 0].tolist())) == 1 and sides[0, 0] != sides[-1, 0]
    np.testing.assert_array_equal(second[:, 0], counts[sides[:, 0] == 1].sum(axis=0))


def test_topics_of_words_make_totals_and_sets():
    documents = documents_of(COUNTS)
    cells = COUNTS[COUNTS > 0]
    topics = (np.arange(len(cells)) % 3).astype(np.int32)
    where = np.full(COUNTS.shape, -1)
    where[COUNTS > 0] = topics

    # Each word is a local cluster of its own, and topic 1 of four has none.
    starts = documents.corpus.starts
    own = np.arange(len(topics)) - np.repeat(starts[:-1], np.diff(starts))
    names = np.array([0, 2, 3], np.int32)
    labels = WordLabels(own.astype(np.int32), names[topics], np.diff(starts).astype(np.int32))
    found = documents.collect(labels, 4)
    np.testing.assert_array_equal(found.topics, topics)
    np.testing.assert_array_equal(found.labels.associations, topics)
    expected = [(COUNTS * (where == k)).sum(axis=0) for k in range(3)]
    np.testing.assert_array_equal(found.totals.T, expected)
    assert lists_of(found.sets) == [sorted(set(row[row >= 0].tolist())) for row in where]
