"""Random graphs without communities, to compare a given one with.

**Rewired** graphs are connected and have the degrees of a connected one. Two links exchange an end
each, wherever that gives no loop and no second link between two vertices: every link is offered an
exchange several times. What has come apart is then joined again: a link on a cycle exchanges an end
with any link of another component, which leaves neither apart.

**Clouds** give graphs of near rows. A graph of nearest neighbours has parts that few links leave
even if its rows are one cloud: links are short, so a cut crosses few. How few follows from how its
neighbourhoods grow: two steps from a vertex reach twice as many vertices as one on a line, four
times as many in a plane, and more in more dimensions. So rows are drawn evenly from a box of as
many dimensions, not always a whole number, as give the growth of the given graph. The nearest are
linked, by as many links, with the same weights, the heaviest where rows are nearest.

If each of n vertices chooses its k nearest, all have k links or more, and together ``n k`` at most:
so none has less than half of the mean number. Graphs of people or of citations have such vertices.
They are no graphs of near rows, and are not compared with clouds.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.neighbors import NearestNeighbors

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import one_blas_thread

ROUNDS = 12  # exchanges offered to each link, about: partitions of more rounds are no worse
MAX_JOINING = 50  # rounds in which components are joined; one or two do
MOST_DIMENSIONS = 32  # of a box: in more, neighbourhoods hardly grow faster
HALVINGS = 5  # of the interval that has the number of dimensions: known within a fiftieth
# Share of the pairs of neighbours of a vertex that are linked, beyond that of rows on a line:
# cliques have more, which no rows explain; rings of cliques .11 and .18 (benchmarks.communities).
CLIQUES = 0.05
LINES = 1000  # rows of lines from which that share is known: fewer have one that varies
DENSE = 0.75  # of all pairs linked: from there on weights tell who is near, and links do not


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


class Cloud(NamedTuple):
    """Rows spread evenly over a box, of which the nearest are linked."""

    n: int
    dimensions: float
    weights: Floats  # (n_links,), falling

    def links(self, rng: np.random.RandomState) -> sparse.csr_array:
        """Return the largest component of a random graph."""
        rows = rng.uniform(size=(self.n, MOST_DIMENSIONS))
        found = near_links(_in_box(rows, self.dimensions), self.weights)
        names = csgraph.connected_components(found, directed=False)[1]
        largest = np.flatnonzero(names == np.bincount(names).argmax())
        return found if len(largest) == self.n else found[largest][:, largest]


def cloud_like(links: sparse.csr_array, rng: np.random.RandomState) -> Cloud | None:
    """Return the cloud with graphs like these links (n, n); None if they are not of near rows."""
    n, counts = links.shape[0], np.diff(links.indptr)
    if counts.min() < counts.mean() / 2 or counts.mean() > DENSE * n:
        return None
    growth, closed = _growth(links)
    weights = np.sort(sparse.triu(links, 1).data)[::-1]
    lines = [near_links(rng.uniform(size=(n, 1)), weights) for _ in range(-(-LINES // n))]
    if closed > np.mean([_growth(line)[1] for line in lines]) + CLIQUES:
        return None
    rows = rng.uniform(size=(n, MOST_DIMENSIONS))

    def grows_less(dimensions: float) -> bool:
        return _growth(near_links(_in_box(rows, dimensions), weights))[0] < growth

    if grows_less(MOST_DIMENSIONS):
        # Random graphs grow as fast, but fewer of their pairs are closed than in any cloud.
        widest = near_links(rows, weights)
        return None if closed < _growth(widest)[1] else Cloud(n, MOST_DIMENSIONS, weights)
    low = high = 1.0
    while grows_less(high):
        low, high = high, 2.0 * high
    for _ in range(HALVINGS if high > low else 0):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if grows_less(middle) else (low, middle)
    return Cloud(n, float(np.sqrt(low * high)), weights)


def near_links(rows: Floats, weights: Floats) -> sparse.csr_array:
    """Return links (n, n) between so many pairs of near rows (n, d), as weights (m,) are given.

    A pair is the nearer the sooner one of both finds the other among its nearest; of the pairs
    taken, those are heavy where both do.
    """
    n = len(rows)
    count = min(n - 1, int(np.ceil(2 * len(weights) / n)))
    with one_blas_thread():
        near = NearestNeighbors(n_neighbors=count).fit(rows).kneighbors(return_distance=False)
    firsts, seconds = np.repeat(np.arange(n), count), near.ravel()
    ranks = np.tile(np.arange(1, count + 1), n)
    pairs = np.minimum(firsts, seconds) * n + np.maximum(firsts, seconds)
    order = np.lexsort((ranks, pairs))
    pairs, ranks = pairs[order], ranks[order]
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    is_mutual = np.diff(first, append=len(pairs)) == 2
    sooner = ranks[first]
    later = np.where(is_mutual, ranks[np.minimum(first + 1, len(ranks) - 1)], count + 1)
    taken = np.argsort(sooner, kind="stable")[: len(weights)]
    taken = taken[np.argsort((sooner + later)[taken], kind="stable")]
    return _symmetric(np.column_stack(np.divmod(pairs[first[taken]], n)), weights[: len(taken)], n)


def _in_box(rows: Floats, dimensions: float) -> Floats:
    """Return rows (n, d) of a unit cube in a box whose last side is a part of the others."""
    whole = int(np.ceil(dimensions))
    sides = np.ones(whole)
    sides[-1] = dimensions - whole + 1
    return rows[:, :whole] * sides


def _growth(links: sparse.csr_array) -> tuple[float, float]:
    """Return how many times more vertices two steps reach than one, and the share of closed pairs.

    Closed are pairs of neighbours of a vertex that are linked.
    """
    n, counts = links.shape[0], np.diff(links.indptr).astype(np.float64)
    ones = np.ones(links.nnz)
    steps = sparse.csr_array((ones, links.indices, links.indptr), shape=links.shape)
    both = sparse.csr_array(steps @ steps)
    closed = float(both.multiply(steps).sum() / max((counts * (counts - 1)).sum(), 1.0))
    reach = (both + steps + sparse.eye_array(n, format="csr")).nnz
    return reach / (links.nnz + n), closed
