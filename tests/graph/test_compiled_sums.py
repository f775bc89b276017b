"""Kernels of sums over links, called for parts of the vertices."""

import numpy as np

from hardbayes.graph import compiled
from tests.graph.graphs import random_graph


def test_sums_inside_add_up_over_calls():
    adjacency, graph = random_graph()
    labels = np.arange(20) % 3
    inside, volumes = np.zeros(3), np.zeros(3)
    for start, stop in ((0, 7), (7, 20)):
        compiled.sum_inside(
            *graph.rows, graph.inner, graph.volume, labels, inside, volumes, start, stop
        )
    member = np.eye(3)[labels]
    np.testing.assert_allclose(inside, np.diag(member.T @ adjacency @ member))
    np.testing.assert_allclose(volumes, member.T @ adjacency.sum(axis=1))


def test_links_between_clusters_are_counted_and_joined_in_parts():
    adjacency, graph = random_graph(1)
    labels = np.random.default_rng(0).integers(0, 5, 20)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(6))
    counts, marks = np.zeros(5, np.int64), np.full(5, -1)
    for first, last in ((0, 2), (2, 5)):
        compiled.count_neighbours(
            *graph.rows[:2], labels, order, starts, marks, counts, first, last
        )
    member = np.eye(5)[labels]
    expected = member.T @ adjacency @ member
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(counts, (expected > 0).sum(axis=1))
    coarse = np.concatenate([[0], np.cumsum(counts)])
    others, weights = np.empty(coarse[-1], np.int32), np.empty(coarse[-1])
    marks[:] = -1
    for part in ((0, 2), (2, 5)):
        compiled.join_links(
            *graph.rows, labels, order, starts, marks, coarse, others, weights, *part
        )
    for c in range(5):
        row = np.zeros(5)
        row[others[coarse[c] : coarse[c + 1]]] = weights[coarse[c] : coarse[c + 1]]
        np.testing.assert_allclose(row, expected[c])


def test_links_among_some_vertices():
    adjacency, graph = random_graph(2)
    ids = np.array([3, 5, 11, 12])
    local = np.full(20, -1, np.int32)
    local[ids] = np.arange(4)
    counts = np.zeros(4, np.int64)
    compiled.count_inner_links(*graph.rows[:2], ids, local, counts)
    block = adjacency[np.ix_(ids, ids)]
    np.fill_diagonal(block, 0)
    np.testing.assert_array_equal(counts, (block > 0).sum(axis=1))
    others, weights = np.empty(counts.sum(), np.int32), np.empty(counts.sum())
    compiled.take_inner_links(*graph.rows, ids, local, others, weights)
    np.testing.assert_allclose(weights, block[np.repeat(np.arange(4), counts), others])


def test_links_to_vertices_of_lower_rank():
    adjacency, graph = random_graph(3)
    ranks = np.random.default_rng(1).permutation(20)
    earlier = np.empty(20)
    for start, stop in ((0, 5), (5, 20)):
        compiled.sum_earlier(*graph.rows, ranks, earlier, start, stop)
    np.fill_diagonal(adjacency, 0)
    expected = (adjacency * (ranks < ranks[:, np.newaxis])).sum(axis=1)
    np.testing.assert_allclose(earlier[ranks], expected)
