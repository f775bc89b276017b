"""Small graphs in memory, for tests."""

import numpy as np
from scipy import sparse

from hardbayes.core.pool import Pool
from hardbayes.graph.clusters import Graph
from tests.reference.graphs import random_adjacency


def memory_graph(adjacency, volume=None):
    """The graph of a symmetric matrix, the diagonal inside vertices; volumes are degrees."""
    adjacency = np.asarray(adjacency, float)
    inner = np.diag(adjacency).copy()
    links = sparse.csr_array(adjacency - np.diag(inner))
    rows = (links.indptr.astype(np.int64), links.indices.astype(np.int32), links.data)
    volume = adjacency.sum(axis=1) if volume is None else volume
    return Graph(rows, inner, volume, 1.0, Pool(1))


def random_graph(seed=0, n=20, share=0.3):
    adjacency = random_adjacency(np.random.default_rng(seed), n, share, loops=True)
    return adjacency, memory_graph(adjacency)


def literal_costs(adjacency, labels, k, volume=None):
    """``-inside / volume`` of each cluster, by definition."""
    volume = adjacency.sum(axis=1) if volume is None else volume
    found = np.zeros(k)
    for c in range(k):
        inside = labels == c
        if inside.any():
            found[c] = -adjacency[np.ix_(inside, inside)].sum() / volume[inside].sum()
    return found
