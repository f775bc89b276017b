"""Description lengths against counts of graphs."""

import math

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.pool import Pool
from hardbayes.graph.choice import description as module
from hardbayes.graph.choice.description import blocks_of, lengths, links_per_weight
from hardbayes.graph.problem import make_problem
from tests.reference.graphs import random_adjacency


def problem_of(adjacency):
    links = sparse.csr_array(adjacency - np.diag(np.diag(adjacency)))
    return make_problem(links, np.diag(adjacency).copy(), False, Pool(1))


def description_length(problem, labels):
    """The length where all clusters count as one component."""
    blocks = blocks_of(problem, labels, links_per_weight(problem))
    return float(sum(part.sum() for part in lengths(blocks, np.zeros(labels.max() + 1, int))))


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
    np.fill_diagonal(adjacency, 0.0)
    problem = problem_of(adjacency)
    assert links_per_weight(problem) == 1.0
    found = description_length(problem, labels)
    assert found == pytest.approx(literal(adjacency, labels), rel=1e-9)


def test_small_numbers():
    np.testing.assert_allclose(np.exp(module.log_factorial(np.arange(5))), [1, 1, 2, 6, 24])
    np.testing.assert_allclose(np.exp(module.log_choices(3.0, 2.0)), 6)  # 2 things among 3
    np.testing.assert_allclose(np.exp(module.log_pairings(np.array([0, 1, 2, 3]))), [1, 1, 3, 15])


def test_weights_count_in_their_own_unit_and_vertices_may_stand_for_several():
    adjacency = random_adjacency(np.random.default_rng(0), 12)
    labels = np.arange(12) % 3
    one, many = problem_of(adjacency), problem_of(1e6 * adjacency)
    assert description_length(one, labels) == pytest.approx(description_length(many, labels))
    groups, names = np.arange(12) % 6, np.arange(6) % 3
    coarse, per_weight = one.coarser(groups, 6), links_per_weight(one)
    fine = lengths(blocks_of(one, names[groups], per_weight), np.zeros(3, int))
    np.testing.assert_allclose(
        lengths(blocks_of(coarse, names, per_weight), np.zeros(3, int)), fine
    )


def test_components_are_described_apart():
    adjacency = (random_adjacency(np.random.default_rng(1), 9) > 0).astype(float)
    np.fill_diagonal(adjacency, 0.0)
    both = problem_of(np.kron(np.eye(2), adjacency))
    labels = np.arange(9) % 3
    blocks = blocks_of(both, np.concatenate([labels, 3 + labels]), 1.0)
    alone = lengths(blocks_of(problem_of(adjacency), labels, 1.0), np.zeros(3, int))
    for part, one in zip(lengths(blocks, np.repeat([0, 1], 3)), alone, strict=True):
        np.testing.assert_allclose(part, [one[0], one[0]])


def test_planted_partitions_and_unions():
    clique = np.ones((5, 5)) - np.eye(5)
    adjacency = np.kron(np.eye(4), clique)
    adjacency[0, 5] = adjacency[5, 0] = adjacency[10, 15] = adjacency[15, 10] = 1.0
    problem, labels = problem_of(adjacency), np.repeat(np.arange(4), 5)
    blocks = blocks_of(problem, labels, 1.0)
    m, inside = 42, 40 / 42
    expected = np.square(adjacency.reshape(4, 5, 20).sum(axis=(1, 2)) / 84).sum()
    divergence = inside * np.log(inside / expected)
    divergence += (1 - inside) * np.log((1 - inside) / (1 - expected))
    paid = math.log(math.factorial(20) / math.factorial(5) ** 4 * math.comb(19, 3)) + np.log(43)
    assert module.planted_saving(blocks) == pytest.approx(m * divergence - paid)
    # All two links between clusters keep within the pairs; one of three pairs would do by chance.
    saved = module.union_saving(blocks, np.array([0, 0, 1, 1]))
    assert saved == pytest.approx(2 * np.log(3) - np.log(6 * 3) - np.log(3))
    assert module.union_saving(blocks, np.array([0, 1, 0, 1])) < saved
    alone = blocks_of(problem_of(np.kron(np.eye(2), clique)), np.repeat([0, 1], 5), 1.0)
    assert module.union_saving(alone, np.array([0, 0])) == -np.inf
