"""Rows of clusters with covariances, in memory: passes over tiles, on threads.

Every result is a sum in the order of the rows or a decision for one row, so that the number of
threads cannot matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.gaussian.protocol import GaussianRows, Halves
from hardbayes.kernels.gaussian import costs as cost_kernels
from hardbayes.kernels.gaussian import moves as move_kernels
from hardbayes.kernels.gaussian import scatters as scatter_kernels
from hardbayes.matrices import inverse_permutation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.protocol import Ids, Trial
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool

TILE = 1 << 20  # multiply-adds: about a millisecond
MAX_ROUNDS = 12  # of assignment and refit within a division


class MemoryGaussianRows(GaussianRows):
    """Rows (n, d) with weights (n,), both float64 and C-contiguous."""

    def __init__(self, rows: Floats, weights: Floats, diagonal: bool, pool: Pool) -> None:
        self.rows = rows
        self.weights = weights
        self.diagonal = diagonal
        self.pool = pool
        self.n, self.d = rows.shape
        self._height = 1 if diagonal else self.d
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
        scatter_kernels.group_rows(labels, places, order)
        weights, means = np.empty(k), np.empty((k, self.d))
        scatters = np.empty((k, self._height, self.d))
        self._run(
            lambda a, b, gap: scatter_kernels.add_up(
                self.rows, self.weights, order, places, weights, means, scatters, gap, a, b
            ),
            k,
            self.n * self._height * self.d // k,
        )
        return weights, means, scatters

    def roots(self, scatters: Floats) -> tuple[Floats, Floats]:
        """Factorise ``(I + S)^-1``."""
        roots, logarithms = np.zeros_like(scatters), np.empty(len(scatters))
        self._run(
            lambda a, b, _: scatter_kernels.invert_roots(scatters, roots, logarithms, a, b),
            len(scatters),
            self._height * self.d**2,
        )
        return roots, logarithms

    def nearest(
        self, means: Floats, roots: Floats, offsets: Floats | None = None
    ) -> tuple[Ids, Floats]:
        """Find the nearest cluster of each row."""
        labels, distances = np.empty(self.n, np.int64), np.empty(self.n)
        added = np.zeros(len(means)) if offsets is None else offsets
        self._run(
            lambda a, b, gap: cost_kernels.nearest(
                self.rows, means, roots, added, labels, distances, gap, a, b
            ),
            self.n,
            roots.size,
        )
        return labels, distances

    def distances(self, means: Floats, roots: Floats) -> Floats:
        """Compute all distances."""
        out = np.empty((self.n, len(means)))
        self._run(
            lambda a, b, gap: cost_kernels.all_distances(self.rows, means, roots, out, gap, a, b),
            self.n,
            roots.size,
        )
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
            n_births = move_kernels.open_clusters(
                self.rows, self.weights, above, own, opening_cost, births, n_births, a, b
            )
        if n_births:
            visit_rank = inverse_permutation(order)
            births = births[:n_births].copy()
            self._run(
                lambda a, b, _: move_kernels.choose_births(
                    self.rows, births, visit_rank, labels, distances, len(means), a, b
                ),
                self.n,
                n_births * self.d,
            )
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
        marks = np.empty(self.n, np.bool_)
        n_moves = 0
        for _ in range(max_passes):
            before = n_moves
            self._run(
                lambda a, b, gap: move_kernels.mark_candidates(
                    self.rows, self.weights, labels, sizes, members, means, roots, marks, gap, a, b
                ),
                self.n,
                roots.size,
            )
            ids = np.flatnonzero(marks)
            for a, b in _cut(len(ids), roots.size + self._height * self.d**2):
                n_moves += move_kernels.move_rows(
                    self.rows, self.weights, ids, labels, sizes, members, means, scatters, roots,
                    self._gaps[0], a, b,
                )  # fmt: skip
            if n_moves == before:
                break
        return labels, n_moves

    def divide(self, trials: Sequence[Trial]) -> list[Halves]:
        """Divide the rows of several trials side by side."""
        found: list[Halves] = [self._no_halves()] * len(trials)

        def task(at: int, _: int) -> None:
            found[at] = self._best_halves(trials[at])

        self.pool.run(task, len(trials))
        return found

    def _no_halves(self) -> Halves:
        return Halves(0.0, np.empty((0, self.d)), np.empty((0, self._height, self.d)))

    def _best_halves(self, trial: Trial) -> Halves:
        shape = (2, self._height, self.d)
        best = self._no_halves()
        for sides in trial.sides:
            means, roots = np.empty((2, self.d)), np.zeros(shape)
            total = move_kernels.bisect(
                trial.rows, trial.weights, sides.copy(), np.empty(2), means, np.empty(shape),
                roots, np.empty(self.d), MAX_ROUNDS,
            )  # fmt: skip
            if trial.whole - total > best.saved:
                best = Halves(float(trial.whole - total), means, roots)
        return best

    def _run(self, task: Callable[[int, int, Floats], None], n: int, work: int) -> None:
        """Call ``task(start, stop, scratch)`` for tiles of n items, ``work`` operations each."""
        tiles = _cut(n, work)
        self.pool.run(lambda t, worker: task(*tiles[t], self._gaps[worker]), len(tiles))


def _cut(n: int, work: int) -> list[tuple[int, int]]:
    size = max(1, TILE // max(1, work))
    return [(a, min(a + size, n)) for a in range(0, n, size)]


def transformed(rows: Floats, middle: Floats, matrix: Floats, pool: Pool) -> Floats:
    """Return ``(x - middle) M`` with an upper triangular M (d, d), or a diagonal (d,)."""
    out = np.empty_like(rows)
    tiles = _cut(len(rows), matrix.size)
    full = matrix.reshape(-1, rows.shape[1])
    pool.run(lambda t, _: cost_kernels.transform(rows, middle, full, out, *tiles[t]), len(tiles))
    return out
