"""Splits by eigenvectors."""

import numpy as np
import pytest

from hardbayes.graph import clusters
from hardbayes.graph.clusters import split_in_two
from tests.graph.graphs import literal_costs, memory_graph, random_graph


@pytest.mark.parametrize("most_dense", [96, 4], ids=["dense", "Lanczos"])
def test_two_communities_are_divided(most_dense, monkeypatch):
    monkeypatch.setattr(clusters, "MAX_DENSE", most_dense)
    rng = np.random.default_rng(0)
    community = rng.permutation(np.repeat([0, 1], 20))
    share = np.where(community[:, np.newaxis] == community, 0.6, 0.05)
    upper = np.triu(rng.uniform(size=(40, 40)) < share, 1).astype(float)
    adjacency = upper + upper.T
    split = split_in_two(memory_graph(adjacency), 0.0, np.random.RandomState(0))
    assert (split.halves == community).all() or (split.halves == 1 - community).all()
    halves = split.halves.astype(int)
    whole = literal_costs(adjacency, 0 * halves, 1).sum()
    assert split.saved == pytest.approx(whole - literal_costs(adjacency, halves, 2).sum())


def test_every_cut_along_an_order_is_measured():
    adjacency, graph = random_graph(1, n=9)
    order = np.random.default_rng(0).permutation(9)
    expected = []
    for at in range(1, 9):
        labels = np.zeros(9, int)
        labels[order[at:]] = 1
        expected.append(-literal_costs(adjacency, labels, 2).sum())
    np.testing.assert_allclose(clusters._cuts(graph, order), expected)


@pytest.mark.parametrize("seed", [4, 10])
def test_vertices_move_between_halves_where_the_cut_is_not_enough(seed):
    adjacency, graph = random_graph(seed)
    plain = split_in_two(graph, 0.0, np.random.RandomState(0))
    better = split_in_two(graph, plain.saved + 1e-9, np.random.RandomState(0))
    halves = better.halves.astype(int)
    whole = literal_costs(adjacency, 0 * halves, 1).sum()
    saved = whole - literal_costs(adjacency, halves, 2).sum()
    assert better.saved == pytest.approx(saved) and better.saved > plain.saved


def test_no_division_where_none_can_save_enough():
    adjacency, graph = random_graph(2)
    values = np.linalg.eigvalsh(adjacency / np.sqrt(np.outer(graph.volume, graph.volume)))
    bound = values[-2:].sum() - 1.0  # the whole graph has all its links inside
    assert split_in_two(graph, bound + 1e-6, np.random.RandomState(0)).saved == 0
    assert 0 < split_in_two(graph, 0.0, np.random.RandomState(0)).saved <= bound + 1e-12
    single = next(graph.parts([np.array([3])]))
    assert split_in_two(single, 0.0, np.random.RandomState(0)).saved == 0
