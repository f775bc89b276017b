"""Rows cut into tiles of working coordinates, float64 and dense, whatever the data is stored as."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.pool import Pool

# Data of this many numbers is one tile, kept as it is read: two megabytes. Starts then run side by
# side, each on one thread; with more data the tiles of one start do.
KEPT = 1 << 18
# Tiles of larger data: they stay in cache between being read and being used.
TILE = 1 << 16
# What a kernel reads for itself in one call, numbers and rows: at most some tenths of a second.
RUN = 1 << 22
MAX_RUN_ROWS = 1 << 16
# Sums are kept for each group of tiles: many enough to share among threads and to interrupt, few
# enough to hold.
MAX_GROUPS = 64


class Tile(NamedTuple):
    """Some rows (m, d), their weights (m,) or (1,), and where among all rows they are."""

    rows: Floats
    weights: Floats
    part: slice


class Tiles:
    """The rows of one data set as ``(x - shift) * scale``.

    Parameters
    ----------
    matrix : array or CSR matrix (n, d)
    shift : array (d,)
    scale : float
        A power of two.
    weights : array (n,), or (1,) for all rows alike
    """

    def __init__(self, matrix: Matrix, shift: Floats, scale: float, weights: Floats) -> None:
        self._matrix = matrix
        self._shift = shift
        self._scale = scale
        self.weights = weights
        self.n_rows, self.n_columns = matrix.shape
        self.origin: Floats = shift * scale
        # Rounding: entries are at most one, sums of components as large as the origin.
        far = float(np.abs(self.origin).max(initial=0.0))
        self.negligible = self.n_columns * (1e-12 + 1e-14 * far) ** 2
        self._is_shifted = bool(shift.any())
        self._no_shift = np.zeros(self.n_columns)
        size = self.n_rows
        if self.n_rows * self.n_columns > KEPT:
            size = max(1, TILE // self.n_columns)
        starts = range(0, self.n_rows, size)
        self.slices = [slice(at, min(at + size, self.n_rows)) for at in starts]
        n_groups = min(MAX_GROUPS, len(starts))
        cuts = [len(starts) * group // n_groups for group in range(n_groups + 1)]
        self.groups = [range(*pair) for pair in pairwise(cuts)]
        # Rows that a kernel reads for itself in one call.
        most = max(1, (TILE if is_sparse(matrix) else RUN) // self.n_columns)
        self.run = min(most, MAX_RUN_ROWS, self.slices[self.groups[0][-1]].stop)
        self._kept = self._read(self.slices[0]) if len(self.slices) == 1 else None
        self._mean: Floats | None = None

    @property
    def is_single(self) -> bool:
        """Whether all rows are one tile."""
        return self._kept is not None

    def read(self, tile: int, out: Floats | None = None) -> Tile:
        """Return a tile; OUT, if given, holds its rows, unless they are kept anyway."""
        part = self.slices[tile]
        rows = self._read(part, out) if self._kept is None else self._kept
        return Tile(rows, self.weights_of(part), part)

    def weights_of(self, part: slice | NDArray[np.intp]) -> Floats:
        """Return the weights of some rows (m,), or (1,)."""
        return self.weights if len(self.weights) == 1 else self.weights[part]

    def raw(self, part: slice) -> tuple[NDArray[np.floating], Floats, float]:
        """Return some rows as they are stored, but dense; and their shift and scale."""
        if self._kept is not None:
            return self._kept[part], self._no_shift, 1.0
        rows = self._matrix[part]
        values = rows.toarray() if is_sparse(rows) else np.asarray(rows).view()
        return _read_only(values), self._shift, self._scale

    def visit(self, visitor: Callable[[Tile, int, int], None], pool: Pool) -> None:
        """Call ``visitor(tile, group, worker)`` for every tile; those of a group in order."""
        # Fresh memory for every tile would cost as much as reading it.
        largest = self.slices[0].stop
        buffers = [np.empty((largest, self.n_columns)) for _ in range(pool.n_threads)]

        def task(group: int, worker: int) -> None:
            for tile in self.groups[group]:
                visitor(self.read(tile, buffers[worker]), group, worker)

        pool.run(task, len(self.groups))

    def visit_raw(self, visitor: Callable[[slice, int, int], None], pool: Pool) -> None:
        """Call ``visitor(part, group, worker)`` for parts of the rows; of a group in order."""

        def task(group: int, worker: int) -> None:
            tiles = self.groups[group]
            stop = self.slices[tiles[-1]].stop
            for start in range(self.slices[tiles[0]].start, stop, self.run):
                visitor(slice(start, min(start + self.run, stop)), group, worker)

        pool.run(task, len(self.groups))

    def mean(self, pool: Pool) -> Floats:
        """Return the weighted mean (d,) of the rows, unshifted; computed once."""
        if self._mean is None:
            n_groups = len(self.groups)
            totals, weight = np.zeros((n_groups, self.n_columns)), np.zeros(n_groups)

            def visit(tile: Tile, group: int, worker: int) -> None:
                weights = np.broadcast_to(tile.weights, len(tile.rows))
                totals[group] += weights @ tile.rows
                weight[group] += weights.sum()

            self.visit(visit, pool)
            self._mean = self.origin + totals.sum(axis=0) / weight.sum()
        return self._mean

    def sampled(self, rng: np.random.RandomState) -> Tiles:
        """Return as many rows, drawn at random, as one tile may hold."""
        drawn = self._draw(rng)
        return Tiles(self._matrix[drawn], self._shift, self._scale, self.weights_of(drawn))

    def sample(self, rng: np.random.RandomState) -> tuple[Floats, Floats, Any]:
        """Return rows, weights and where they are: all of one tile, else as many as one holds."""
        if self._kept is not None:
            return self._kept, self.weights, slice(None)
        drawn = self._draw(rng)
        return self._read(drawn), self.weights_of(drawn), drawn

    def row(self, i: int) -> Floats:
        """Return row i (d,)."""
        return self._read(slice(i, i + 1))[0]

    def _draw(self, rng: np.random.RandomState) -> NDArray[np.intp]:
        return np.unique(rng.randint(self.n_rows, size=max(1, KEPT // self.n_columns)))

    def _read(self, part: slice | NDArray[np.intp], out: Floats | None = None) -> Floats:
        rows = self._matrix[part]
        if is_sparse(rows):
            rows = rows.toarray()
        out = None if out is None else out[: len(rows)]
        if self._is_shifted:
            rows = np.subtract(rows, self._shift, out=out, dtype=np.float64)
        return _read_only(np.multiply(rows, self._scale, out=out, dtype=np.float64))


def _read_only(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the same array as one kind that kernels compile for."""
    rows.flags.writeable = False
    return rows
