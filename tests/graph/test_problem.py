"""From a graph to what its clusters cost."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.pool import Pool
from hardbayes.graph.problem import make_problem
from tests.reference.graphs import cuts, random_adjacency


def posed(adjacency, ratio=False):
    loops = np.diag(adjacency).copy()
    links = sparse.csr_array(adjacency - np.diag(loops))
    return make_problem(links, loops, ratio, Pool(1))


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("penalty", [-0.4, -3.0, -50.0])
def test_costs_and_penalties_add_up_to_the_penalised_cut(penalty, ratio):
    adjacency = random_adjacency(np.random.default_rng(0), 15, loops=True)
    problem = posed(adjacency, ratio)
    labels = np.arange(15) % 4
    working = penalty / problem.cost_unit
    graph = problem.graph(working, 4)
    value = graph.costs(graph.statistics(labels, 4)).sum() + 4 * graph.penalty
    expected = cuts(adjacency, labels, "ratio" if ratio else "normalized").sum() + 4 * penalty
    assert problem.cost_unit * value == pytest.approx(expected)


@pytest.mark.parametrize("ratio", [False, True])
def test_penalties_rise_and_are_not_negative(ratio):
    problem = posed(random_adjacency(np.random.default_rng(1), 10), ratio)
    for penalty in (-0.01, -0.5, -2.0):
        whole, lower = problem.penalties(penalty), problem.penalties(penalty, 0.5)
        assert (np.diff(whole) >= 0).all() and min(whole) >= 0
        assert all(a <= b for a, b in zip(lower, whole, strict=True))


def test_weights_are_scaled_by_a_power_of_two_and_isolated_vertices_set_aside():
    adjacency = np.zeros((6, 6))
    adjacency[0, 2] = adjacency[2, 0] = 3e200
    adjacency[2, 5] = adjacency[5, 2] = 5e200
    adjacency[1, 1] = 7e200
    problem = posed(adjacency)
    assert problem.linked.tolist() == [0, 2, 5] and problem.isolated.tolist() == [1, 3, 4]
    assert np.log2(problem.unit) % 1 == 0 and 1 <= problem.links.data.max() < 2
    np.testing.assert_allclose(problem.unit * problem.degrees, [3e200, 8e200, 5e200])
    assert problem.all_labels(np.array([0, 1, 1]), 9).tolist() == [0, 2, 1, 3, 4, 1]
    assert problem.all_labels(np.array([0, 1, 1]), 3).tolist() == [0, 2, 1, 2, 2, 1]


@pytest.mark.parametrize("ratio", [False, True])
def test_a_coarser_problem_has_the_same_cuts(ratio):
    adjacency = random_adjacency(np.random.default_rng(2), 12, loops=True)
    problem = posed(adjacency, ratio)
    labels, names = np.arange(12) % 4, np.array([0, 0, 1, 1])
    coarse = problem.coarser(labels, 4)
    assert coarse.sizes.tolist() == [3.0] * 4
    one = coarse.degree_graph().statistics(names, 2)
    other = problem.degree_graph().statistics(names[labels], 2)
    np.testing.assert_allclose(one.inside, other.inside)
    np.testing.assert_allclose(one.volumes, other.volumes)
