"""Moves of groups of vertices."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graph.graphs import literal_costs, memory_graph, random_graph

PENALTIES = (0.1, 0.2, 0.3, 0.4)


def regroup(graph, penalties, max_clusters, rng, labels=None):
    return replace(graph, penalties=penalties, max_clusters=max_clusters).regroup(labels, rng)


def value(adjacency, labels):
    k = int(labels.max()) + 1
    return literal_costs(adjacency, labels, k).sum() + PENALTIES[-1] * k


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises_and_no_cluster_is_empty(seed):
    adjacency, graph = random_graph(seed, n=40, share=0.15)
    rng = np.random.RandomState(seed)
    found = regroup(graph, PENALTIES, 40, rng)
    assert value(adjacency, found) < min(0.0, value(adjacency, np.arange(40)))
    for labels in (found, np.arange(40) % 5, np.zeros(40, int)):
        moved = regroup(graph, PENALTIES, 40, rng, labels)
        assert value(adjacency, moved) <= value(adjacency, labels) + 1e-9
        assert (np.bincount(moved) > 0).all()


def test_cliques_are_found_at_once():
    adjacency = np.kron(np.eye(6), np.ones((5, 5))) - np.eye(30)
    for at in range(0, 30, 5):
        adjacency[at, at - 1] = adjacency[at - 1, at] = 1.0
    labels = regroup(memory_graph(adjacency), PENALTIES, 30, np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(labels), [5] * 6)
    assert all(len(set(labels[at : at + 5])) == 1 for at in range(0, 30, 5))


def test_few_clusters_merge_and_a_cap_holds():
    _, graph = random_graph(1, n=30)
    labels = regroup(graph, (0.9,) * 4, 30, np.random.RandomState(0), np.arange(30) // 3)
    assert labels.max() + 1 < 10
    capped = regroup(graph, (0.0,) * 4, 3, np.random.RandomState(0), np.arange(30) % 3)
    assert capped.max() + 1 <= 3
