"""The contract between clusters of vertices and the place where the graph lives.

A graph has n vertices, symmetric links of weight > 0 between different ones, and for each vertex
``inner`` (n,), what is inside it already, and its ``volume`` (n,), > 0. With ``inside`` the sum of
``inner`` over a cluster and of all links in it, from both ends, a cluster costs

    -inside / volume.

Everything is exact up to the rounding of float64, and does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from scipy import sparse

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids


class Graph(Protocol):
    """Vertices and their links. No method changes the graph or its arguments."""

    n: int
    n_links: int  # each counted from both ends
    inner: Floats  # (n,)
    volume: Floats  # (n,)
    unit: float  # the scale of costs

    def statistics(self, labels: Ids, k: int) -> tuple[Floats, Floats]:
        """Return what is inside each of clusters 0 to k-1, and their volumes; zeros where empty."""

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

    def coarser(self, labels: Ids, k: int) -> Graph:
        """Return the graph whose vertices are clusters 0 to k-1, with the same costs."""

    def links(self) -> sparse.csr_array:
        """Return the links (n, n), a symmetric matrix with an empty diagonal."""

    def parts(self, members: Sequence[Ids]) -> Iterator[Graph]:
        """Yield the graph of each of some sets of vertices, without the links that leave it."""

    def links_to_earlier(self, order: Ids) -> Floats:
        """Return the sum of links (n,) of each vertex in the order to those before it."""
