"""Penalised cuts of graphs as a model without centres: its moves and divisions.

Penalised cuts of graphs as a label-first model.

A cluster costs ``-inside / volume`` (`graph.rows`). With volume the degrees and
inside the links this is the normalised cut; with volume the number of vertices and inside ``sigma
volume - cut`` the ratio cut. Then ``cut + cluster_penalty k`` is what is minimised here with the
penalty ``cluster_penalty + sigma`` (Kulis & Jordan 2012, Theorem 5.3).

Moves of groups of vertices, as moves of single vertices of a coarser graph.

Groups are clusters at lower penalties. Levels are made from fine to coarse; then vertices of each
level move, from coarse to fine, at the penalty itself.

A cluster of vertices in two: eigenvectors give an order, and the best cut along it is taken.

With M the links of the cluster and ``inner`` on the diagonal, and V the volumes, the halves are to
maximise ``z'Mz / z'Vz`` summed over both. The relaxation are the two leading eigenvectors of
``V^-1/2 M V^-1/2``, whose eigenvalues bound that sum from above (Ky Fan). Where the cut is not good
enough but the bound is, vertices move between the halves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Division, Ids, LabelFirstModel, Unions, ratio, unions_of
from hardbayes.core.pool import one_blas_thread
from hardbayes.graph.rows import Graph

# Passes over the vertices of a level: where they form groups, and where these move.
GROUPING, MOVING = 2, 8
WORTHWHILE = 0.98  # of the vertices: a coarser graph at the last penalty has fewer


def regroup(
    graph: Graph,
    penalties: tuple[float, ...],
    max_clusters: int,
    rng: np.random.RandomState,
    labels: Ids | None = None,
) -> Ids:
    """Return labels (n,) after moves of groups, or found from single vertices where None are given.

    penalties : rising; all but the last are for groups, the last is for clusters.
    """
    levels: list[tuple[Graph, Ids]] = []
    within, last = labels, len(penalties) - 1
    rung, shrinks = 0, True
    while rung < last or shrinks:
        groups, _ = graph.move(
            np.arange(graph.n), penalties[rung], graph.n, rng.permutation(graph.n), GROUPING, within
        )
        groups = _renumbered(groups)
        n_groups = int(groups.max()) + 1
        shrinks = n_groups < WORTHWHILE * graph.n
        if n_groups < graph.n:
            levels.append((graph, groups))
            graph = graph.coarser(groups, n_groups)
            if within is not None:
                finer, within = within, np.empty(n_groups, np.int64)
                within[groups] = finer
        rung = min(rung + 1, last)
    found = np.arange(graph.n) if within is None else within
    if within is not None:
        found = _merged(graph, within, penalties[-1], rng)
        levels.append((graph, np.arange(graph.n)))
    for graph, groups in reversed(levels):
        found = found[groups]
        found, _ = graph.move(found, penalties[-1], max_clusters, rng.permutation(graph.n), MOVING)
        found = _renumbered(found)
    return found


def _merged(graph: Graph, labels: Ids, penalty: float, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) after moves of whole clusters."""
    clusters = graph.coarser(labels, int(labels.max()) + 1)
    names, _ = clusters.move(
        np.arange(clusters.n), penalty, clusters.n, rng.permutation(clusters.n), MOVING
    )
    return _renumbered(names)[labels]


def _renumbered(labels: Ids) -> Ids:
    """Return labels (n,) without empty clusters, in the same order."""
    used = np.bincount(labels) > 0
    return (np.cumsum(used) - 1)[labels]


MOST_DENSE = 96  # vertices up to which all eigenvectors are computed
LANCZOS_VECTORS = 40
MAX_RESTARTS = 3
MAX_PASSES = 8  # of moves between the halves
TOLERANCE = 0.005  # of eigenvalues: the cut along an order needs no more


def bisect(part: Graph, least: float, rng: np.random.RandomState) -> Division:
    """Return the division of all vertices of a graph that saves most, or none (zero).

    ``least``: no division is computed where none can save as much. The halves are those in the
    first and second half, as bool (n,).
    """
    inside, volume = part.statistics(np.zeros(part.n, np.int64), 1)
    whole = float(inside[0] / volume[0])
    nothing = Division(0.0, np.zeros(part.n, np.bool_))
    if part.n < 2:
        return nothing
    values, vectors = _leading(part, rng)
    if values.sum() - whole < least:
        return nothing
    best = nothing
    for vector in vectors.T:
        order = np.argsort(vector / np.sqrt(part.volume), kind="stable")
        ratios = _cuts(part, order)
        at = int(np.argmax(ratios))
        if ratios[at] - whole > best.saved:
            second = np.zeros(part.n, np.bool_)
            second[order[at + 1 :]] = True
            best = Division(float(ratios[at] - whole), second)
    return _moved(part, best, whole) if 0 < best.saved < least else best


def _moved(part: Graph, division: Division, whole: float) -> Division:
    """Return the division after moves of vertices between its halves."""
    halves = division.halves.astype(np.int64)
    labels, _ = part.move(halves, 0.0, 2, np.arange(part.n), MAX_PASSES)
    inside, volume = part.statistics(labels, 2)
    return Division(float(np.sum(inside / volume) - whole), labels == 1)


