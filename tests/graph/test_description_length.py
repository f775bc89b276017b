"""Description lengths against counts of graphs."""

import math

import numpy as np
import pytest

from hardbayes.graph import choice as module
from hardbayes.graph.choice import description_length, links_per_weight
from tests.graph.graphs import memory_graph
from tests.reference.graphs import random_adjacency


def literal(adjacency, labels):
    """Both codes with factorials, for whole numbers of links."""
    k, n = labels.max() + 1, len(labels)
    member = np.eye(k)[labels]
    between = (member.T @ adjacency @ member).round().astype(int).astype(object)
    degrees, sizes = between.sum(axis=1), member.sum(axis=0).astype(int).tolist()
    total = degrees.sum()
    fact, odd = math.factorial, lambda pairs: math.prod(range(2 * pairs - 1, 0, -2))
    multiset = lambda things, among: math.comb(things + among - 1, things)  # noqa: E731
    labelled = fact(n) // math.prod(map(fact, sizes)) * math.comb(n - 1, k - 1)
    ways = math.prod(map(fact, degrees)) * multiset(total // 2, k * (k + 1) // 2)
    for r in range(k):
        ways /= 2 ** (between[r, r] // 2) * fact(between[r, r] // 2)
        ways /= math.prod(fact(between[r, s]) for s in range(r))
    spared = multiset(total, n) / math.prod(
        multiset(d, size) for d, size in zip(degrees, sizes, strict=True)
    )
    blocks = ways / spared
    communities = odd((total - np.trace(between)) // 2)
    for r in range(k):
        communities *= math.comb(degrees[r], between[r, r]) * odd(between[r, r] // 2)
        communities *= degrees[r] / 2 + 1
    return math.log(min(blocks, communities) * labelled)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_lengths_are_logarithms_of_numbers_of_graphs(k):
    adjacency = (random_adjacency(np.random.default_rng(k), 8) > 0).astype(float)
    labels = np.arange(8) % k
    graph = memory_graph(adjacency)
    assert links_per_weight(graph) == 1.0
    found = description_length(graph, np.ones(8), labels, k, 1.0)
    assert found == pytest.approx(literal(adjacency, labels), rel=1e-9)


def test_small_numbers():
    np.testing.assert_allclose(np.exp(module.log_factorial(np.arange(5))), [1, 1, 2, 6, 24])
    np.testing.assert_allclose(np.exp(module.log_choices(3.0, 2.0)), 6)  # 2 things among 3
    np.testing.assert_allclose(np.exp(module.log_pairings(np.array([0, 1, 2, 3]))), [1, 1, 3, 15])


def test_weights_count_in_their_own_unit_and_vertices_may_stand_for_several():
    adjacency = random_adjacency(np.random.default_rng(0), 12)
    labels = np.arange(12) % 3
    one, many = memory_graph(adjacency), memory_graph(1e6 * adjacency)
    lengths = [
        description_length(graph, np.ones(12), labels, 3, links_per_weight(graph))
        for graph in (one, many)
    ]
    assert lengths[0] == pytest.approx(lengths[1])
    groups, names = np.arange(12) % 6, np.arange(6) % 3
    coarse, sizes = one.statistics(groups, 6).coarser, np.full(6, 2.0)
    per_weight = links_per_weight(one)
    assert description_length(coarse, sizes, names, 3, per_weight) == pytest.approx(
        description_length(one, np.ones(12), names[groups], 3, per_weight)
    )
