"""Rows with kernel values that are read a slab at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import Pool, one_blas_thread
from hardbayes.kernel import compiled
from hardbayes.kernel.rows import GramRows

SLAB = 1 << 21  # kernel values: 16 MB, computed in some tens of milliseconds
MOST_IN_SLAB = 512  # rows: their kernel values among each other are copied
AHEAD = 8  # slabs that are computed before the first of them is used
MANY_ROWS = 1 << 12  # above which a pass visits only a share of the rows after the first
NEAR = 0.1
LEAST_GAIN = 1e-11  # of a move, in units of the mean of w_i K_ii

#: Returns the kernel values of rows ``ids`` with ``columns``, all where None: dense, or CSR.
Values = Callable[["NDArray[np.integer]", "NDArray[np.integer] | None"], Matrix]


class MemoryGram(GramRows):
    """Kernel values from a function, which threads of the pool call for slabs of rows.

    What the methods return is said in `GramRows`.
    """

    def __init__(self, values: Values, diagonal: Floats, weights: Floats, pool: Pool) -> None:
        self._values = values
        self.diagonal = diagonal
        self.weights = weights
        self.pool = pool
        self.n = len(weights)
        self._least_gain = LEAST_GAIN * float(np.mean(weights * np.abs(diagonal)))

    def statistics(self, labels: Ids, k: int) -> tuple[Floats, Floats]:
        """Add up slabs in their order."""
        volumes = np.bincount(labels, self.weights, k).astype(np.float64)
        links = np.zeros((k, k))
        weighted = np.empty((MOST_IN_SLAB, k))
        for ids, slab in self._slabs(np.arange(self.n)):
            own = weighted[: len(ids)]
            np.multiply(self._reach(slab, labels, k), self.weights[ids, np.newaxis], out=own)
            order = np.argsort(labels[ids], kind="stable")
            names, starts = np.unique(labels[ids][order], return_index=True)
            links[names] += np.add.reduceat(own[order], starts, axis=0)
        return volumes, (links + links.T) / 2.0

    def sweep(
        self, labels: Ids, inside: Floats, volumes: Floats, order: Ids, cost: float, most: int
    ) -> tuple[Ids, Floats, bool]:
        """Visit slabs in the order; births of earlier slabs are columns of later ones."""
        k = len(volumes)
        found, costs = np.empty(self.n, np.int64), np.empty(self.n)
        born, state = np.empty(0, np.int64), np.zeros(2, np.int64)
        for ids, slab in self._slabs(order):
            before = len(born)
            born = np.concatenate([born, np.zeros(len(ids), np.int64)])
            compiled.sweep_rows(
                ids, self._reach(slab, labels, k), _columns(slab, born[:before]),
                _columns(slab, ids), self.diagonal, self.weights, inside, volumes, cost, most,
                born, state, found, costs,
            )  # fmt: skip
            born = born[: state[compiled.BORN]]
            born[before:] = ids[born[before:]]
        return found, np.maximum(costs, 0.0), bool(state[compiled.CAPPED])

    def move(
        self,
        labels: Ids,
        inside: Floats,
        volumes: Floats,
        penalty: float,
        order: Ids,
        max_passes: int,
    ) -> tuple[Ids, int]:
        """Visit slabs in the order; sums over the clusters are made anew for each slab.

        Of many rows only those that are nearest to a move are visited after the first pass.
        """
        k = len(volumes)
        labels, inside, volumes = labels.copy(), inside.copy(), volumes.copy()
        counts = np.bincount(labels, self.weights > 0, k).astype(np.int64)
        moves, margins = np.zeros(1, np.int64), np.zeros(self.n)
        for _ in range(max_passes):
            before = int(moves[0])
            for ids, slab in self._slabs(order):
                compiled.move_rows(
                    ids, self._reach(slab, labels, k), _columns(slab, ids), self.diagonal,
                    self.weights, penalty, self._least_gain, labels, inside, volumes, counts,
                    margins, moves,
                )  # fmt: skip
            if moves[0] == before:
                break
            if self.n > MANY_ROWS:
                order = order[margins[order] <= np.quantile(margins, NEAR)]
        return labels, int(moves[0])

    def values(self, ids: NDArray[np.integer], columns: NDArray[np.integer]) -> Floats:
        """Call the function."""
        with one_blas_thread():
            return _dense(self._values(ids, columns))

    def times(self, vectors: Floats) -> Floats:
        """Multiply slab by slab."""
        found = np.empty_like(vectors)
        for ids, slab in self._slabs(np.arange(self.n)):
            found[ids] = slab @ vectors
        return found

    def whole(self) -> Floats:
        """Return all kernel values (n, n), dense."""
        return np.concatenate([_dense(slab) for _, slab in self._slabs(np.arange(self.n))])

    def part(self, ids: NDArray[np.integer], weights: Floats) -> MemoryGram:
        """Hold the values of these rows as an array."""
        return MemoryGram(held(self.values(ids, ids)), self.diagonal[ids], weights, self.pool)

    def _reach(self, slab: Matrix, labels: Ids, k: int) -> Floats:
        """Return the weighted sums (m, k) of the values of each row over each cluster."""
        reach = np.zeros((slab.shape[0], k))
        if is_sparse(slab):
            arrays = (slab.indptr, slab.indices, slab.data)
            compiled.add_sparse_reach(*arrays, labels, self.weights, reach)
        else:
            compiled.add_reach(slab, labels, self.weights, reach)
        return reach

    def _slabs(self, order: Ids) -> Iterator[tuple[Ids, Matrix]]:
        """Yield rows in this order, a bounded number at a time, with all their kernel values."""
        size = max(1, min(MOST_IN_SLAB, SLAB // self.n))
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        slabs: dict[int, Matrix] = {}
        for first in range(0, len(parts), AHEAD):
            ahead = parts[first : first + AHEAD]

            def compute(at: int, _worker: int, ahead: list[Ids] = ahead) -> None:
                slabs[at] = self._values(ahead[at], None)

            with one_blas_thread():
                self.pool.run(compute, len(ahead))
            for at, ids in enumerate(ahead):
                yield ids, slabs.pop(at)


def held(matrix: Matrix) -> Values:
    """Return the function of a matrix (n, n) in memory."""

    def values(ids: NDArray[np.integer], columns: NDArray[np.integer] | None) -> Matrix:
        rows = matrix if _are_all(ids, matrix.shape[0]) else matrix[ids]
        return rows if columns is None else rows[:, columns]

    return values


def _are_all(ids: NDArray[np.integer], n: int) -> bool:
    """Whether these are all of n rows in their order, so that none need be copied."""
    return len(ids) == n and bool((ids == np.arange(n)).all())


def _columns(slab: Matrix, ids: NDArray[np.integer]) -> Floats:
    """Return the columns (m, l) of a slab, dense."""
    if is_sparse(slab):
        return _dense(slab[:, ids])
    return slab if _are_all(ids, slab.shape[1]) else slab.take(ids, axis=1)


def _dense(values: Matrix) -> Floats:
    return np.ascontiguousarray(values.toarray() if is_sparse(values) else values)