def _leading(part: Graph, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Return the two largest eigenvalues and eigenvectors (n, 2) of the relaxation."""
    links, roots = part.links(), 1.0 / np.sqrt(part.volume)
    rows = np.repeat(np.arange(part.n), np.diff(links.indptr))
    values = links.data * roots[rows] * roots[links.indices]
    inner = part.inner / part.volume
    if part.n <= MOST_DENSE:
        matrix = np.diag(inner)
        matrix[rows, links.indices] = values
        found: tuple[Floats, Floats] = np.linalg.eigh(matrix)
        return found[0][-2:], found[1][:, -2:]
    scaled = sparse.csr_array((values, links.indices, links.indptr), shape=links.shape)
    operator = LinearOperator(scaled.shape, lambda x: scaled @ x + inner * x, dtype=np.float64)
    start = rng.uniform(0.5, 1.5, part.n)
    options = dict(ncv=min(LANCZOS_VECTORS, part.n - 1), maxiter=MAX_RESTARTS, tol=TOLERANCE)
    try:
        return eigsh(operator, 2, which="LA", v0=start, **options)
    except ArpackNoConvergence as error:
        missing = 2 - len(error.eigenvalues)
        return np.append(error.eigenvalues, [np.inf] * missing), error.eigenvectors


def _cuts(part: Graph, order: Ids) -> Floats:
    """Return ``inside / volume`` (n - 1,) summed over both halves, for each cut along the order."""
    between = part.links_to_earlier(order)
    totals = np.asarray(part.links().sum(axis=1))[order]
    inner, volume = part.inner[order], part.volume[order]
    first = np.cumsum(inner + 2.0 * between)
    second = np.cumsum((inner + 2.0 * (totals - between))[::-1])[::-1]
    left, right = np.cumsum(volume), np.cumsum(volume[::-1])[::-1]
    return first[:-1] / left[:-1] + second[1:] / right[1:]


# Clusters that are divided, of those that have changed. Where there are more, moves of groups find
# most of what can be gained.
MOST_DIVIDED = 512


@dataclass(frozen=True, eq=False)
class GraphClusters:
    """What is inside each cluster (k,), its volume (k,), and the graph of clusters."""

    graph: Graph
    labels: Ids
    inside: Floats
    volumes: Floats

    @cached_property
    def coarser(self) -> Graph:
        """The graph whose vertices are the clusters."""
        return self.graph.coarser(self.labels, len(self.volumes))


class GraphModel(LabelFirstModel[GraphClusters]):
    """A graph and what a partition of its vertices costs.

    Parameters
    ----------
    graph : Graph
    penalties : tuple of float
        Rising: those at which groups of vertices are formed, the last for clusters.
    max_clusters : int
    order : array (n,)
        In which vertices are first visited.
    """

    def __init__(
        self, graph: Graph, penalties: tuple[float, ...], max_clusters: int, order: Ids
    ) -> None:
        self.graph = graph
        self.penalties = penalties
        self.penalty = penalties[-1]
        self.max_clusters = max_clusters
        self.order = order
        self.weights = np.ones(graph.n)
        self.unit = graph.unit

    def statistics(self, labels: Ids, k: int) -> GraphClusters:
        """Return what is inside clusters, and their volumes."""
        return GraphClusters(self.graph, labels, *self.graph.statistics(labels, k))

    def costs(self, statistics: GraphClusters) -> Floats:
        """Return ``-inside / volume`` of each cluster."""
        return -ratio(statistics.inside, statistics.volumes)

    def unions(self, statistics: GraphClusters) -> Unions:
        """Return the unions of clusters with links between them."""
        links = statistics.coarser.links().tocoo()
        above = links.row < links.col
        pairs = links.row[above], links.col[above], links.data[above]
        return unions_of(statistics.inside, statistics.volumes, *pairs)

    def divide(
        self,
        members: list[Ids],
        statistics: GraphClusters,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Division]:
        """Return the best cut along the leading eigenvectors of the largest clusters."""
        sizes = np.array([len(members[c]) for c in which])
        largest = np.argsort(-sizes, kind="stable")[:MOST_DIVIDED]
        found = [Division(0.0, np.zeros(size, np.bool_)) for size in sizes]
        with one_blas_thread():
            parts = self.graph.parts([members[which[at]] for at in largest])
            for at, part in zip(largest, parts, strict=True):
                found[at] = bisect(part, self.penalty, rng)
        return found

    def second_half(self, ids: Ids, division: Division) -> NDArray[np.bool_]:
        """Return the second side of the cut."""
        return division.halves

    def move_rows(self, labels: Ids, statistics: GraphClusters, max_passes: int) -> tuple[Ids, int]:
        """Return labels after moves of single vertices."""
        return self.graph.move(labels, self.penalty, self.max_clusters, self.order, max_passes)

    def regroup(self, labels: Ids, rng: np.random.RandomState) -> Ids:
        """Return labels after moves of groups of vertices."""
        return regroup(self.graph, self.penalties, self.max_clusters, rng, labels)

    def work(self, k: int) -> int:
        """Return the number of links."""
        return self.graph.n_links
