"""Weights and totals of every slot, exact whatever the order in which rows come and go."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.reading import entries_per_row
from hardbayes.kernels.partition.potential import squared_potential
from hardbayes.kernels.partition.totals import Totals, add_share, move, no_totals
from hardbayes.matrices import total_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.kernels.partition.rows import DenseRows, SparseRows
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool

# Fewer rows and entries than this are moved faster by one thread than shared among several.
WORTH_SHARING = 1 << 16
# Sums that threads may have for themselves, in all: more would take longer to add than to find.
MOST_SHARED = 1 << 19
TILE_ENTRIES = 1 << 24
SMALLEST = 1e-200  # columns of zeros need a quantum too
# For passes that count nobody.
NO_TOTALS = no_totals(0, 0)
NO_SNAPS: tuple[Floats, Floats] = (np.empty(0), np.empty(0))


def quantum(largest: Floats) -> Floats:
    """Return powers of two of which sums up to ``largest`` are whole, exact multiples."""
    return np.ldexp(1.0, np.frexp(largest)[1] - 51)


def snap_constants(largest_sum: Floats, n_terms: int) -> tuple[Floats, Floats]:
    """Return the numbers that round a term to its coarse and its fine part, for each column."""
    coarse = quantum(largest_sum)
    fine = quantum(n_terms * coarse)
    return 1.5 * 2.0**52 * coarse, 1.5 * 2.0**52 * fine


def with_remainder(numbers: list[float]) -> tuple[float, float]:
    """Return the sum of numbers, and what float64 drops of it."""
    value = math.fsum(numbers)
    return value, math.fsum([*numbers, -value])


def prior_alone(prior_weight: float, prior: Floats) -> list[float]:
    """Return minus what a prior explains by itself, in two numbers; nothing without a prior."""
    if not prior_weight:
        return []
    alone, first = no_totals(1, len(prior)), np.zeros(1, np.intp)
    alone.coarse[0], alone.weight_coarse[0] = prior, prior_weight
    return [-number for number in squared_potential(alone, 0.0, np.zeros(len(prior)), first, 1)]


class Quanta:
    """To what rows are rounded before they are added, worked out when first asked for.

    Parameters
    ----------
    weights : array (n,), or (1,) for all rows alike
    n_rows : int
    largest : array (d,)
        Bounds on the absolute values of each column.
    """

    def __init__(self, weights: Floats, n_rows: int, largest: Floats) -> None:
        self._weights = weights
        self._n_rows = n_rows
        self._largest = largest

    @cached_property
    def _total_weight(self) -> float:
        return total_weight(self._weights, self._n_rows)

    @cached_property
    def snaps(self) -> tuple[Floats, Floats]:
        """Rounding constants of each column."""
        largest = np.maximum(self._largest, SMALLEST)
        return snap_constants(self._total_weight * largest, self._n_rows)

    @cached_property
    def weight_snaps(self) -> tuple[Floats, Floats]:
        """Those of weights."""
        return snap_constants(np.array([self._total_weight]), self._n_rows)


class ExactTotals:
    """Sums over the members of each slot.

    Parameters
    ----------
    weights : array (n,), or (1,) for all rows alike
    quanta : Quanta
        Of the rows with these weights.
    """

    def __init__(self, weights: Floats, quanta: Quanta) -> None:
        self._weights = weights
        self.quanta = quanta
        self.clear(0, 0)

    def clear(self, slots: int, n_columns: int) -> None:
        """Begin with so many empty slots."""
        self._shape = slots, n_columns
        self._made: Totals | None = None
        self._shares: dict[int, Totals] = {}

    @property
    def parts(self) -> Totals:
        """The sums, made when first asked for: to place new rows, nobody asks."""
        if self._made is None:
            self._made = no_totals(*self._shape)
        return self._made

    @property
    def made(self) -> bool:
        """Whether anybody has asked for them."""
        return self._made is not None

    def grow(self, slots: int) -> None:
        """Make room for more slots."""
        old = self._made
        if slots > self._shape[0]:
            self.clear(slots, self._shape[1])
            if old is not None:
                for new_part, old_part in zip(self.parts, old, strict=True):
                    new_part[: len(old_part)] = old_part

    def rearrange(
        self, old_slots: NDArray[np.intp], new_slots: NDArray[np.intp], slots: int
    ) -> None:
        """Move slots to new places among so many; those not named are dropped."""
        old = self.parts
        self.clear(slots, old.coarse.shape[1])
        for new_part, old_part in zip(self.parts, old, strict=True):
            new_part[new_slots] = old_part[old_slots]
        self.parts.touched[:] = True  # for whoever knows the new slots from nothing but these

    def move(
        self,
        rows: DenseRows | SparseRows,
        before: NDArray[np.int32],
        after: NDArray[np.int32],
        n_changed: int,
        pool: Pool,
    ) -> None:
        """Take every row whose label changed from its old slot to its new one."""
        n_columns = self.parts.coarse.shape[1]
        entries = entries_per_row(rows, (len(before), n_columns))
        if pool.n_threads == 1 or len(before) + n_changed * entries < WORTH_SHARING:
            self._move_columns(rows, before, after, 1, pool)
        elif self.can_be_shared(pool):
            self._move_rows(rows, before, after, pool)
        else:
            self._move_columns(rows, before, after, pool.n_threads, pool)

    def can_be_shared(self, pool: Pool) -> bool:
        """Whether each thread may have sums of its own."""
        return math.prod(self._shape) * (pool.n_threads - 1) <= MOST_SHARED

    def share(self, worker: int) -> Totals:
        """Return sums for one thread to change: exact, whoever moved what."""
        if worker == 0:
            return self.parts
        if worker not in self._shares:
            self._shares[worker] = no_totals(*self._shape)
        return self._shares[worker]

    def add_shares(self) -> None:
        """Add what other threads than the caller's have moved."""
        for share in self._shares.values():
            add_share(self.parts, share)

    def _move_columns(
        self,
        rows: DenseRows | SparseRows,
        before: NDArray[np.int32],
        after: NDArray[np.int32],
        parts: int,
        pool: Pool,
    ) -> None:
        """Let each thread move its columns of all rows, in so many parts at most."""
        n_rows, n_columns = len(before), self.parts.coarse.shape[1]
        # Whole cache lines of columns, so that threads never write side by side; and no part
        # without any, for whoever has the first moves the weights.
        parts = min(parts, max(1, n_columns // 8))
        borders = [n_columns * part // parts // 8 * 8 for part in range(parts)] + [n_columns]
        entries = entries_per_row(rows, (n_rows, n_columns))
        size = max(64, TILE_ENTRIES // entries)  # short calls, so that Ctrl-C is prompt
        for start in range(0, n_rows, size):
            stop = min(start + size, n_rows)

            def task(part: int, worker: int, start: int = start, stop: int = stop) -> None:
                move(
                    rows, self._weights, before, after, self.parts, self.quanta.snaps,
                    self.quanta.weight_snaps, borders[part], borders[part + 1], start, stop,
                )  # fmt: skip

            pool.run(task, parts)

    def _move_rows(
        self,
        rows: DenseRows | SparseRows,
        before: NDArray[np.int32],
        after: NDArray[np.int32],
        pool: Pool,
    ) -> None:
        """Let each thread move some of the rows."""
        n_rows, n_columns = len(before), self._shape[1]
        size = -(-n_rows // (4 * pool.n_threads))

        def task(tile: int, worker: int) -> None:
            move(
                rows, self._weights, before, after, self.share(worker), self.quanta.snaps,
                self.quanta.weight_snaps, 0, n_columns, tile * size, min((tile + 1) * size, n_rows),
            )  # fmt: skip

        pool.run(task, -(-n_rows // size))
        self.add_shares()

    def of(self, slots: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return weights (k,) and totals (k, d) of these slots."""
        parts = self.parts
        which: slice | NDArray[np.intp] = slots
        if parts.coarse.size > WORTH_SHARING and len(slots) and (np.diff(slots) == 1).all():
            which = slice(slots[0], slots[-1] + 1)  # nothing need be picked
        return self.weights_of(slots), parts.coarse[which] + parts.fine[which]

    def potential(
        self, slots: NDArray[np.intp], prior_weight: float, prior_mean: Floats
    ) -> tuple[float, float]:
        """Return ``sum_c (n_c + eta) |mu_c|^2 - eta |m|^2``, and what float64 drops of it."""
        prior = prior_weight * prior_mean
        numbers = squared_potential(self.parts, prior_weight, prior, slots, len(slots))
        return with_remainder([*numbers, *len(slots) * prior_alone(prior_weight, prior)])

    def weights_of(self, slots: NDArray[np.intp]) -> Floats:
        """Return weights (k,) of these slots."""
        return self.parts.weight_coarse[slots] + self.parts.weight_fine[slots]
