"""Rows of clusters with covariances, in memory: passes over tiles, on threads.

Every result is a sum in the order of the rows or a decision for one row, so that the number of
threads cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, inverse_permutation
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import Pool
from hardbayes.gaussian.compiled import moves
from hardbayes.gaussian.compiled import statistics as costs
from hardbayes.gaussian.compiled import statistics as sums
from hardbayes.gaussian.rows import GaussianRows, Trial

TILE = 1 << 20  # multiply-adds: about a millisecond
MAX_ROUNDS = 12  # of assignment and refit within a division


class MemoryGaussianRows(GaussianRows):
    """Rows (n, d) with weights (n,), both float64 and C-contiguous.

    What the methods return is said in `GaussianRows`.
    """

    def __init__(self, rows: Floats, weights: Floats, diagonal: bool, pool: Pool) -> None:
        self.rows = rows
        self.weights = weights
        self.diagonal = diagonal
        self.pool = pool
        self.n, self.d = rows.shape
        self._h = 1 if diagonal else self.d
        self._gaps = np.empty((pool.n_threads, self.d))

    def take(self, ids: NDArray[np.integer]) -> Floats:
        """Return a copy of some rows."""
        return self.rows[ids]

    def sample(self, ids: NDArray[np.integer], weights: Floats) -> MemoryGaussianRows:
        """Return some of the rows, with these weights."""
        return MemoryGaussianRows(self.rows[ids], weights, self.diagonal, self.pool)

    def statistics(self, labels: Ids, k: int) -> tuple[Floats, Floats, Floats]:
        """Sum weights, means and scatters of clusters."""
        order, places = np.empty(self.n, np.int64), np.zeros(k + 1, np.int64)
        sums.group_rows(labels, places, order)
        found = np.empty(k), np.empty((k, self.d)), np.empty((k, self._h, self.d))
        work = self.n * self._h * self.d // k
        self._run(sums.add_up, k, work, self.rows, self.weights, order, places, *found)
        return found

    def roots(self, scatters: Floats) -> tuple[Floats, Floats]:
        """Factorise ``(I + S)^-1``."""
        return self._inverted(scatters, 1.0, 0.0)

    def nearest(
        self, means: Floats, roots: Floats, offsets: Floats | None = None
    ) -> tuple[Ids, Floats]:
        """Find the nearest cluster of each row."""
        found = np.empty(self.n, np.int64), np.empty(self.n)
        added = np.zeros(len(means)) if offsets is None else offsets
        self._run(costs.nearest, self.n, roots.size, self.rows, means, roots, added, *found)
        return found

    def distances(self, means: Floats, roots: Floats) -> Floats:
        """Compute all distances."""
        out = np.empty((self.n, len(means)))
        self._run(costs.all_distances, self.n, roots.size, self.rows, means, roots, out)
        return out

    def sweep(
        self, means: Floats, roots: Floats, order: Ids, opening_cost: float, max_births: int
    ) -> tuple[Ids, bool]:
        """Assign rows to clusters, old or opened on the way.

        Births are found serially, among the few rows above the opening cost; then all rows choose
        among those that were opened before their own visit.
        """
        labels, distances = self.nearest(means, roots)
        above = order[self.weights[order] * distances[order] > opening_cost]
        births = np.empty(min(max_births, len(above)), np.int64)
        n_births, own = 0, distances.copy()
        for a, b in _cut(len(above), max(1, len(births) // 2) * self.d):
            n_births = moves.open_clusters(
                self.rows, self.weights, above, own, opening_cost, births, n_births, a, b
            )
        if n_births:
            work, rank = n_births * self.d, inverse_permutation(order)
            births = births[:n_births].copy()
            found = (labels, distances, len(means))
            self._run(moves.choose_births, self.n, work, self.rows, births, rank, *found)
        return labels, bool((self.weights * distances > opening_cost).any())

    def move_rows(
        self, labels: Ids, weights: Floats, means: Floats, scatters: Floats, max_passes: int
    ) -> tuple[Ids, int]:
        """Move single rows.

        A pass visits only the rows that would move as things were when it began: these are found
        on all threads.
        """
        labels, sizes = labels.copy(), weights.copy()
        means, scatters = means.copy(), scatters.copy()
        roots = self.roots(scatters)[0]
        members = np.bincount(labels[self.weights > 0], minlength=len(sizes))
        marks, n_moves = np.empty(self.n, np.bool_), 0
        rows = (self.rows, self.weights)
        for _ in range(max_passes):
            before, state = n_moves, (labels, sizes, members, means)
            self._run(moves.mark_candidates, self.n, roots.size, *rows, *state, roots, marks)
            ids = np.flatnonzero(marks)
            for a, b in _cut(len(ids), roots.size + self._h * self.d**2):
                n_moves += moves.move_rows(*rows, ids, *state, scatters, roots, self._gaps[0], a, b)
            if n_moves == before:
                break
        return labels, n_moves

    def divide(self, trials: Sequence[Trial]) -> list[tuple[float, Floats, Floats]]:
        """Divide the rows of several trials side by side."""
        shape = (self._h, self.d)
        found: list[tuple[float, Floats, Floats]]
        found = [(0.0, np.empty((0, self.d)), np.empty((0, *shape)))] * len(trials)

        def task(at: int, _: int) -> None:
            rows, weights, starts, whole = trials[at]
            sizes, scatters, gap = np.empty(2), np.empty((2, *shape)), np.empty(self.d)
            for sides in starts.copy():
                means, roots = np.empty((2, self.d)), np.zeros((2, *shape))
                total = moves.bisect(
                    rows, weights, sides, sizes, means, scatters, roots, gap, MAX_ROUNDS
                )
                if whole - total > found[at][0]:
                    found[at] = float(whole - total), means, roots

        self.pool.run(task, len(trials))
        return found

    def _inverted(self, matrices: Floats, ridge: float, precision: float) -> tuple[Floats, Floats]:
        """Return roots of ``(ridge I + M)^-1``, and ``log|ridge I + M|``."""
        roots, logarithms = np.zeros_like(matrices), np.empty(len(matrices))
        given = (matrices, ridge, precision)
        work = self._h * self.d**2
        self._run(sums.invert_roots, len(matrices), work, *given, roots, logarithms)
        return roots, logarithms

    def _run(
        self,
        kernel: Callable[..., Any],
        n: int,
        work: int,
        *arguments: Any,
        scratch: Floats | None = None,
    ) -> None:
        """Call a kernel for tiles of n items, with ``work`` multiply-adds for each.

        ``scratch[w]`` is the memory of thread w; (d,) unless given.
        """
        tiles = _cut(n, work)
        own = self._gaps if scratch is None else scratch
        self.pool.run(lambda t, w: kernel(*arguments, own[w], *tiles[t]), len(tiles))


def _cut(n: int, work: int) -> list[tuple[int, int]]:
    size = max(1, TILE // max(1, work))
    return [(a, min(a + size, n)) for a in range(0, n, size)]


def transformed(rows: Floats, middle: Floats, matrix: Floats, pool: Pool) -> Floats:
    """Return ``(x - middle) M`` with an upper triangular M (d, d), or a diagonal (d,)."""
    out = np.empty_like(rows)
    tiles = _cut(len(rows), matrix.size)
    full = matrix.reshape(-1, rows.shape[1])
    pool.run(lambda t, _: costs.transform(rows, middle, full, out, *tiles[t]), len(tiles))
    return out
