"""A graph as a model without centres: what clusters of its vertices cost, and how they change.

A graph has n vertices, symmetric links of weight > 0 between different ones, and for each vertex
``inner`` (n,), what is inside it already, and its ``volume`` (n,), > 0. With ``inside`` the sum of
``inner`` over a cluster and of all links in it, from both ends, a cluster costs

    -inside / volume.

With volume the degrees and inside the links this is the normalised cut; with volume the number of
vertices and inside ``sigma volume - cut`` the ratio cut. Then ``cut + cluster_penalty k`` is what
is minimised here with the penalty ``cluster_penalty + sigma`` (Kulis & Jordan 2012, Theorem 5.3).

Everything is exact up to the rounding of float64, and does not depend on the number of threads.
Compiled functions are called for some links at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from hardbayes.core.arrays import Floats, inverse_permutation
from hardbayes.core.centre_free import CentreFreeModel, Ids, Merges, Split, merges_of, ratio
from hardbayes.core.pool import Pool, one_blas_thread
from hardbayes.graph import compiled

TILE = 1 << 22  # links: some ten milliseconds, after which Ctrl-C is handled
MIN_GAIN = 1e-11  # of a move, in units of the largest possible cost
# Passes over the vertices of a level: where they form groups, and where these move.
GROUPING, MOVING = 2, 8
# Levels end where a coarser graph at the last penalty has more than this part of the vertices.
SHRINKING = 0.98
# Clusters that are split, of those that have changed. Where there are more, moves of groups find
# most of what can be gained.
MAX_DIVIDED = 512
MAX_DENSE = 96  # vertices up to which all eigenvectors are computed
LANCZOS_VECTORS = 40  # that are held: with more, fewer restarts are needed
MAX_RESTARTS = 3  # patience: a cut needs no exact eigenvector
MAX_PASSES = 8  # of moves between the halves
TOLERANCE = 0.005  # of eigenvalues: the cut along an order needs no more


@dataclass(frozen=True, eq=False)
class GraphClusters:
    """Clusters of the vertices of a graph; zeros where one is empty."""

    graph: Graph
    labels: Ids  # (n,), 0 to k-1
    inside: Floats  # (k,)
    volumes: Floats  # (k,)

    @cached_property
    def coarser(self) -> Graph:
        """The graph whose vertices are the clusters, with the same costs."""
        graph, labels, k = self.graph, self.labels, len(self.volumes)
        indptr, indices, _ = graph.rows
        order = np.argsort(labels.astype(np.min_scalar_type(k)), kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=k))])
        ends = np.zeros(len(order) + 1, np.int64)
        np.cumsum(np.diff(indptr)[order], out=ends[1:])
        tiles = graph.tiles(ends[starts])
        counts, marks = np.zeros(k, np.int64), np.full(k, -1)
        for tile in tiles:
            compiled.count_neighbours(indptr, indices, labels, order, starts, marks, counts, *tile)
        coarse = np.concatenate([[0], np.cumsum(counts)])
        others, weights = np.empty(coarse[-1], np.int32), np.empty(coarse[-1])
        marks[:] = -1
        for tile in tiles:
            compiled.join_links(
                *graph.rows, labels, order, starts, marks, coarse, others, weights, *tile
            )
        rows = (coarse, others, weights)
        return Graph(rows, self.inside, self.volumes, graph.unit, graph.pool)


@dataclass(eq=False)
class Graph(CentreFreeModel[GraphClusters]):
    """Vertices, their links, and what a partition of them costs.

    Attributes
    ----------
    rows : indptr, indices, data
        The links in compressed sparse rows, without a diagonal.
    inner, volume : arrays (n,)
    unit : float
        The scale of costs.
    pool : Pool
        Of the fit, which may have been interrupted in another thread.
    penalties : tuple of float
        Rising: those at which groups of vertices are formed, the last for clusters.
    max_clusters : int
    order : array (n,) or None
        In which vertices are first visited; None for a graph whose vertices move by `move` alone.
    """

    rows: tuple[NDArray[np.integer], NDArray[np.integer], Floats]
    inner: Floats
    volume: Floats
    unit: float
    pool: Pool
    penalties: tuple[float, ...] = (0.0,)
    max_clusters: int = sys.maxsize
    order: Ids | None = None

    def __post_init__(self) -> None:
        self.n = len(self.inner)
        self.n_links = len(self.rows[1])  # each counted from both ends
        self.penalty = self.penalties[-1]
        self.weights = np.ones(self.n)

    # -- what the descent of models without centres calls ------------------------------------------

    def statistics(self, labels: Ids, k: int) -> GraphClusters:
        """Sum over all vertices, in their order."""
        inside, volumes = np.zeros(k), np.zeros(k)
        given = (*self.rows, self.inner, self.volume, labels)
        for start, stop in self.tiles(self.rows[0]):
            compiled.sum_inside(*given, inside, volumes, start, stop)
        return GraphClusters(self, labels, inside, volumes)

    def costs(self, statistics: GraphClusters) -> Floats:
        """Return ``-inside / volume`` of each cluster."""
        return -ratio(statistics.inside, statistics.volumes)

    def merges(self, statistics: GraphClusters) -> Merges:
        """Return the merges of clusters with links between them."""
        links = statistics.coarser.links().tocoo()
        above = links.row < links.col
        pairs = links.row[above], links.col[above], links.data[above]
        return merges_of(statistics.inside, statistics.volumes, *pairs)

    def split(
        self,
        members: list[Ids],
        statistics: GraphClusters,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Split]:
        """Return the best cut along the leading eigenvectors of the largest clusters."""
        sizes = np.array([len(members[c]) for c in which])
        largest = np.argsort(-sizes, kind="stable")[:MAX_DIVIDED]
        found = [Split(0.0, np.zeros(size, np.bool_)) for size in sizes]
        with one_blas_thread():
            parts = self.parts([members[which[at]] for at in largest])
            for at, part in zip(largest, parts, strict=True):
                found[at] = split_in_two(part, self.penalty, rng)
        return found

    def second_half(self, ids: Ids, split: Split) -> NDArray[np.bool_]:
        """Return the second side of the cut."""
        return split.halves

    def move_rows(self, labels: Ids, statistics: GraphClusters, max_passes: int) -> tuple[Ids, int]:
        """Return labels after moves of single vertices."""
        order = np.arange(self.n) if self.order is None else self.order
        return self.move(labels, self.penalty, self.max_clusters, order, max_passes)

    def regroup(self, labels: Ids | None, rng: np.random.RandomState) -> Ids:
        """Return labels (n,) after moves of groups, or found from single vertices where None.

        Groups are clusters at lower penalties. They move as single vertices of a coarser graph:
        levels are made from fine to coarse; then vertices of each level move, from coarse to fine,
        at the penalty itself.
        """
        graph = self
        levels: list[tuple[Graph, Ids]] = []
        within, last = labels, len(self.penalties) - 1
        rung, shrinks = 0, True
        while rung < last or shrinks:
            groups, _ = graph.move(
                np.arange(graph.n),
                self.penalties[rung],
                graph.n,
                rng.permutation(graph.n),
                GROUPING,
                within,
            )
            groups = _renumber(groups)
            n_groups = int(groups.max()) + 1
            shrinks = n_groups < SHRINKING * graph.n
            if n_groups < graph.n:
                levels.append((graph, groups))
                graph = graph.statistics(groups, n_groups).coarser
                if within is not None:
                    finer, within = within, np.empty(n_groups, np.int64)
                    within[groups] = finer
            rung = min(rung + 1, last)
        found = np.arange(graph.n) if within is None else within
        if within is not None:
            found = _merge_clusters(graph, within, self.penalty, rng)
            levels.append((graph, np.arange(graph.n)))
        for graph, groups in reversed(levels):
            found = found[groups]
            found, _ = graph.move(
                found, self.penalty, self.max_clusters, rng.permutation(graph.n), MOVING
            )
            found = _renumber(found)
        return found

    def work(self, k: int) -> int:
        """Return the number of links."""
        return self.n_links

    # -- vertices and links ------------------------------------------------------------------------

    def move(
        self,
        labels: Ids,
        penalty: float,
        max_clusters: int,
        order: Ids,
        max_passes: int,
        within: Ids | None = None,
    ) -> tuple[Ids, int]:
        """Return labels (n,) after moves of single vertices, and the number of moves.

        Each lowers the sum of costs plus ``penalty`` for each cluster, by its exact change given
        the moves before it. Vertices are visited in the order (n,), and again where a neighbour has
        moved, ``max_passes`` times each on average. They may leave clusters empty, and open new
        ones up to ``max_clusters``. With ``within`` (n,) only links between vertices of the same
        number count.
        """
        n, k = self.n, int(labels.max()) + 1
        labels = labels.copy()
        now, clusters = self.statistics(labels, k), np.zeros((2, n))
        clusters[:, :k] = now.inside, now.volumes
        counts = np.bincount(labels, minlength=n)
        free = np.flatnonzero(counts == 0)[::-1]
        state = np.array([0, n, max_passes * n, 0, n - len(free), len(free)])
        free = np.concatenate([free, np.zeros(n - len(free), np.int64)])
        restricted = within is not None
        numbers = labels if within is None else within
        arguments = (
            *self.rows, self.inner, self.volume, numbers, restricted, penalty, max_clusters,
            MIN_GAIN * self.unit, labels, *clusters, counts, free, order.copy(),
            np.ones(n, np.bool_), np.zeros(n), np.empty(n, np.int64), state,
        )  # fmt: skip
        while state[compiled.LENGTH] and state[compiled.VISITS]:
            self.pool.stop_if_given_up()
            compiled.move_vertices(*arguments, TILE)
        return labels, int(state[compiled.MOVES])

    def links(self) -> sparse.csr_array:
        """Return the links (n, n), a symmetric matrix with an empty diagonal."""
        indptr, indices, data = self.rows
        return sparse.csr_array((data, indices, indptr), shape=(self.n, self.n))

    def parts(self, members: Sequence[Ids]) -> Iterator[Graph]:
        """Yield the graph of each of some sets of vertices, without the links that leave it."""
        indptr, indices, _ = self.rows
        local = np.full(self.n, -1, np.int32)
        for ids in members:
            self.pool.stop_if_given_up()
            local[ids] = np.arange(len(ids))
            counts = np.zeros(len(ids) + 1, np.int64)
            compiled.count_inner_links(indptr, indices, ids, local, counts[1:])
            starts = np.cumsum(counts)
            others, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1])
            compiled.take_inner_links(*self.rows, ids, local, others, weights)
            local[ids] = -1
            rows = (starts, others, weights)
            yield Graph(rows, self.inner[ids], self.volume[ids], self.unit, self.pool)

    def links_to_earlier(self, order: Ids) -> Floats:
        """Return the sum of links (n,) of each vertex in the order to those before it."""
        earlier, ranks = np.empty(self.n), inverse_permutation(order)
        for start, stop in self.tiles(self.rows[0]):
            compiled.sum_earlier(*self.rows, ranks, earlier, start, stop)
        return earlier

    def tiles(self, ends: NDArray[np.integer]) -> list[tuple[int, int]]:
        """Cut items into tiles of about `TILE` links; item i has links ends[i] to ends[i + 1]."""
        self.pool.stop_if_given_up()
        if ends[-1] <= TILE:
            return [(0, len(ends) - 1)]
        cuts = np.searchsorted(ends[1:], np.arange(TILE, ends[-1], TILE))
        borders = np.unique(np.concatenate([[0], cuts + 1, [len(ends) - 1]]))
        return list(pairwise(borders.tolist()))


def _merge_clusters(graph: Graph, labels: Ids, penalty: float, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) after moves of whole clusters."""
    clusters = graph.statistics(labels, int(labels.max()) + 1).coarser
    names, _ = clusters.move(
        np.arange(clusters.n), penalty, clusters.n, rng.permutation(clusters.n), MOVING
    )
    return _renumber(names)[labels]


