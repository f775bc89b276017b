"""Random connected graphs with the degrees of a given one.

Two links exchange an end each, wherever that gives no loop and no second link between two vertices:
every link is offered an exchange several times. What has come apart is then joined again: a link on
a cycle exchanges an end with any link of another component, which leaves neither apart.
"""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids

ROUNDS = 12  # exchanges offered to each link, about: partitions of more rounds are no worse
MAX_JOINING = 50  # rounds in which components are joined; one or two do


def rewired(links: sparse.csr_array, rng: np.random.RandomState) -> sparse.csr_array:
    """Return a random connected graph with the degrees of a connected one (n, n).

    Weights go with their links.
    """
    half = sparse.triu(links, 1).tocoo()
    n = links.shape[0]
    ends = np.column_stack([half.row, half.col]).astype(np.int64)
    if len(ends) < 2:
        return links
    for _ in range(ROUNDS):
        _exchange(ends, n, rng)
    for _ in range(MAX_JOINING):
        if not _join(ends, n, rng):
            break
    return _symmetric(ends, half.data, n)


def _symmetric(ends: Ids, weights: Floats, n: int) -> sparse.csr_array:
    one_way = sparse.coo_array((weights, (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    found = sparse.csr_array(one_way + one_way.T)
    found.sort_indices()
    return found


def _keys(firsts: Ids, seconds: Ids, n: int) -> Ids:
    """Return a number for each two vertices, whatever their order."""
    found: Ids = np.minimum(firsts, seconds) * n + np.maximum(firsts, seconds)
    return found


def _exchange(ends: Ids, n: int, rng: np.random.RandomState) -> None:
    """Offer an exchange to every link once. IN/OUT ends (m, 2)."""
    m = len(ends)
    turned = rng.uniform(size=m) < 0.5
    ends[turned] = ends[turned, ::-1]
    one, other = rng.permutation(m)[: m // 2 * 2].reshape(2, -1)
    firsts = np.concatenate([ends[one, 0], ends[other, 0]])
    seconds = np.concatenate([ends[other, 1], ends[one, 1]])
    keys = _keys(firsts, seconds, n)
    _, place, count = np.unique(keys, return_inverse=True, return_counts=True)
    free = (
        (count == 1)[place] & (firsts != seconds) & ~np.isin(keys, _keys(ends[:, 0], ends[:, 1], n))
    )
    kept = free.reshape(2, -1).all(axis=0)
    one, other = one[kept], other[kept]
    ends[one, 1], ends[other, 1] = ends[other, 1], ends[one, 1]


def _join(ends: Ids, n: int, rng: np.random.RandomState) -> bool:
    """Join components to the one with most cycles. Return whether there were any to join.

    IN/OUT ends (m, 2).
    """
    m = len(ends)
    heights = 1.0 + rng.uniform(size=m)  # a random spanning forest, the rest being on cycles
    links = ends.astype(np.int32)  # what scipy.sparse.csgraph reads, before SciPy 1.15 nothing else
    graph = sparse.coo_array((heights, (links[:, 0], links[:, 1])), shape=(n, n)).tocsr()
    n_components, names = csgraph.connected_components(graph, directed=False)
    if n_components == 1:
        return False
    forest = csgraph.minimum_spanning_tree(graph).tocoo()
    in_forest = np.isin(
        _keys(ends[:, 0], ends[:, 1], n),
        _keys(forest.row.astype(np.int64), forest.col.astype(np.int64), n),
    )
    component = names[ends[:, 0]]
    spares: list[list[int]] = [[] for _ in range(n_components)]
    for link in rng.permutation(np.flatnonzero(~in_forest)):
        spares[component[link]].append(int(link))
    any_link = np.zeros(n_components, np.int64)
    order = rng.permutation(m)
    any_link[component[order]] = order
    first, *others = sorted(range(n_components), key=lambda c: -len(spares[c]))
    own = spares[first]
    for c in others:
        if not own:
            break
        one, other = own.pop(), spares[c].pop() if spares[c] else any_link[c]
        ends[one, 1], ends[other, 1] = ends[other, 1], ends[one, 1]
        own += spares[c]
    return True
