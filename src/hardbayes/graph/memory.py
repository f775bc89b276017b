"""A graph in memory, in compressed sparse rows. Kernels are called for some links at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.arrays import Floats, inverse_permutation
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import Pool
from hardbayes.graph import compiled
from hardbayes.graph.rows import Graph

TILE = 1 << 22  # links: some ten milliseconds, after which Ctrl-C is handled
LEAST_GAIN = 1e-11  # of a move, in units of the largest possible cost


class MemoryGraph(Graph):
    """Links as CSR arrays indptr, indices and data (float64); inner and volume (n,).

    ``pool``: of the fit, which may have been interrupted in another thread. What the methods return
    is said in `Graph`.
    """

    def __init__(
        self,
        rows: tuple[NDArray[np.integer], NDArray[np.integer], Floats],
        inner: Floats,
        volume: Floats,
        unit: float,
        pool: Pool,
    ) -> None:
        self.rows = rows
        self.inner = inner
        self.volume = volume
        self.unit = unit
        self.pool = pool
        self.n = len(inner)
        self.n_links = len(rows[1])

    def statistics(self, labels: Ids, k: int) -> tuple[Floats, Floats]:
        """Sum over all vertices, in their order."""
        found = np.zeros(k), np.zeros(k)
        for start, stop in self._tiles(self.rows[0]):
            compiled.sum_inside(*self.rows, self.inner, self.volume, labels, *found, start, stop)
        return found

    def move(
        self,
        labels: Ids,
        penalty: float,
        max_clusters: int,
        order: Ids,
        max_passes: int,
        within: Ids | None = None,
    ) -> tuple[Ids, int]:
        """Move vertices from a queue, until it is empty or has been long enough."""
        n, k = self.n, int(labels.max()) + 1
        labels = labels.copy()
        clusters = np.zeros((2, n))
        clusters[:, :k] = self.statistics(labels, k)
        counts = np.bincount(labels, minlength=n)
        free = np.flatnonzero(counts == 0)[::-1]
        state = np.array([0, n, max_passes * n, 0, n - len(free), len(free)])
        free = np.concatenate([free, np.zeros(n - len(free), np.int64)])
        restricted = within is not None
        numbers = labels if within is None else within
        arguments = (
            *self.rows, self.inner, self.volume, numbers, restricted, penalty, max_clusters,
            LEAST_GAIN * self.unit, labels, *clusters, counts, free, order.copy(),
            np.ones(n, np.bool_), np.zeros(n), np.empty(n, np.int64), state,
        )  # fmt: skip
        while state[compiled.LENGTH] and state[compiled.VISITS]:
            self.pool.stop_if_given_up()
            compiled.move_vertices(*arguments, TILE)
        return labels, int(state[compiled.MOVES])

    def coarser(self, labels: Ids, k: int) -> MemoryGraph:
        """Join the links of the members of each cluster."""
        indptr, indices, _ = self.rows
        order = np.argsort(labels.astype(np.min_scalar_type(k)), kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=k))])
        ends = np.zeros(len(order) + 1, np.int64)
        np.cumsum(np.diff(indptr)[order], out=ends[1:])
        tiles = self._tiles(ends[starts])
        counts, marks = np.zeros(k, np.int64), np.full(k, -1)
        for tile in tiles:
            compiled.count_neighbours(indptr, indices, labels, order, starts, marks, counts, *tile)
        coarse = np.concatenate([[0], np.cumsum(counts)])
        others, weights = np.empty(coarse[-1], np.int32), np.empty(coarse[-1])
        marks[:] = -1
        for tile in tiles:
            compiled.join_links(
                *self.rows, labels, order, starts, marks, coarse, others, weights, *tile
            )
        return MemoryGraph(
            (coarse, others, weights), *self.statistics(labels, k), self.unit, self.pool
        )

    def links(self) -> sparse.csr_array:
        """Return the arrays as a matrix."""
        indptr, indices, data = self.rows
        return sparse.csr_array((data, indices, indptr), shape=(self.n, self.n))

    def parts(self, members: Sequence[Ids]) -> Iterator[Graph]:
        """Copy the links between members of each set."""
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
            yield MemoryGraph(rows, self.inner[ids], self.volume[ids], self.unit, self.pool)

    def links_to_earlier(self, order: Ids) -> Floats:
        """Sum over all vertices, in their order."""
        earlier, ranks = np.empty(self.n), inverse_permutation(order)
        for start, stop in self._tiles(self.rows[0]):
            compiled.sum_earlier(*self.rows, ranks, earlier, start, stop)
        return earlier

    def _tiles(self, ends: NDArray[np.integer]) -> list[tuple[int, int]]:
        """Cut items into tiles of about `TILE` links; item i has links ends[i] to ends[i + 1]."""
        self.pool.stop_if_given_up()
        if ends[-1] <= TILE:
            return [(0, len(ends) - 1)]
        cuts = np.searchsorted(ends[1:], np.arange(TILE, ends[-1], TILE))
        borders = np.unique(np.concatenate([[0], cuts + 1, [len(ends) - 1]]))
        return list(pairwise(borders.tolist()))