def _renumber(labels: Ids) -> Ids:
    """Return labels (n,) without empty clusters, in the same order."""
    used = np.bincount(labels) > 0
    return (np.cumsum(used) - 1)[labels]


def split_in_two(part: Graph, least: float, rng: np.random.RandomState) -> Split:
    """Return the split of all vertices of a graph that saves most, or none (zero).

    Eigenvectors give an order, and the best cut along it is taken. With M the links and ``inner``
    on the diagonal, and V the volumes, the halves are to maximise ``z'Mz / z'Vz`` summed over both.
    The relaxation are the two leading eigenvectors of ``V^-1/2 M V^-1/2``, whose eigenvalues bound
    that sum from above (Ky Fan). Where the cut saves less than ``least`` but the bound is higher,
    vertices move between the halves; nothing is computed where the bound is lower. The halves are
    those in the first and second half, as bool (n,).
    """
    clusters = part.statistics(np.zeros(part.n, np.int64), 1)
    whole = float(clusters.inside[0] / clusters.volumes[0])
    nothing = Split(0.0, np.zeros(part.n, np.bool_))
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
            best = Split(float(ratios[at] - whole), second)
    return _move_between(part, best, whole) if 0 < best.saved < least else best


def _move_between(part: Graph, split: Split, whole: float) -> Split:
    """Return the split after moves of vertices between its halves."""
    halves = split.halves.astype(np.int64)
    labels, _ = part.move(halves, 0.0, 2, np.arange(part.n), MAX_PASSES)
    clusters = part.statistics(labels, 2)
    return Split(float(np.sum(clusters.inside / clusters.volumes) - whole), labels == 1)


def _leading(part: Graph, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Return the two largest eigenvalues and eigenvectors (n, 2) of the relaxation."""
    links, roots = part.links(), 1.0 / np.sqrt(part.volume)
    rows = np.repeat(np.arange(part.n), np.diff(links.indptr))
    values = links.data * roots[rows] * roots[links.indices]
    inner = part.inner / part.volume
    if part.n <= MAX_DENSE:
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
