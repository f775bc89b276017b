"""Random connected graphs with given degrees, and graphs of the nearest rows of a cloud."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.neighbors import kneighbors_graph

from hardbayes.datasets import load_karate_club
from hardbayes.graph.choice.random_graphs import Cloud, cloud_like, near_links, rewired


def tree(n, rng):
    parents = [rng.integers(at) for at in range(1, n)]
    A = np.zeros((n, n))
    A[np.arange(1, n), parents] = A[parents, np.arange(1, n)] = 1.0
    return A


def graphs():
    rng = np.random.default_rng(0)
    yield "karate", load_karate_club()[0].toarray()
    yield "tree", tree(60, rng)
    one_cycle = tree(60, rng)
    one_cycle[3, 50] = one_cycle[50, 3] = 1.0
    yield "tree and a link", one_cycle
    yield "path", np.eye(40, k=1) + np.eye(40, k=-1)
    yield "clique", np.ones((9, 9)) - np.eye(9)
    yield "two vertices", np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("name", "A"), graphs(), ids=lambda part: part if isinstance(part, str) else ""
)
def test_simple_connected_and_of_the_same_degrees(name, A):
    for seed in range(20):
        found = rewired(sparse.csr_array(A), np.random.RandomState(seed)).toarray()
        np.testing.assert_array_equal(found.sum(axis=1), A.sum(axis=1))
        assert (found == found.T).all() and set(np.unique(found)) <= {0.0, 1.0}
        assert not np.diag(found).any()
        assert csgraph.connected_components(found)[0] == 1


def test_graphs_differ_and_weights_go_with_links():
    A = load_karate_club()[0].toarray()
    weighted = np.triu(A, 1) * np.random.default_rng(0).uniform(1, 2, A.shape)
    weighted += weighted.T
    one, same, other = (
        rewired(sparse.csr_array(weighted), np.random.RandomState(seed)).toarray()
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert ((one > 0) != (other > 0)).any() and ((one > 0) != (A > 0)).mean() > 0.1
    np.testing.assert_allclose(np.sort(one[one > 0]), np.sort(weighted[weighted > 0]))


def test_every_graph_of_small_degrees_is_as_likely():
    """Of the 12 ways to draw a path through five vertices with given ends: all come up."""
    A = np.eye(5, k=1) + np.eye(5, k=-1)
    seen = {
        rewired(sparse.csr_array(A), np.random.RandomState(seed)).toarray().tobytes()
        for seed in range(200)
    }
    assert len(seen) == 6  # orders of the three vertices between the ends


def neighbours(rows, k=15):
    chosen = sparse.csr_array(kneighbors_graph(rows, k))
    return sparse.csr_array(0.5 * (chosen + chosen.T))


def near_literally(rows, weights):
    """Return links between the pairs that first have one of both among the nearest of the other."""
    n = len(rows)
    apart = np.linalg.norm(rows[:, np.newaxis] - rows, axis=2)
    ranks = np.argsort(np.argsort(apart, axis=1), axis=1)
    count = int(np.ceil(2 * len(weights) / n))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]

    def both(i, j):
        return sorted(min(rank, count + 1) for rank in (ranks[i, j], ranks[j, i]))

    taken = sorted(pairs, key=lambda pair: both(*pair)[0])[: len(weights)]
    links = np.zeros((n, n))
    ordered = sorted(taken, key=lambda pair: sum(both(*pair)))
    for (i, j), weight in zip(ordered, weights, strict=True):
        links[i, j] = links[j, i] = weight
    return links


def test_the_nearest_rows_are_linked_and_most_where_both_are_near():
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(40, 3)), np.sort(rng.uniform(1, 2, 150))[::-1]
    found = near_links(rows, weights).toarray()
    literal = near_literally(rows, weights)
    np.testing.assert_array_equal(found.sum(axis=0) > 0, literal.sum(axis=0) > 0)
    np.testing.assert_allclose(np.sort(found[found > 0]), np.sort(np.repeat(weights, 2)))
    # Of pairs that are equally near, any may be taken, or be the heavier one.
    assert ((found > 0) == (literal > 0)).mean() > 0.97
    assert found.sum() == pytest.approx(literal.sum())


@pytest.mark.parametrize("d", [1, 2, 4, 8])
def test_the_dimensions_of_an_even_cloud_are_found(d):
    rows = np.random.default_rng(d).uniform(size=(600, d))
    links = neighbours(rows)
    cloud = cloud_like(links, np.random.RandomState(0))
    assert 0.7 * d <= cloud.dimensions <= 1.4 * d
    drawn = cloud.links(np.random.RandomState(1))
    assert drawn.shape[0] <= 600 and csgraph.connected_components(drawn)[0] == 1
    assert drawn.sum() == pytest.approx(links.sum(), rel=0.05)


def test_dimensions_do_not_change_with_the_units_of_weights():
    links = neighbours(np.random.default_rng(0).normal(size=(200, 3)))
    one, other = (cloud_like(factor * links, np.random.RandomState(0)) for factor in (1.0, 8.0))
    assert one.dimensions == other.dimensions
    np.testing.assert_array_equal(8.0 * one.weights, other.weights)


def test_graphs_that_are_not_of_near_rows_have_no_cloud():
    rng = np.random.RandomState(0)
    assert cloud_like(load_karate_club()[0], rng) is None  # some have few links, others many
    cliques = np.kron(np.eye(12), np.ones((6, 6))) - np.eye(72)
    firsts = np.arange(0, 72, 6)
    cliques[firsts, np.roll(firsts, -1) + 1] = cliques[np.roll(firsts, -1) + 1, firsts] = 1.0
    assert cloud_like(sparse.csr_array(cliques), rng) is None
    assert cloud_like(sparse.csr_array(np.ones((40, 40)) - np.eye(40)), rng) is None


def test_a_cloud_in_pieces_is_its_largest():
    links = Cloud(300, 1.0, np.ones(310)).links(np.random.RandomState(0))
    assert links.shape[0] < 300 and csgraph.connected_components(links)[0] == 1
