"""Rows of clusters with covariances, in memory: every pass over them, in tiles on threads.

Rows are float64, in coordinates in which the prior matrix is the identity. Scatters and roots are
(k, h, d), h being d, or 1 where they are diagonal. Every result is a sum in the order of the rows
or a decision of one row, so that the number of threads cannot matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.kernels.gaussian import costs as gaussian_costs
from hardbayes.kernels.gaussian import moves as gaussian_moves
from hardbayes.kernels.gaussian import scatters as gaussian_scatters
from hardbayes.matrices import inverse_permutation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool

    Ids = NDArray[np.int64]

TILE = 1 << 20  # multiply-adds: about a millisecond
ROUNDS = 12  # of choosing and refitting within a division


class Halves(NamedTuple):
    """A cluster in two: a row beyond the first is one of the second."""

    saved: float  # by how much the log-determinants fall
    means: Floats  # (2, d)
    roots: Floats  # (2, h, d)


class GaussianRows:
    """Rows (n, d) with weights (n,), both float64 and C-contiguous."""

    def __init__(self, rows: Floats, weights: Floats, diagonal: bool, pool: Pool) -> None:
        self.rows = rows
        self.weights = weights
        self.diagonal = diagonal
        self.pool = pool
        self.n, self.d = rows.shape
        self.height = 1 if diagonal else self.d
        self._gaps = np.empty((pool.n_threads, self.d))

    def nearest(
        self, means: Floats, roots: Floats, offsets: Floats | None = None
    ) -> tuple[Ids, Floats]:
        """Return the nearest cluster of each row (n,), the first of equals, and how near it is.

        Offsets (k,), if any, make clusters farther.
        """
        labels, distances = np.empty(self.n, np.int64), np.empty(self.n)
        farther = np.zeros(len(means)) if offsets is None else offsets
        self._run(
            lambda a, b, gap: gaussian_costs.nearest(
                self.rows, means, roots, farther, labels, distances, gap, a, b
            ),
            self.n,
            roots.size,
        )
        return labels, distances

    def distances(self, means: Floats, roots: Floats) -> Floats:
        """Return the distance of each row from every cluster (n, k)."""
        out = np.empty((self.n, len(means)))
        self._run(
            lambda a, b, gap: gaussian_costs.all_distances(self.rows, means, roots, out, gap, a, b),
            self.n,
            roots.size,
        )
        return out

    def grouped(self, labels: Ids, k: int) -> tuple[Ids, Ids]:
        """Return rows by cluster (n,), and where each cluster's begin and end (k + 1,)."""
        order, places = np.empty(self.n, np.int64), np.zeros(k + 1, np.int64)
        gaussian_scatters.group_rows(labels, places, order)
        return order, places

    def statistics(self, labels: Ids, k: int) -> tuple[Floats, Floats, Floats]:
        """Return weights (k,), means (k, d) and scatters (k, h, d) of clusters."""
        order, places = self.grouped(labels, k)
        sizes, means = np.empty(k), np.empty((k, self.d))
        scatters = np.empty((k, self.height, self.d))
        self._run(
            lambda a, b, gap: gaussian_scatters.add_up(
                self.rows, self.weights, order, places, sizes, means, scatters, gap, a, b
            ),
            k,
            self.n * self.height * self.d // k,
        )
        return sizes, means, scatters

    def restless(
        self, labels: Ids, sizes: Floats, members: Ids, means: Floats, roots: Floats
    ) -> Ids:
        """Return the rows that would gain by moving, all others staying where they are."""
        marks = np.empty(self.n, np.bool_)
        self._run(
            lambda a, b, gap: gaussian_moves.restless(
                self.rows, self.weights, labels, sizes, members, means, roots, marks, gap, a, b
            ),
            self.n,
            roots.size,
        )
        return np.flatnonzero(marks)

    def relocate(
        self, labels: Ids, sizes: Floats, means: Floats, scatters: Floats, max_passes: int
    ) -> int:
        """Let rows move one by one while that lowers the objective; return the number of moves.

        IN/OUT labels (n,). Only rows that would move as things stood at the beginning of a pass
        are visited in it.
        """
        sizes, means, scatters = sizes.copy(), means.copy(), scatters.copy()
        roots = self.roots(scatters)[0]
        members = np.bincount(labels[self.weights > 0], minlength=len(sizes))
        n_moves = 0
        for _ in range(max_passes):
            before = n_moves
            ids = self.restless(labels, sizes, members, means, roots)
            for a, b in _cut(len(ids), roots.size + self.height * self.d**2):
                n_moves += gaussian_moves.relocate(
                    self.rows, self.weights, ids, labels, sizes, members, means, scatters, roots,
                    self._gaps[0], a, b,
                )  # fmt: skip
            if n_moves == before:
                break
        return n_moves

    def births(
        self, order: Ids, labels: Ids, distances: Floats, k: int, price: float, most: int
    ) -> bool:
        """Open clusters for rows farther than ``price``, in visiting order, seen by those after.

        IN/OUT labels (n,), clusters from k on being new, and distances (n,). At most ``most`` are
        opened; returns whether more are wanted.
        """
        dear = order[self.weights[order] * distances[order] > price]
        born = np.empty(min(most, len(dear)), np.int64)
        n_born, own = 0, distances.copy()
        for a, b in _cut(len(dear), max(1, len(born) // 2) * self.d):
            n_born = gaussian_moves.open_clusters(
                self.rows, self.weights, dear, own, price, born, n_born, a, b
            )
        if n_born:
            place = inverse_permutation(order)
            born = born[:n_born].copy()
            self._run(
                lambda a, b, gap: gaussian_moves.choose_births(
                    self.rows, born, place, labels, distances, k, a, b
                ),
                self.n,
                n_born * self.d,
            )
        return bool((self.weights * distances > price).any())

    def bisect(
        self, ids: Ids, factor: float, starts: list[NDArray[np.uint8]], whole: float
    ) -> Halves:
        """Return the best division of rows ``ids`` in two that grows from one of the starts.

        Their weights count ``factor`` times; ``whole`` is the log-determinant of all of them.
        """
        d, h = self.d, self.height
        gap = np.empty(d)
        best = Halves(0.0, np.empty((0, d)), np.empty((0, h, d)))
        for sides in starts:
            means, roots = np.empty((2, d)), np.zeros((2, h, d))
            total = gaussian_moves.bisect(
                self.rows, self.weights, ids, factor, sides, np.empty(2), means,
                np.empty((2, h, d)), roots, gap, ROUNDS,
            )  # fmt: skip
            if whole - total > best.saved:
                best = Halves(float(whole - total), means, roots)
        return best

    def second_half(self, ids: Ids, halves: Halves) -> NDArray[np.bool_]:
        """Return which of these rows belong to the second of two halves."""
        some = self.sample(ids, self.weights[ids])
        return some.nearest(halves.means, halves.roots)[0] == 1

    def sample(self, ids: NDArray[np.intp], weights: Floats) -> GaussianRows:
        """Return some of the rows, with these weights."""
        return GaussianRows(self.rows[ids], weights, self.diagonal, self.pool)

    def roots(self, scatters: Floats) -> tuple[Floats, Floats]:
        """Return lower triangular W (k, h, d), ``W'W = (I + S)^-1``, and ``log|I + S|`` (k,)."""
        roots, logarithms = np.zeros_like(scatters), np.empty(len(scatters))
        self._run(
            lambda a, b, _: gaussian_scatters.invert_roots(scatters, roots, logarithms, a, b),
            len(scatters),
            self.height * self.d**2,
        )
        return roots, logarithms

    def _run(self, task: Callable[[int, int, Floats], None], n: int, work: int) -> None:
        """Call ``task(start, stop, scratch)`` for tiles of n things with so much work in each."""
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
    pool.run(lambda t, _: gaussian_costs.transform(rows, middle, full, out, *tiles[t]), len(tiles))
    return out
