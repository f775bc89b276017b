"""Centres in slots, as compiled functions read them: in blocks of neighbours, with room for births.

Slots are grouped so that centres near each other share a block, which makes one lower bound for the
whole block tight. A slot whose cluster is closed stays free until the next layout; new centres are
appended. `TABLES` says which table goes with which costs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import (
    CHUNK_BYTES,
    LANE_BYTES,
    Centres,
    Drift,
    Floats,
    Layout,
    Totals,
    lanes_of,
)
from hardbayes.core.pool import Pool
from hardbayes.core.rows import ROUNDINGS
from hardbayes.dp_means.compiled.centres import place, place_means
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.totals import potential, prior_potential, with_remainder

NO_DRIFT: Floats = np.zeros(0)  # bounds at an anchor, where there is none


class ClusterList(NamedTuple):
    """Clusters in order of creation."""

    centres: Floats  # (k, d)
    ranks: NDArray[np.int64]  # (k,): their places in that order
    next_rank: int

    @classmethod
    def of(cls, centres: Floats) -> ClusterList:
        """Return clusters at these centres (k, d), the first of a fit."""
        return cls(centres, np.arange(len(centres)), len(centres))


def neighbours_together(centres: Floats, block: int) -> NDArray[np.intp]:
    """Order centres so that each run of ``block`` of them lies close together.

    Halves at the median of the widest column until a run fits; every run but the last is full.
    """
    if len(centres) <= block:
        return np.arange(len(centres))
    runs = []
    pending = [np.arange(len(centres))]
    while pending:
        ids = pending.pop()
        if len(ids) <= block:
            runs.append(ids)
            continue
        members = centres[ids]
        column = members[:, np.argmax(np.ptp(members, axis=0))]
        ids = ids[np.argsort(column, kind="stable")]
        half = -(-len(ids) // block) // 2 * block
        pending += [ids[half:], ids[:half]]
    return np.concatenate(runs)


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> Floats:
    """Return an array that begins with a cache line, so that no block touches two."""
    spare = LANE_BYTES // dtype.itemsize
    flat = np.empty(math.prod(shape) + spare, dtype)
    first = -flat.ctypes.data % LANE_BYTES // dtype.itemsize
    return flat[first : len(flat) - spare + first].reshape(shape)


class CentreTable(ABC):
    """Slots of centres, and the arrays that kernels read.

    Parameters
    ----------
    partition : Partition
    layout : Layout
    clusters : ClusterList
    pool : Pool
    """

    in_order: bool  # slots are numbers: none is free, and clusters follow each other as they came
    _moved: Floats  # (slots,): how far each centre has moved since `take_drift`
    #: Arrays with an axis of slots, which a table that grows takes along, beside theta.
    per_slot: tuple[str, ...] = ("rank", "offset", "exact", "exact_offset", "theta_norm", "_moved")

    def __init__(
        self,
        partition: Partition,
        layout: Layout,
        clusters: ClusterList,
        pool: Pool,
    ) -> None:
        self._partition = partition
        self.layout = layout
        self._pool = pool
        self.n_columns = clusters.centres.shape[1]
        self.block = lanes_of(layout.dtype.itemsize)
        limits = np.finfo(layout.dtype)
        self._precision, self._tiny = float(limits.eps), float(limits.tiny)
        self._zeros = np.zeros(self.n_columns)
        self.next_rank = clusters.next_rank
        self._slots: NDArray[np.intp] | None = None
        self._sizes: tuple[float, float] | None = None  # of the largest theta and offset
        self.lay_out(clusters)

    # -- which cluster is in which slot ------------------------------------------------------------

    @property
    def slots(self) -> NDArray[np.intp]:
        """Slots of the clusters (k,) in order of creation."""
        if self._slots is None:
            taken = np.flatnonzero(self.rank >= 0)
            self._slots = taken[np.argsort(self.rank[taken])]
        return self._slots

    @property
    def names(self) -> NDArray[np.int64]:
        """A number for each cluster (k,), in order of creation, that no other ever has."""
        return self.rank[self.slots]

    @property
    def n_slots(self) -> int:
        """Number of slots, free ones included."""
        return len(self.rank)

    def lay_out(self, clusters: ClusterList) -> None:
        """Replace all clusters by these, neighbours together."""
        centres, ranks, _ = clusters
        self.used = len(centres)
        # Sparse centres have no near neighbours, and comparing all their columns takes time.
        numbers = np.arange(self.used)
        sparse = self.layout.sparse
        order = numbers if sparse else neighbours_together(centres, self.block)
        blocks = max(1, -(-self.used // self.block))
        # Room for births without a new layout. Where rows are sparse, only in the last block:
        # each entry of a row is multiplied with all slots side by side.
        self._allocate(blocks if sparse else blocks + blocks // 4 + 1)
        self._roomy = self.n_slots
        slots = np.empty(len(order), np.intp)
        slots[order] = numbers
        self._put(slots, ranks, centres)
        self._slots, self.in_order = slots, sparse or blocks == 1

    def open(self, centres: Floats) -> NDArray[np.intp]:
        """Append clusters at these centres (m, d); return their slots."""
        slots = np.arange(self.used, self.used + len(centres))
        self.used += len(centres)
        while self.used > self.n_slots:
            self._grow()
        self._put(slots, np.arange(self.next_rank, self.next_rank + len(centres)), centres)
        self.in_order = False
        self.next_rank += len(centres)
        return slots

    def move(self, slots: NDArray[np.intp], centres: Floats) -> None:
        """Move the clusters in these slots to other centres (k, d), as nothing to drift from."""
        self._write(slots, centres)
        self._forget_drift(slots)

    def _put(self, slots: NDArray[np.intp], ranks: NDArray[np.int64], centres: Floats) -> None:
        self.rank[slots] = ranks
        self._slots = None
        self._write(slots, centres)
        self._forget_drift(slots)

    def close(self, slots: NDArray[np.intp]) -> None:
        """Free slots."""
        self.rank[slots] = -1
        self.offset[slots] = np.inf
        self.exact_offset[slots] = 0.0
        self.theta_norm[slots] = 0.0
        self._slots, self.in_order = None, False

    @property
    def is_crowded(self) -> bool:
        """Whether births and deaths have spoilt the layout enough to lay out anew."""
        return self.used > self._roomy or self.used > 2 * (len(self.slots) + self.block)

    # -- centres follow their members --------------------------------------------------------------

    @abstractmethod
    def refit(self, totals: Totals) -> tuple[float, float]:
        """Move the clusters to the centres that are best for their members.

        Return ``sum_c (n_c + eta) phi(mu_c) - eta phi(m)``, and what float64 drops of it.
        """

    def _write(self, slots: NDArray[np.intp], centres: Floats) -> None:
        """Set the centres of these slots; note how far each has moved."""
        distance = np.empty(len(slots))
        view = self._view(self.n_slots // self.block)

        def task(part: slice, tile: int) -> None:
            form = self._partition.affine_form(centres[part])
            place(
                slots[part], form.exact, form.theta, form.offset, view, self.theta_norm,
                distance[part], self._zeros,
            )  # fmt: skip

        self._over_slots(task, len(slots))
        self._sizes = None
        self._moved[slots] += distance

    def _over_slots(self, task: Callable[[slice, int], None], n_slots: int) -> None:
        """Run ``task(part, tile)`` over so many slots."""
        # No more of theta than stays in cache.
        size = self.block * max(1, CHUNK_BYTES // (8 * self.n_columns * self.block))
        self._pool.run(
            lambda tile, _: task(slice(tile * size, (tile + 1) * size), tile), -(-n_slots // size)
        )

    def take_drift(self) -> Drift:
        """Return how far centres have moved since this was last called."""
        drift = Drift(self._moved, NO_DRIFT, NO_DRIFT)
        self._moved = np.zeros(self.n_slots)
        return drift

    def _forget_drift(self, slots: NDArray[np.intp] | slice) -> None:
        self._moved[slots] = 0.0

    # -- what passes read --------------------------------------------------------------------------

    def view(self) -> Centres:
        """Return the arrays for kernels that score, without the empty blocks at the end."""
        if self._sizes is None:
            self._sizes = float(self.theta_norm.max()), float(np.abs(self.exact_offset).max())
        return self._view(max(1, -(-self.used // self.block)), *self._sizes)

    def direct(self) -> Centres:
        """Return the arrays for kernels that use the direct formula only."""
        return self.view()

    def _view(self, blocks: int, theta_bound: float = 0.0, offset_bound: float = 0.0) -> Centres:
        slots = blocks * self.block
        return Centres(
            self.theta if self.layout.sparse else self.theta[:blocks],
            self.offset[:slots],
            self.exact[:slots],
            self.exact_offset[:slots],
            self.rank[:slots],
            self._partition.geometry.distance_costs,
            theta_bound,
            offset_bound,
            self.block,
            self._precision,
            self._lowered,
            self._tiny,
            self.used,
            self.n_slots,
        )

    @property
    def _lowered(self) -> float:
        """By what part of themselves the offsets of scores are lowered."""
        return 0.0

    # -- memory ------------------------------------------------------------------------------------

    def _allocate(self, blocks: int) -> None:
        slots = blocks * self.block
        self.rank = np.full(slots, -1, np.int64)
        self.exact = np.zeros((slots, self.n_columns))
        self.exact_offset = np.zeros(slots)
        self._moved = np.zeros(slots)
        self._allocate_scores(blocks)

    def _allocate_scores(self, blocks: int) -> None:
        slots, sparse = blocks * self.block, self.layout.sparse
        shape = (1, self.n_columns, slots) if sparse else (blocks, self.n_columns, self.block)
        self.theta = _aligned(shape, self.layout.dtype)
        unused = np.s_[:, :, self.used :] if sparse else np.s_[self.used // self.block :]
        self.theta[unused] = 0  # or scores of free slots might be no numbers
        self.offset = np.full(slots, np.inf, self.layout.dtype)
        self.theta_norm = np.zeros(slots)

    def _grow(self) -> None:
        old = self.__dict__.copy()
        slots = self.n_slots
        self._allocate(2 * slots // self.block)
        for name in self.per_slot:
            getattr(self, name)[:slots] = old[name]
        if self.layout.sparse:
            self.theta[:, :, :slots] = old["theta"]
        else:
            self.theta[: len(old["theta"])] = old["theta"]


class DistanceTable(CentreTable):
    """A table of centres for squared distances.

    Scores are laid out on the first `view`. Where rows are few there may be none, and the kernels
    that lay out need not be compiled.
    """

    per_slot = (*CentreTable.per_slot, "_explained")
    _has_scores = False

    @property
    def _lowered(self) -> float:
        """By what part of themselves offsets are lowered, and so the scores of dense rows.

        A score ``|c|^2 - 2 <x, c>`` errs by at most so much of ``|c|^2``, and by what depends on
        the row alone. So each centre has an error of its own: with one bound for all, a single
        centre far away would leave all rows in doubt.
        """
        if self.layout.sparse:
            return 0.0
        return 2.0 * (self.n_columns + ROUNDINGS) * self._precision

    def refit(self, totals: Totals) -> tuple[float, float]:
        """Move the centres to the means; those whose members have not changed stay."""
        partition, slots = self._partition, self.slots
        if not self._has_scores:
            self.exact[slots] = partition.centres(totals.weights(slots), totals.sums(slots))
            return potential(totals, slots, partition.prior_weight, partition.prior_mean)
        eta = partition.prior_weight
        distance = np.empty(len(slots))
        view = self._view(self.n_slots // self.block)
        prior = eta * partition.prior_mean
        found: dict[int, tuple[float, float, float]] = {}

        def task(part: slice, tile: int) -> None:
            found[tile] = place_means(
                slots[part], totals, eta, prior, self._zeros, view, self.theta_norm,
                distance[part], self._explained, np.empty((1, self.n_columns)),
            )  # fmt: skip

        self._over_slots(task, len(slots))
        offset = max(largest for *_, largest in found.values())
        self._sizes = 2.0 * math.sqrt(offset), offset
        self._moved[slots] += distance
        numbers = [number for tile in sorted(found) for number in found[tile][:2]]
        numbers += len(slots) * prior_potential(eta, prior)
        return with_remainder(numbers)

    def _write(self, slots: NDArray[np.intp], centres: Floats) -> None:
        if self._has_scores:
            super()._write(slots, centres)
        else:
            self.exact[slots] = centres

    def view(self) -> Centres:
        """Return the arrays for kernels that score, without the empty blocks at the end."""
        if not self._has_scores:
            self._has_scores = True
            self._allocate_scores(self.n_slots // self.block)
            self.theta[:] = 0
            self._write(self.slots, self.exact[self.slots])
            self._forget_drift(slice(None))
        return super().view()

    def direct(self) -> Centres:
        """Return the arrays for kernels that use the direct formula only."""
        if not (self._has_scores or self.layout.sparse):  # dense rows do not read the offsets
            return self._view(self.n_slots // self.block)
        return self.view()

    def close(self, slots: NDArray[np.intp]) -> None:
        """Free slots."""
        if self._has_scores:
            super().close(slots)
        else:
            self.rank[slots] = -1
            self._slots, self.in_order = None, False

    def _allocate_scores(self, blocks: int) -> None:
        if self._has_scores:
            super()._allocate_scores(blocks)
            self._explained = np.zeros((self.n_slots, 2))
            return
        nothing = np.empty(0, self.layout.dtype)
        self.theta, self._explained = nothing.reshape(0, 0, 0), np.empty((0, 2))
        self.offset = self.theta_norm = nothing


class AffineTable(CentreTable):
    """A table of centres for any divergence.

    Bounds on costs are moved by how much the cost at ``layout.anchor`` has changed: the table
    keeps that cost, up to a constant of the anchor, and its rounding error.
    """

    _most: Floats
    _least: Floats
    per_slot = (*CentreTable.per_slot, "_potentials", "_level", "_doubt", "_most", "_least")

    def refit(self, totals: Totals) -> tuple[float, float]:
        """Move the clusters to their best centres; those whose members have not changed stay."""
        partition, slots = self._partition, self.slots
        touched = slots[totals.touched[slots]]
        if len(touched):
            weights = totals.weights(touched)
            centres = partition.centres(weights, totals.sums(touched))
            self._write(touched, centres)
            self._potentials[touched] = partition.potentials(weights, centres)
            totals.touched[touched] = False
        return math.fsum(self._potentials[slots]), 0.0

    def _write(self, slots: NDArray[np.intp], centres: Floats) -> None:
        super()._write(slots, centres)
        anchor = self.layout.anchor
        if anchor is None:
            return
        offset = self.exact_offset[slots]
        level = offset - self.exact[slots] @ anchor
        size = np.abs(offset) + self.theta_norm[slots] * self._anchor_norm
        doubt = (self.n_columns + 8) * float(np.finfo(np.float64).eps) * size
        rise, doubts = level - self._level[slots], doubt + self._doubt[slots]
        self._level[slots], self._doubt[slots] = level, doubt
        self._most[slots] += rise + doubts
        self._least[slots] += rise - doubts

    @cached_property
    def _anchor_norm(self) -> float:
        assert self.layout.anchor is not None
        return float(np.linalg.norm(self.layout.anchor))

    def take_drift(self) -> Drift:
        """Return how far centres have moved since this was last called."""
        drift = super().take_drift()._replace(most=self._most, least=self._least)
        self._most, self._least = np.zeros(self.n_slots), np.zeros(self.n_slots)
        return drift

    def _forget_drift(self, slots: NDArray[np.intp] | slice) -> None:
        super()._forget_drift(slots)
        self._most[slots] = self._least[slots] = 0.0

    def _allocate(self, blocks: int) -> None:
        super()._allocate(blocks)
        slots = self.n_slots
        self._potentials = np.zeros(slots)
        self._level, self._doubt = np.zeros(slots), np.zeros(slots)
        self._most, self._least = np.zeros(slots), np.zeros(slots)


#: By the kind of costs of a layout.
TABLES: dict[str, type[AffineTable] | type[DistanceTable]] = {
    "distance": DistanceTable,
    "affine": AffineTable,
}
