"""Types of matrices, what holds no rows yet, and named tuples of arrays for passes over rows.

A cluster has a slot: its place in every array with an axis of ``slots``. It keeps the slot while it
lives. Labels of rows are slots, -1 for none.
"""

import math
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.floating]
Matrix: TypeAlias = Floats | sparse.csr_array

CHUNK_BYTES = 1 << 21  # of rows that are visited at a time, so that they stay in cache
# Entries of rows that are held beside the data, or in place of it, to visit them one by one: more
# take more memory, and fewer leave out exchanges of large clusters. Of wide rows there are some
# more, so that exchanges are tried on as many rows as rows of few columns have.
TAKEN_ENTRIES = 1 << 23
TAKEN_ROWS, TAKEN_WIDE_ENTRIES = 1 << 17, 1 << 26
LANE_BYTES = 64  # of a vector register of AVX-512, and of a line of cache
SAFE = (1e-250, 1e250)  # sums of squares that neither overflow nor underflow


def is_sparse(matrix: Matrix) -> TypeGuard[sparse.csr_array]:
    """Whether a matrix is stored as CSR."""
    return bool(sparse.issparse(matrix))


def refuse_lazy(X: Any, name: str = "X") -> None:
    """Raise if X holds no rows yet: a lazy table, a Dask collection, or rows read by block.

    Reading them would take into memory what may not fit there. ``name``: of the parameter.
    """
    if name != "X" and (kind := lazy_kind(X)) is not None:
        raise TypeError(
            f"The {name!r} parameter is {kind}, which holds no numbers yet. Call .compute() first."
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, which holds no rows yet. Call .collect() first.")
    if (kind := lazy_kind(X)) is not None:
        how = "Call .compute() first" if kind.startswith("a Dask") else "Read them into an array"
        raise TypeError(
            f"X is {kind}, which holds no rows yet: only 'fit', 'predict' and 'transform' of "
            f"DPMeans go through such data block by block. {how}, if the rows fit into memory."
        )


def lazy_kind(X: Any) -> str | None:
    """Return words for a Dask collection or rows read by block; None for anything else."""
    if type(X).__name__ == "RowBlocks" and type(X).__module__ == "hardbayes.core.row_blocks":
        return "row_blocks"
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask"):
        return "a Dask data frame" if hasattr(X, "columns") else "a Dask array"
    return None


def kept_in(values: Floats, dtype: np.dtype) -> Floats:
    """Return finite numbers in a dtype; in float64 where one of them is too large for it."""
    if values.size and np.abs(values).max() > np.finfo(dtype).max:
        return np.asarray(values, np.float64)
    return values.astype(dtype, copy=False)


def chunks(n: int, d: int) -> list[slice]:
    """Return slices of n rows, each small enough to stay in cache as float64 (rows, d)."""
    size = max(1, CHUNK_BYTES // (8 * d))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def most_taken(n_rows: int, entries_per_row: int) -> int:
    """Return how many rows may be visited one by one at a time, wherever they live."""
    wide = min(TAKEN_ROWS, TAKEN_WIDE_ENTRIES // entries_per_row)
    return min(n_rows, max(1, wide, TAKEN_ENTRIES // entries_per_row))


def inverse_permutation(order: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """Return the index (n,) of each number in a permutation of 0 to n - 1."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=order.dtype)
    return places


# Numbers that are added up as Python's own: fewer are done before NumPy's calls are.
FEW = 1 << 12
# Numbers whose halves of 27 bits NumPy adds at once without rounding: at most 2^26. Some ten arrays
# as long are made for them, which should stay in cache, and be too short to be given back to the
# system each time, as workers of Dask do with long ones (three times as slow with 2^14).
AT_ONCE = 1 << 12


class ExactSum:
    """A sum of float64 numbers that never rounds: sums of parts add up in any order.

    Numbers are whole multiples of powers of two. Those of each power are added as integers.
    """

    def __init__(self) -> None:
        self._parts: dict[int, int] = {}  # by the power of two: of multiples of its 2^-53th
        self._infinite = 0.0  # the sum of numbers that are not finite

    def add(self, values: NDArray[np.floating]) -> None:
        """Add all numbers of an array (n,)."""
        finite = np.isfinite(values)
        if not finite.all():
            self._infinite += float(values[~finite].sum())
            values = values[finite]
        for start in range(0, len(values), AT_ONCE):
            fractions, powers = np.frexp(values[start : start + AT_ONCE])
            multiples = (fractions * 2.0**53).astype(np.int64)
            least = int(powers.min())
            places = powers - least
            sums = [np.bincount(places, half) for half in (multiples >> 26, multiples & 0x3FFFFFF)]
            for place in np.flatnonzero(np.bincount(places)).tolist():
                power = least + place
                part = (int(sums[0][place]) << 26) + int(sums[1][place])
                self._parts[power] = self._parts.get(power, 0) + part

    def merge(self, other: "ExactSum") -> None:
        """Add another sum."""
        self._infinite += other._infinite
        for power, part in other._parts.items():
            self._parts[power] = self._parts.get(power, 0) + part

    @property
    def value(self) -> float:
        """The sum, rounded once; infinite where it does not fit float64."""
        if self._infinite or not self._parts:
            return self._infinite
        least = min(self._parts)
        whole = sum(part << (power - least) for power, part in self._parts.items())
        shift = 53 - least
        try:
            return whole / (1 << shift) if shift > 0 else float(whole << -shift)
        except OverflowError:
            return math.copysign(math.inf, whole)


def exact_sum(values: NDArray[np.floating]) -> float:
    """Return the sum of numbers (n,), rounded once: their order does not change a bit."""
    if len(values) <= FEW:
        try:
            return math.fsum(values.tolist())
        except (OverflowError, ValueError):  # beyond float64, or infinite
            return float(values.sum())
    total = ExactSum()
    total.add(values)
    return total.value


def total_weight(weights: NDArray[np.floating], n_rows: int) -> float:
    """Return the sum of the weights (n,) of rows; (1,) is the weight of every row."""
    return exact_sum(weights) if len(weights) == n_rows else n_rows * float(weights[0])


def row_lengths(matrix: Matrix) -> NDArray[np.float64]:
    """Return the Euclidean length of each row in float64; squares may leave its range."""
    if is_sparse(matrix):
        n = matrix.shape[0]
        owner = np.repeat(np.arange(n), np.diff(matrix.indptr))
        values = np.abs(matrix.data, dtype=np.float64)
        largest = np.zeros(n)
        np.maximum.at(largest, owner, values)
        largest[largest == 0] = 1.0
        values /= largest[owner]
        return largest * np.sqrt(np.bincount(owner, values * values, n))
    lengths = []
    for rows in chunks(*matrix.shape):
        part = np.asarray(matrix[rows], np.float64)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", part, part)
        if squares.min() > SAFE[0] and squares.max() < SAFE[1]:
            lengths.append(np.sqrt(squares))
            continue
        part = np.abs(part)
        largest = part.max(axis=1)
        largest[largest == 0] = 1.0
        part /= largest[:, np.newaxis]
        lengths.append(largest * np.sqrt(np.einsum("ij,ij->i", part, part)))
    return np.concatenate(lengths)


def row_sums(matrix: Matrix) -> NDArray[np.float64]:
    """Return the sum of each row as float64; SciPy adds up sparse rows in their own dtype."""
    if is_sparse(matrix):
        return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    return np.concatenate(
        [matrix[rows].sum(axis=1, dtype=np.float64) for rows in chunks(*matrix.shape)]
    )


# Entries of which a copy takes longer than to find out whether a view would do.
WORTH_VIEWING = 1 << 12


class Layout(NamedTuple):
    """How passes read centres, and which bounds they carry from one assignment to the next."""

    dtype: np.dtype  # of scores, which propose; the direct formula in float64 decides
    sparse: bool  # theta is (1, d, slots), side by side; else (blocks, d, block)
    costs: str  # "distance" or "affine": which tables of centres and which bounds go with them
    anchor: Floats | None  # (d,): where bounds on affine costs measure how much these change


class DirectForm(NamedTuple):
    """Centres as the direct formula reads them."""

    exact: Floats  # (k, d): the centres where costs are squared distances, else theta
    offset: Floats  # (k,)
    squared: bool  # costs are squared distances


class Formula(IntEnum):
    """How the potential ``N phi(T / N)`` of a cluster of weight N and total T is computed.

    From N, from sums over columns, and from nothing else: so it follows a row by its entries.
    """

    LENGTH = 0  # ``|T|``
    T_LOG_T = 1  # ``sum_j T_j log(T_j / N) - T_j``
    BINARY = 2  # ``sum_j T_j log(T_j / N) + (N - T_j) log(1 - T_j / N)``


class TotalsForm(NamedTuple):
    """Clusters as formulas for potentials read them."""

    formula: Formula
    centres: Floats  # (k, d)
    prior_weight: float
    prior_mean: Floats  # (d,)


def lanes_of(itemsize: int) -> int:
    """Return the number of centres in a block for items of this many bytes."""
    return LANE_BYTES // itemsize


class Centres(NamedTuple):
    """Centres in slots, for kernels: the direct formula's arrays, and scores laid out in blocks.

    A free slot has rank -1 and scores inf. Without scores, ``theta`` and ``offset`` are empty.
    """

    theta: np.ndarray  # the type of scores; laid out for dense or for sparse rows
    offset: np.ndarray  # (slots,), the type of scores, lowered; inf in a free slot
    exact: np.ndarray  # (slots, d) float64: centres if squared, else theta
    exact_offset: np.ndarray  # (slots,) float64
    rank: np.ndarray  # (slots,) int64: order of creation; -1 in a free slot
    squared: bool  # costs are squared distances
    theta_bound: float  # largest norm of a theta
    offset_bound: float  # largest absolute finite offset
    block: int  # slots in a block
    precision: float  # of scores, relative
    lowered: float  # by what part of itself each offset of a score is lowered
    tiny: float  # smallest normal number of their dtype
    used: int  # slots before the first that was never taken
    room: int  # slots that the table has, never taken ones included

    @property
    def n_blocks(self) -> int:
        """Number of blocks that kernels read."""
        return len(self.rank) // self.block


def centres_without_scores(form: DirectForm, dtype: np.dtype) -> Centres:
    """Return centres (k, d) in slots 0 to k - 1, for kernels that use the direct formula only.

    ``dtype``: of scores, though there are none; kernels are compiled for it.
    """
    k = len(form.exact)
    return Centres(
        np.empty((0, 0, 0), dtype), np.empty(0, dtype), form.exact, form.offset, np.arange(k),
        form.squared, 0.0, 0.0, 1, 0.0, 0.0, 0.0, k, k,
    )  # fmt: skip


class Drift(NamedTuple):
    """How far the centre in each slot (slots,) has moved since the last assignment."""

    distance: Floats  # of the centres where costs are squared distances, else of theta
    most: Floats  # rise of the cost at the anchor, at most; empty where there is no anchor
    least: Floats  # and at least


class Totals(NamedTuple):
    """Sums of ``weight * row`` over the members of each slot, as a coarse plus a fine part.

    Each part is a sum of multiples of one power of two, small enough never to round. So totals are
    a function of the members alone, and totals of parts of the rows may be added in any order.
    """

    coarse: np.ndarray  # (slots, d) float64
    fine: np.ndarray  # (slots, d) float64
    weight_coarse: np.ndarray  # (slots,) float64
    weight_fine: np.ndarray  # (slots,) float64
    touched: np.ndarray  # (slots,) bool: members have changed since the flag was last cleared

    def weights(self, slots: NDArray[np.intp]) -> Floats:
        """Return the weights (k,) of these slots."""
        return self.weight_coarse[slots] + self.weight_fine[slots]

    def sums(self, slots: NDArray[np.intp]) -> Floats:
        """Return the totals (k, d) of these slots."""
        which: slice | NDArray[np.intp] = slots
        if len(slots) > WORTH_VIEWING // self.coarse.shape[1] and (np.diff(slots) == 1).all():
            which = slice(slots[0], slots[-1] + 1)  # views instead of copies
        return self.coarse[which] + self.fine[which]


def no_totals(slots: int, n_columns: int) -> Totals:
    """Return totals of empty slots."""
    shape = (slots, n_columns)
    numbers = (np.zeros(shape), np.zeros(shape), np.zeros(slots), np.zeros(slots))
    return Totals(*numbers, np.zeros(slots, np.bool_))


def scramble(number: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    """Return the image of a number, or of an array of them, uint64: a bijection for every key.

    SplitMix64 of Steele, Lea & Flood 2014. Compiled functions call it too.
    """
    number = (number + key) * np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


class VisitOrder(NamedTuple):
    """The order in which rows are visited, as a rule: no array as long as the data.

    By number, or at random: then by the image of the number in a bijection. Where rows are those
    of a block they count from ``offset``, the number of its first row. ``each_sweep``: whether the
    next sweep has another order.
    """

    is_random: bool
    key: np.uint64
    offset: int = 0
    each_sweep: bool = False

    @classmethod
    def draw(cls, order: str, rng: np.random.RandomState) -> "VisitOrder":
        """Return the order "given", or a "random" one, for all sweeps or "random-each-sweep"."""
        if order == "given":
            return GIVEN_ORDER
        key = np.uint64(rng.randint(0, 2**64, dtype=np.uint64))
        return cls(True, key, each_sweep=order == "random-each-sweep")

    def of_next_sweep(self, rng: np.random.RandomState) -> "VisitOrder":
        """Return the order of the next sweep; the same, unless each sweep has its own."""
        return VisitOrder.draw("random-each-sweep", rng) if self.each_sweep else self

    def ranks(self, ids: NDArray[np.signedinteger]) -> NDArray[np.int64]:
        """Return numbers (m,) by which rows ``ids`` (m,) are sorted, no two the same."""
        numbers = ids.astype(np.int64) + self.offset
        return (
            scramble(numbers.view(np.uint64), self.key).view(np.int64)
            if self.is_random
            else numbers
        )

    def rows(self, n_rows: int) -> NDArray[np.intp]:
        """Return so many rows (n,), from the first on, as they are visited."""
        rows = np.arange(n_rows)
        return np.argsort(self.ranks(rows)) if self.is_random else rows

    def first(self, ids: NDArray[np.signedinteger], count: int) -> NDArray[np.signedinteger]:
        """Return those of rows ``ids`` that are visited first, as they are: ``count`` at most."""
        ranks = self.ranks(ids)
        if count < len(ids):
            first = np.argpartition(ranks, count)[:count]
            ids, ranks = ids[first], ranks[first]
        return ids[np.argsort(ranks)]


GIVEN_ORDER = VisitOrder(False, np.uint64(0))  # the key of an order by number is not used


class Births(NamedTuple):
    """Clusters opened since an assignment, in the last ``len(opened)`` of the used slots.

    A row may choose those that were opened before its own visit.
    """

    order: VisitOrder
    opened: NDArray[np.int64]  # (births,), ascending: visit rank of the row that opened each
    openers: NDArray[np.signedinteger]  # (m,): the rows that opened the last m, not yet offered


class Summary(NamedTuple):
    """What an assignment of all rows did."""

    n_changed: int  # rows whose slot changed
    n_above: int  # rows whose cheapest centre cost more than their opening cost
    n_opened: int = 0  # clusters that they opened
    same_partition: bool = False  # births gave slots other names, but rows are together as before


class Division(NamedTuple):
    """Clusters divided in two: how many rows the second parts have, and their exact totals."""

    counts: NDArray[np.int64]  # (divisions,)
    totals: Totals  # (divisions, d)


class Corpus(NamedTuple):
    """Documents as lists of words, in CSR form, with weights whose sums never round."""

    starts: NDArray[np.integer]  # (n + 1,)
    words: NDArray[np.integer]  # (entries,)
    weights: Floats  # (entries,): > 0, multiples of one power of two, at most 2^52 of it in all
    penalties: Floats  # (n,): what each document pays for each of its topics


class Topics(NamedTuple):
    """Topics as documents see them."""

    costs: Floats  # (v, k): of a word at a topic, in nats
    n_free: int  # the first so many topics are open to every document, and in no set


class TopicSets(NamedTuple):
    """The topics that each document pays for."""

    topics: NDArray[np.int32]  # (n, room): the first ``sizes`` of each row count; all are indices
    sizes: NDArray[np.int32]  # (n,)

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Which entries (n, room) count."""
        return np.arange(self.topics.shape[1]) < self.sizes[:, np.newaxis]

    def copy(self) -> "TopicSets":
        """Return a copy."""
        return TopicSets(self.topics.copy(), self.sizes.copy())
