"""Exact weights and totals of every slot, whatever the order in which rows come and go.

Each ``weight * x`` is split into a coarse part, a multiple of one power of two, and a fine part, a
multiple of a smaller one. Each column has its own two powers of two, chosen from all its rows so
that no sum of either part ever rounds. So adding and removing rows is exact, totals are updated
only for rows that changed cluster, and centres are a function of the partition alone: the order of
the rows, the number of threads, tiles and history do not change a bit.
"""

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Totals, no_totals, total_weight
from hardbayes.core.pool import Pool
from hardbayes.core.rows import KernelRows, entries_per_row
from hardbayes.dp_means.compiled.sums import add_share, move, squared_potential
from hardbayes.dp_means.compiled.sweeping import add_up

Labels = NDArray[np.int32]

# Fewer rows and entries than this are moved faster by one thread than by several.
WORTH_SHARING = 1 << 16
# Sums that threads may have for themselves, in all: more take longer to add than to find.
MAX_SHARED_SUMS = 1 << 19
TILE_ENTRIES = 1 << 24
MIN_LARGEST = 1e-200  # stands for the largest value of a column of zeros
# For passes that count no rows.
NO_TOTALS = no_totals(0, 0)
NO_ROUNDING: tuple[Floats, Floats] = (np.empty(0), np.empty(0))


def quantum(largest: Floats) -> Floats:
    """Return powers of two of which sums up to ``largest`` are whole, exact multiples."""
    return np.ldexp(1.0, np.frexp(largest)[1] - 51)


def rounding_constants(largest_sum: Floats, n_terms: int) -> tuple[Floats, Floats]:
    """Return constants c: ``(x + c) - c`` is the coarse, or the fine, part of x in each column."""
    coarse = quantum(largest_sum)
    fine = quantum(n_terms * coarse)
    return 1.5 * 2.0**52 * coarse, 1.5 * 2.0**52 * fine


def with_remainder(numbers: list[float]) -> tuple[float, float]:
    """Return the sum of numbers, and what float64 drops of it."""
    value = math.fsum(numbers)
    return value, math.fsum([*numbers, -value])


def prior_potential(prior_weight: float, prior: Floats) -> list[float]:
    """Return minus the potential of the prior alone, in two numbers; nothing without a prior."""
    if not prior_weight:
        return []
    alone, first = no_totals(1, len(prior)), np.zeros(1, np.intp)
    alone.coarse[0], alone.weight_coarse[0] = prior, prior_weight
    return [-number for number in squared_potential(alone, 0.0, np.zeros(len(prior)), first, 1)]


def potential(
    totals: Totals, slots: NDArray[np.intp], prior_weight: float, prior_mean: Floats
) -> tuple[float, float]:
    """Return ``sum_c (n_c + eta) |mu_c|^2 - eta |m|^2``, and what float64 drops of it."""
    prior = prior_weight * prior_mean
    numbers = squared_potential(totals, prior_weight, prior, slots, len(slots))
    return with_remainder([*numbers, *len(slots) * prior_potential(prior_weight, prior)])


class Rounding:
    """Constants that round rows and weights before they are added, found when first used.

    Parameters
    ----------
    weights : array (n,), or (1,) for all rows
    n_rows : int
    largest : array (d,)
        Bounds on the absolute values of each column.
    total : float or None
        The sum of the weights, where it is known.
    """

    def __init__(
        self, weights: Floats, n_rows: int, largest: Floats, total: float | None = None
    ) -> None:
        self._weights = weights
        self._n_rows = n_rows
        self._largest = largest
        self._total = total

    @cached_property
    def _total_weight(self) -> float:
        return total_weight(self._weights, self._n_rows) if self._total is None else self._total

    @cached_property
    def rows(self) -> tuple[Floats, Floats]:
        """Constants of each column."""
        largest = np.maximum(self._largest, MIN_LARGEST)
        return rounding_constants(self._total_weight * largest, self._n_rows)

    @cached_property
    def weights(self) -> tuple[Floats, Floats]:
        """Constants of the weights."""
        return rounding_constants(np.array([self._total_weight]), self._n_rows)


class SlotTotals:
    """Totals of slots, wherever their rows are."""

    def __init__(self, slots: int, n_columns: int) -> None:
        self.set(no_totals(slots, n_columns))

    def set(self, parts: Totals) -> None:
        """Replace all slots by these."""
        self.parts = parts

    def add_parts(self, more: Totals) -> None:
        """Add totals of other rows in the same slots; slots beyond those of ``more`` stay."""
        self.grow(len(more.touched))
        n = len(more.touched)
        for part, added in zip(self.parts[:4], more[:4], strict=True):
            part[:n] += added
        self.parts.touched[:n] |= more.touched

    def grow(self, slots: int) -> None:
        """Make room for more slots."""
        if slots > len(self.parts.touched):
            self.rename(np.arange(len(self.parts.touched)), slots)

    def rename(self, slots: NDArray[np.signedinteger], n_slots: int) -> None:
        """Move slot c to ``slots[c]`` of so many, no two to the same; -1 drops it.

        All of them count as touched afterwards.
        """
        new = no_totals(n_slots, self.parts.coarse.shape[1])
        kept = np.flatnonzero(slots >= 0)
        for target, source in zip(new, self.parts, strict=True):
            target[slots[kept]] = source[kept]
        new.touched[:] = True
        self.set(new)

    def unite(self, slots: NDArray[np.signedinteger]) -> None:
        """Add slot c to ``slots[c]``, and empty it, where that is another."""
        for c in np.flatnonzero(slots != np.arange(len(slots))):
            for part in self.parts[:4]:
                part[slots[c]] += part[c]
                part[c] = 0.0
            self.parts.touched[[c, slots[c]]] = True


