"""Penalised cuts of graphs as a label-first model.

A cluster costs ``-inside / volume`` (`executors.graph.protocol`). With volume the degrees and
inside the links this is the normalised cut; with volume the number of vertices and inside ``sigma
volume - cut`` the ratio cut. Then ``cut + cluster_penalty k`` is what is minimised here with the
penalty ``cluster_penalty + sigma`` (Kulis & Jordan 2012, Theorem 5.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardbayes.blas import one_blas_thread
from hardbayes.engine.label_first.ratios import ratio, unions_of
from hardbayes.executors.graph.protocol import Graph
from hardbayes.matrices import Floats
from hardbayes.moves.graph.bisection import bisect
from hardbayes.moves.graph.multilevel import regroup
from hardbayes.moves.label_first.model import Division, Ids, LabelFirstModel, Unions

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
