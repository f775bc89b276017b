import numpy as np

from hardbayes.topics import memory
from hardbayes.topics.problem import NEVER
from tests.topics.estimator_cases import documents_of, random_counts, structure_of


def one_pass(counts):
    documents = documents_of(counts, 0.4)
    structure = structure_of(counts, 0.0)
    costs = structure.costs(counts.sum(axis=0)[:, np.newaxis])
    labels, n_topics = documents.published_pass(costs, NEVER, 0.5, documents.one_cluster_each())
    first = np.repeat(documents.corpus.starts[:-1], np.diff(documents.corpus.starts))
    return labels.associations[first + labels.labels], n_topics, labels


def test_topics_opened_in_a_pass_need_room(monkeypatch):
    counts = random_counts(0)
    expected, n_topics, labels = one_pass(counts)
    assert n_topics > 3, "words above the penalties open topics"
    monkeypatch.setattr(memory, "ROOM", 1)
    found, same, _ = one_pass(counts)
    np.testing.assert_array_equal(found, expected)
    assert same == n_topics
    assert (labels.n_local >= 1).all()


def test_local_clusters_of_a_document_have_different_topics():
    counts = random_counts(1)
    topics, _, labels = one_pass(counts)
    starts = documents_of(counts).corpus.starts
    for d, n_local in enumerate(labels.n_local):
        own = labels.associations[starts[d] : starts[d] + n_local]
        assert len(set(own.tolist())) == n_local
        assert set(topics[starts[d] : starts[d + 1]].tolist()) == set(own.tolist())