class ExactTotals(SlotTotals):
    """Totals of rows in memory, which several threads may change at once.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    shape : (n, d)
    weights : array (n,), or (1,) for all rows
    rounding : Rounding
    pool : Pool
    slots : int
        Empty slots to begin with.
    """

    def __init__(
        self,
        rows: KernelRows,
        shape: tuple[int, int],
        weights: Floats,
        rounding: Rounding,
        pool: Pool,
        slots: int,
    ) -> None:
        self._rows = rows
        self._shape = shape
        self._weights = weights
        self.rounding = rounding
        self._pool = pool
        super().__init__(slots, shape[1])

    def set(self, parts: Totals) -> None:
        """Replace all slots by these."""
        super().set(parts)
        self._shares: dict[int, Totals] = {}

    def move(self, before: Labels, after: Labels, n_changed: int) -> None:
        """Move every row whose label changed from its old slot to its new one (-1: no slot)."""
        entries = entries_per_row(self._rows, self._shape)
        if self._pool.n_threads == 1 or len(before) + n_changed * entries < WORTH_SHARING:
            self._move_columns(before, after, 1)
        elif self.can_be_shared():
            self._move_rows(before, after)
        else:
            self._move_columns(before, after, self._pool.n_threads)

    def add(self, ids: NDArray[np.intp], slots: NDArray[np.intp]) -> None:
        """Add rows ``ids`` (m,) to these slots (m,)."""
        entries = entries_per_row(self._rows, self._shape)
        size = max(64, TILE_ENTRIES // entries)  # short calls, so that Ctrl-C is prompt
        shared = len(ids) * entries >= WORTH_SHARING and self.can_be_shared()
        if shared:
            size = min(size, -(-len(ids) // (4 * self._pool.n_threads)))

        def task(tile: int, worker: int) -> None:
            start, stop = tile * size, min((tile + 1) * size, len(ids))
            add_up(
                self._rows, self._weights, ids, slots, self.share(worker), self.rounding.rows,
                self.rounding.weights, start, stop,
            )  # fmt: skip

        tiles = -(-len(ids) // size)
        if shared:
            self._pool.run(task, tiles)
            self.add_shares()
        else:
            for tile in range(tiles):
                task(tile, 0)

    def can_be_shared(self) -> bool:
        """Whether each thread may have sums of its own."""
        return self.parts.coarse.size * (self._pool.n_threads - 1) <= MAX_SHARED_SUMS

    def share(self, worker: int) -> Totals:
        """Return totals for one thread to change; `add_shares` adds them up."""
        if worker == 0:
            return self.parts
        if worker not in self._shares:
            self._shares[worker] = no_totals(*self.parts.coarse.shape)
        return self._shares[worker]

    def add_shares(self) -> None:
        """Add what the threads other than the caller's have changed."""
        for share in self._shares.values():
            add_share(self.parts, share)

    def _move_columns(self, before: Labels, after: Labels, parts: int) -> None:
        """Let each thread move its columns of all rows, in at most so many parts."""
        n_rows, n_columns = self._shape
        # Whole cache lines of columns, so that threads never write side by side; no empty part,
        # because the owner of the first column moves the weights.
        parts = min(parts, max(1, n_columns // 8))
        borders = [n_columns * part // parts // 8 * 8 for part in range(parts)] + [n_columns]
        entries = entries_per_row(self._rows, self._shape)
        size = max(64, TILE_ENTRIES // entries)  # short calls, so that Ctrl-C is prompt
        for start in range(0, n_rows, size):
            stop = min(start + size, n_rows)

            def task(part: int, worker: int, start: int = start, stop: int = stop) -> None:
                move(
                    self._rows, self._weights, before, after, self.parts, self.rounding.rows,
                    self.rounding.weights, borders[part], borders[part + 1], start, stop,
                )  # fmt: skip

            self._pool.run(task, parts)

    def _move_rows(self, before: Labels, after: Labels) -> None:
        """Let each thread move some of the rows."""
        n_rows, n_columns = self._shape
        size = -(-n_rows // (4 * self._pool.n_threads))

        def task(tile: int, worker: int) -> None:
            move(
                self._rows, self._weights, before, after, self.share(worker), self.rounding.rows,
                self.rounding.weights, 0, n_columns, tile * size, min((tile + 1) * size, n_rows),
            )  # fmt: skip

        self._pool.run(task, -(-n_rows // size))
        self.add_shares()
