"""A graph in memory against dense matrices."""

import numpy as np
import pytest

from hardbayes.graph import clusters
from tests.graph.graphs import literal_costs, memory_graph, random_graph


@pytest.fixture(params=[1 << 22, 7], ids=["one tile", "tiles"])
def tiles(request, monkeypatch):
    monkeypatch.setattr(clusters, "TILE", request.param)


@pytest.mark.usefixtures("tiles")
def test_statistics_are_sums_over_blocks():
    adjacency, graph = random_graph()
    labels = np.random.default_rng(1).integers(0, 4, 20)
    found = graph.statistics(labels, 5)
    member = np.eye(5)[labels]
    np.testing.assert_allclose(found.inside, np.diag(member.T @ adjacency @ member))
    np.testing.assert_allclose(found.volumes, member.T @ adjacency.sum(axis=1))


@pytest.mark.usefixtures("tiles")
def test_a_coarser_graph_has_the_links_between_clusters():
    adjacency, graph = random_graph()
    labels = np.random.default_rng(1).integers(0, 4, 20)
    coarse = graph.statistics(labels, 4).coarser
    member = np.eye(4)[labels]
    expected = member.T @ adjacency @ member
    np.testing.assert_allclose(np.diag(expected), coarse.inner)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(coarse.links().toarray(), expected)
    names = np.array([0, 1, 0, 1])
    here, there = coarse.statistics(names, 2), graph.statistics(names[labels], 2)
    np.testing.assert_allclose(here.inside, there.inside)
    np.testing.assert_allclose(here.volumes, there.volumes)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("seed", range(6))
def test_moves_lower_the_sum_of_costs_until_none_does(seed):
    adjacency, graph = random_graph(seed)
    rng = np.random.default_rng(seed)
    start, penalty = rng.integers(0, 5, 20), 0.3

    def value(labels):
        return literal_costs(adjacency, labels, 20).sum() + penalty * len(np.unique(labels))

    labels, n_moves = graph.move(start, penalty, 20, rng.permutation(20), 100)
    assert n_moves > 0 and value(labels) < value(start)
    again, none = graph.move(labels, penalty, 20, np.arange(20), 100)
    for i in range(20):  # no vertex gains, whichever adjacent cluster or new one it goes to
        for other in {*labels[adjacency[i] > 0], (set(range(20)) - set(labels)).pop()}:
            moved = np.where(np.arange(20) == i, other, again)
            assert value(moved) > value(again) - 1e-9
    if none == 0:
        np.testing.assert_array_equal(labels, again)


def test_a_cap_and_a_bound_on_visits():
    _, graph = random_graph(3)
    order = np.arange(20)
    free, _ = graph.move(np.zeros(20, int), 0.0, 20, order, 100)
    assert len(np.unique(free)) > 1
    capped, n_moves = graph.move(np.zeros(20, int), 0.0, 1, order, 100)
    assert n_moves == 0 and (capped == 0).all()
    few = graph.move(np.arange(20), 0.5, 20, order, 1)[1]
    assert 0 < few <= graph.move(np.arange(20), 0.5, 20, order, 100)[1]


def test_moves_within_stay_within():
    _, graph = random_graph(4)
    within = np.arange(20) % 3
    labels, n_moves = graph.move(np.arange(20), 0.8, 20, np.arange(20), 100, within)
    assert n_moves > 0
    for label in np.unique(labels):
        assert len(set(within[labels == label])) == 1


def test_parts_are_blocks():
    adjacency, graph = random_graph()
    sets = [np.array([1, 4, 7, 8]), np.array([0, 2])]
    for ids, part in zip(sets, graph.parts(sets), strict=True):
        block = adjacency[np.ix_(ids, ids)]
        np.testing.assert_allclose(part.links().toarray(), block - np.diag(np.diag(block)))
        np.testing.assert_allclose(part.inner, np.diag(block))
        np.testing.assert_allclose(part.volume, adjacency.sum(axis=1)[ids])


@pytest.mark.usefixtures("tiles")
def test_links_to_earlier():
    adjacency, graph = random_graph()
    order = np.random.default_rng(2).permutation(20)
    sorted_links = (adjacency - np.diag(np.diag(adjacency)))[np.ix_(order, order)]
    np.testing.assert_allclose(graph.links_to_earlier(order), np.tril(sorted_links).sum(axis=1))


def test_nothing_is_changed():
    _, graph = random_graph()
    before = [array.copy() for array in (*graph.rows, graph.inner, graph.volume)]
    labels, order = np.arange(20) % 4, np.arange(20)
    graph.move(labels, 0.3, 20, order, 8)
    assert graph.statistics(labels, 4).coarser.n == 4
    after = (*graph.rows, graph.inner, graph.volume)
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    assert (labels == np.arange(20) % 4).all() and (order == np.arange(20)).all()


def test_two_triangles():
    block = np.ones((3, 3)) - np.eye(3)
    adjacency = np.kron(np.eye(2), block)
    adjacency[2, 3] = adjacency[3, 2] = 0.1
    labels, _ = memory_graph(adjacency).move(np.arange(6), 0.5, 6, np.arange(6), 100)
    assert len(np.unique(labels)) == 2 and len(set(labels[:3])) == len(set(labels[3:])) == 1
