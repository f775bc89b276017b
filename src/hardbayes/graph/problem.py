"""From a graph to what its clusters cost: the cut. Scores that choose are in `graph.choice`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import Pool, import_whole

if TYPE_CHECKING:
    from hardbayes.graph.clusters import Graph

# Parts of the penalty at which groups of vertices are formed, before clusters are.
RUNGS = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class GraphProblem:
    """The linked vertices of a graph, and the isolated ones, which have nothing to cut.

    Weights are in units of ``unit``, a power of two, so that their sums stay within float64.
    """

    links: sparse.csr_array  # (m, m), between linked vertices, in units
    degrees: Floats  # (m,): with self-loops, in units
    loops: Floats  # (m,), in units
    sizes: Floats  # (m,): number of vertices each stands for
    linked: Ids  # (m,): numbers of the linked vertices
    isolated: Ids  # numbers of all others
    ratio: bool  # the ratio cut, else the normalised cut
    unit: float  # of weights
    pool: Pool

    @property
    def volumes(self) -> Floats:
        """By what the cut of a cluster is divided (m,): degrees, or numbers of vertices."""
        return self.sizes if self.ratio else self.degrees

    @property
    def cost_unit(self) -> float:
        """The unit of costs and penalties: a ratio cut has that of weights."""
        return self.unit if self.ratio else 1.0

    def sigma(self, penalty: float) -> float:
        """Return what is subtracted from the cost of a cluster, at least its largest possible cut.

        So the penalty of a centre-free model, ``penalty + sigma``, is not negative (Kulis & Jordan
        2012, section 5, where a shift of the kernel does that).
        """
        largest = float((self.degrees / self.sizes).max()) if self.ratio else 1.0
        return max(largest, -penalty)

    def graph(self, penalty: float, max_clusters: int) -> Graph:
        """Return the graph in which a cluster costs ``cut / volume - sigma``."""
        volumes, sigma = self.volumes, self.sigma(penalty)
        # Added up so that a normalised cut with sigma = 1 has exactly the self-loops inside.
        inner = self.loops + (sigma * volumes - self.degrees)
        graph = self._graph(inner, volumes, sigma)
        return replace(graph, penalties=self.penalties(penalty), max_clusters=max_clusters)

    def degree_graph(self) -> Graph:
        """Return the graph whose clusters have the sum of their links inside, and of degrees."""
        return self._graph(self.loops, self.degrees, 1.0)

    def _graph(self, inner: Floats, volumes: Floats, unit: float) -> Graph:
        import_whole("hardbayes.graph.clusters")
        from hardbayes.graph.clusters import Graph

        links = self.links
        rows = (
            links.indptr.astype(np.int64, copy=False),
            links.indices.astype(np.int32, copy=False),
            links.data,
        )
        return Graph(rows, inner, volumes, unit, self.pool)

    def penalties(self, penalty: float, share: float = 1.0) -> tuple[float, ...]:
        """Return rising penalties for groups of vertices, the last for clusters.

        A ``share`` below one lowers all of them: there will be more and smaller clusters.
        """
        sigma = self.sigma(penalty)
        shares = [share * rung for rung in RUNGS]
        if self.ratio:
            return tuple(max(0.0, sigma + penalty / part) for part in shares)
        return tuple(part * (sigma + penalty) for part in shares)

    def coarser(self, labels: Ids, k: int) -> GraphProblem:
        """Return the problem whose vertices are clusters 0 to k-1 of the linked vertices."""
        graph = self.degree_graph().statistics(labels, k).coarser
        sizes = np.bincount(labels, self.sizes, k)
        own = dict(links=graph.links(), degrees=graph.volume, loops=graph.inner, sizes=sizes)
        return replace(self, **own, linked=np.arange(k))

    def all_labels(self, labels: Ids, max_clusters: int) -> Ids:
        """Return labels of all vertices: each isolated one is a cluster of its own.

        Where that would be too many clusters, those left over are in the last one.
        """
        k = int(labels.max()) + 1 if len(labels) else 0
        found = np.empty(len(self.linked) + len(self.isolated), np.int64)
        found[self.linked] = labels
        found[self.isolated] = np.minimum(k + np.arange(len(self.isolated)), max_clusters - 1)
        return found


def make_problem(links: sparse.csr_array, loops: Floats, ratio: bool, pool: Pool) -> GraphProblem:
    """Return the problem of a symmetric matrix of links without a diagonal, and self-loops (n,)."""
    largest = float(links.data.max()) if links.nnz else 1.0
    unit = float(2.0 ** np.floor(np.log2(largest)))
    # Self-loops may be heavier than that; those beyond float64 would leave no cut to compare.
    loops = np.minimum(loops / unit, 1e100)
    is_linked = np.diff(links.indptr) > 0
    linked, isolated = np.flatnonzero(is_linked), np.flatnonzero(~is_linked)
    if len(isolated):
        links = links[linked][:, linked]
    if unit != 1.0:
        links = sparse.csr_array((links.data / unit, links.indices, links.indptr), links.shape)
    loops = loops[linked]
    degrees = np.asarray(links.sum(axis=1)).ravel() + loops
    sizes = np.ones(len(linked))
    return GraphProblem(links, degrees, loops, sizes, linked, isolated, ratio, unit, pool)
