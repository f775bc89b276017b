"""Centres as the kernels want them: in blocks of neighbours, with room for births and deaths.

A centre lives in a slot. Slots are grouped so that centres near each other share a block, which
makes one lower bound for the whole block tight. A slot whose cluster died stays empty until the
next layout; new centres are appended.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.executors.exact_totals import prior_alone, with_remainder
from hardbayes.kernels.partition.placing import gaps, place, place_means
from hardbayes.kernels.partition.rows import Centres
from hardbayes.kernels.simd.vectors import LANE_BYTES, lanes_of
from hardbayes.matrices import CHUNK_BYTES
from hardbayes.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.geometry.base import Geometry
    from hardbayes.kernels.partition.totals import Totals
    from hardbayes.matrices import Floats

# Minus the logarithm of the smallest normal number: what an entry costs in a column that the fit
# never saw.
UNSEEN = -np.log(np.finfo(np.float64).tiny)
NOTHING: Floats = np.zeros(1)
# What a table that grows takes along, beside theta.
KEPT = ("offset", "exact", "exact_offset", "theta_norm", "level", "doubt", "_explained", "rank")


def neighbours_together(centres: Floats, block: int) -> NDArray[np.intp]:
    """Order centres so that each run of ``block`` of them lies close together.

    Halves at the median of the widest column until a run fits; every run but the last is full.
    """
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


def bare_centres(
    geometry: Geometry, dtype: np.dtype, centres: Floats, unseen: NDArray[np.bool_] | None
) -> Centres:
    """Return centres (k, d), slot by slot in the order given, for kernels that need no scores."""
    exact, offset = exact_form(geometry, centres, unseen)
    return _bare(dtype, exact, offset, np.arange(len(exact)), geometry.squared_distance)


def squared_centres(dtype: np.dtype, exact: Floats, ranks: NDArray[np.int64]) -> Centres:
    """Return these centres (k, d) themselves, for kernels that take squared distances from them."""
    return _bare(dtype, exact, np.einsum("ij,ij->i", exact, exact), ranks, True)


def bare_point(dtype: np.dtype, point: Floats) -> Centres:
    """Return one point (d,) for kernels that take squared distances from it."""
    return squared_centres(dtype, point[np.newaxis].copy(), np.zeros(1, np.int64))


def _bare(
    dtype: np.dtype, exact: Floats, offset: Floats, ranks: NDArray[np.int64], squared: bool
) -> Centres:
    return Centres(
        np.empty((0, 0, 0), dtype), np.empty(0, dtype), exact, offset, ranks, squared, 0.0, 0.0,
        1, 0.0, 0.0,
    )  # fmt: skip


def exact_form(
    geometry: Geometry, centres: Floats, unseen: NDArray[np.bool_] | None
) -> tuple[Floats, Floats]:
    """Return what the direct formula reads (k, d), and offsets (k,); never the array given."""
    theta, offset = geometry.affine(centres)
    if geometry.squared_distance:
        return centres.copy(), offset
    return (theta if unseen is None else np.where(unseen, -UNSEEN, theta)), offset


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> Floats:
    """Return room that begins with a cache line, so that no block touches two."""
    spare = LANE_BYTES // dtype.itemsize
    flat = np.empty(int(np.prod(shape)) + spare, dtype)
    first = -flat.ctypes.data % LANE_BYTES // dtype.itemsize
    return flat[first : len(flat) - spare + first].reshape(shape)


class Known(NamedTuple):
    """Clusters, oldest first."""

    centres: Floats  # (k, d)
    ranks: NDArray[np.int64]  # (k,): their places in the order of creation
    next_rank: int


class Drift(NamedTuple):
    """How far centres (k,) have moved: what `kernels.nearest` asks of bounds."""

    distance: Floats  # of the centres where costs are squared distances, else of theta
    most: Floats  # by how much the cost at the anchor has risen, rounding aside
    least: Floats


class CentreTable:
    """Slots of centres, and what the kernels read of them.

    ``deferred``: not before somebody asks for a view, but for the centres themselves. Where rows
    are few nobody may ever, and nothing need be compiled for it. With squared distances only.
    """

    def __init__(
        self,
        geometry: Geometry,
        dtype: np.dtype,
        known: Known,
        sparse: bool,
        unseen: NDArray[np.bool_] | None = None,
        pool: Pool | None = None,
        deferred: bool = False,
    ) -> None:
        self.geometry = geometry
        self._pool = pool or Pool(1)
        self.dtype = dtype
        self.sparse = sparse  # whether the rows are
        self.n_columns = known.centres.shape[1]
        self.lanes = lanes_of(dtype.itemsize)
        self._limits = np.finfo(dtype)
        self._nothing = np.zeros(self.n_columns)
        self.unseen = unseen
        self.anchor: Floats = np.zeros(0)
        self.anchor_length = 0.0
        self.precision = (self.n_columns + 8) * float(np.finfo(np.float64).eps)
        self._alive: NDArray[np.intp] | None = None
        self._sizes: tuple[float, float] | None = None  # of the largest theta and offset
        self.next_rank = known.next_rank
        self.deferred = deferred
        self.lay_out(known.centres, known.ranks)

    def lay_out(self, centres: Floats, ranks: NDArray[np.int64]) -> NDArray[np.intp]:
        """Replace everything by these centres, neighbours together; return each one's slot."""
        self.used = len(centres)
        # Sparse centres have no near neighbours, and looking at all their columns takes time.
        everyone = np.arange(self.used)
        order = everyone if self.sparse else neighbours_together(centres, self.lanes)
        blocks = max(1, -(-self.used // self.lanes))
        # Room for births without a new layout. Where rows are sparse, only in the last block:
        # each entry of a row meets all slots side by side.
        self._allocate(blocks if self.sparse else blocks + blocks // 4 + 1)
        self.room = len(self.rank)
        slots = np.empty(len(order), np.intp)
        slots[order] = np.arange(len(order))
        self.rank[slots] = ranks
        self._alive = None
        self.write(slots, centres)
        return slots

    def open(self, centres: Floats) -> NDArray[np.intp]:
        """Append centres (m, d); return their slots."""
        slots = np.arange(self.used, self.used + len(centres))
        self.used += len(centres)
        while self.used > len(self.rank):
            self._grow()
        self.rank[slots] = np.arange(self.next_rank, self.next_rank + len(centres))
        self.next_rank += len(centres)
        self._alive = None
        self.write(slots, centres)
        return slots

    def close(self, slots: NDArray[np.intp]) -> None:
        """Mark slots dead."""
        self.rank[slots] = -1
        self.offset[slots] = np.inf
        self.exact_offset[slots] = 0.0
        self.theta_norm[slots] = 0.0
        self._alive = None

    @property
    def alive(self) -> NDArray[np.intp]:
        """Slots in order of creation."""
        if self._alive is None:
            slots = np.flatnonzero(self.rank >= 0)
            self._alive = slots[np.argsort(self.rank[slots])]
        return self._alive

    @property
    def crowded(self) -> bool:
        """Whether births and deaths have spoilt the layout enough to lay out anew."""
        return self.used > self.room or self.used > 2 * (len(self.alive) + self.lanes)

    def write_means(
        self, totals: Totals, prior_weight: float, prior_mean: Floats
    ) -> tuple[Drift, tuple[float, float]]:
        """Move the living to the means of their members, where costs are squared distances.

        Return how far each has moved, and ``sum_c (n_c + eta) phi(mu_c) - eta phi(m)`` with what
        float64 drops of it.
        """
        slots = self.alive
        distance = np.empty(len(slots))
        view = self._view(len(self.rank) // self.lanes)
        prior = prior_weight * prior_mean
        found: dict[int, tuple[float, float, float]] = {}

        def task(part: slice, tile: int) -> None:
            found[tile] = place_means(
                slots[part], totals, prior_weight, prior, self._nothing, view, self.theta_norm,
                distance[part], self._explained, np.empty((1, self.n_columns)),
            )  # fmt: skip

        self._over_slots(task, len(slots))
        offset = max(largest for *_, largest in found.values())
        self._sizes = 2.0 * math.sqrt(offset), offset
        numbers = [number for tile in sorted(found) for number in found[tile][:2]]
        numbers += len(slots) * prior_alone(prior_weight, prior)
        return Drift(distance, NOTHING, NOTHING), with_remainder(numbers)

    def write(self, slots: NDArray[np.intp], centres: Floats) -> Drift:
        """Set the centres of these slots; return how far each has moved, unless deferred."""
        if self.deferred:
            self.exact[slots] = centres
            return Drift(NOTHING, NOTHING, NOTHING)
        distance = self._place(slots, centres)
        self._sizes = None
        if not len(self.anchor):
            return Drift(distance, NOTHING, NOTHING)
        before, doubts = self.level[slots], self.doubt[slots]
        self._measure(slots)
        rise, doubts = self.level[slots] - before, doubts + self.doubt[slots]
        return Drift(distance, rise + doubts, rise - doubts)

    def _place(self, slots: NDArray[np.intp], centres: Floats) -> Floats:
        """Set the centres of these slots; return by what distance (k,) each has moved."""
        distance = np.empty(len(slots))
        view = self._view(len(self.rank) // self.lanes)

        def task(part: slice, tile: int) -> None:
            exact, offset = centres[part], NOTHING
            if not self.geometry.squared_distance:
                exact, offset = self.geometry.affine(exact)
            theta = exact
            if self.unseen is not None:
                exact = np.where(self.unseen, -UNSEEN, theta)
                theta = np.where(self.unseen, 0.0, theta)
            place(
                slots[part], exact, theta, offset, view, self.theta_norm, distance[part],
                self._nothing,
            )  # fmt: skip

        self._over_slots(task, len(slots))
        return distance

    def _over_slots(self, task: Callable[[slice, int], None], n_slots: int) -> None:
        """Run ``task(part, tile)`` over so many slots."""
        # No more of theta than stays in cache.
        size = self.lanes * max(1, CHUNK_BYTES // (8 * self.n_columns * self.lanes))
        self._pool.run(
            lambda tile, _: task(slice(tile * size, (tile + 1) * size), tile), -(-n_slots // size)
        )

    def follow(self, anchor: Floats) -> None:
        """Tell from now on by how much costs at this point (d,) rise; bounds on costs need it."""
        self.anchor, self.anchor_length = anchor, float(np.linalg.norm(anchor))
        self._measure(np.arange(self.used))

    def _measure(self, slots: NDArray[np.intp]) -> None:
        """Find the cost at the anchor, up to a constant, and its rounding error."""
        offset = self.exact_offset[slots]
        self.level[slots] = offset - self.exact[slots] @ self.anchor
        size = np.abs(offset) + self.theta_norm[slots] * self.anchor_length
        self.doubt[slots] = self.precision * size

    def gaps(self) -> Floats:
        """Return how far each living centre (k,) is from the next, where costs are distances."""
        nearest = np.empty(len(self.alive))
        view = self.view()
        gaps(self.alive, view, self._nothing, nearest)
        # Equal entries may differ by their rounding.
        rounding = 2.0 * self.precision * math.sqrt(view.offset_bound)
        return np.maximum(np.sqrt(nearest) - rounding, 0.0)

    def view(self) -> Centres:
        """Return the arrays for the kernels, without the empty blocks at the end."""
        if self.deferred:
            self.deferred = False
            self.theta[:] = 0
            self.write(self.alive, self.exact[self.alive])
        if self._sizes is None:
            self._sizes = float(self.theta_norm.max()), float(np.abs(self.exact_offset).max())
        return self._view(max(1, -(-self.used // self.lanes)), *self._sizes)

    def _view(self, blocks: int, theta_bound: float = 0.0, offset_bound: float = 0.0) -> Centres:
        slots = blocks * self.lanes
        return Centres(
            self.theta if self.sparse else self.theta[:blocks],
            self.offset[:slots],
            self.exact[:slots],
            self.exact_offset[:slots],
            self.rank[:slots],
            self.geometry.squared_distance,
            theta_bound,
            offset_bound,
            self.lanes,
            float(self._limits.eps),
            float(self._limits.tiny),
        )

    def _allocate(self, blocks: int) -> None:
        slots = blocks * self.lanes
        shape = (1, self.n_columns, slots) if self.sparse else (blocks, self.n_columns, self.lanes)
        self.theta = _aligned(shape, self.dtype)
        unused = np.s_[:, :, self.used :] if self.sparse else np.s_[self.used // self.lanes :]
        self.theta[unused] = 0  # or scores of dead slots might be no numbers
        self.offset = np.full(slots, np.inf, self.dtype)
        self.exact = np.zeros((slots, self.n_columns))
        self.exact_offset = np.zeros(slots)
        self.level = np.zeros(slots)
        self.doubt = np.zeros(slots)
        self.theta_norm = np.zeros(slots)
        self._explained = np.zeros((slots, 2))
        self.rank = np.full(slots, -1, np.int64)

    def _grow(self) -> None:
        old = self.__dict__.copy()
        slots = len(old["rank"])
        self._allocate(2 * slots // self.lanes)
        for name in KEPT:
            getattr(self, name)[:slots] = old[name]
        if self.sparse:
            self.theta[:, :, :slots] = old["theta"]
        else:
            self.theta[: len(old["theta"])] = old["theta"]
