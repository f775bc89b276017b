"""Random connected graphs with given degrees."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from hardbayes.datasets import load_karate_club
from hardbayes.graph.choice.rewiring import rewired


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
