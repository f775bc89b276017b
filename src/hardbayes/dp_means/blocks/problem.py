"""From rows that are read by block to a problem that a fit can run on; `problem` does it in memory.

One pass finds what the rows hold (`scan`). Small data are then read into memory, and fitted there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.frame import Columns, Frame, columns_of, frame_of_range, power_of_two_scale
from hardbayes.core.frame import used_of as entries_of
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.pool import Pool, import_whole
from hardbayes.core.validation import as_matrix, check_total_weight, read_weights, stored
from hardbayes.dp_means.blocks.scan import Facts, refuse_difference, scan
from hardbayes.dp_means.problem import Problem, rows_in_memory

if TYPE_CHECKING:
    from hardbayes.dp_means.blocks.block import Block
    from hardbayes.dp_means.blocks.mapping import Mapper


class Scanned(NamedTuple):
    """What the first pass over all blocks found."""

    facts: Facts
    sizes: NDArray[np.int64]  # rows of each block
    heavy: dict[int, NDArray[np.uint8]]  # packed bits of blocks in which some rows weigh nothing

    @property
    def entries_per_row(self) -> int:
        """How many numbers a row holds, in the mean."""
        return max(1, self.facts.n_entries // self.facts.n_rows)

    @property
    def equal_weight(self) -> float | None:
        """The weight of every row; None where they differ."""
        if self.facts.weight is None:
            return 1.0
        return self.facts.heaviest if self.facts.least == self.facts.heaviest else None

    @property
    def total_weight(self) -> float:
        """The sum of all weights."""
        if self.facts.weight is None or self.equal_weight is not None:
            return self.facts.n_rows * self.facts.heaviest
        return self.facts.weight.value


def scan_task(X: Any, weights: Any, geometry: Geometry, first_row: int = 0) -> Any:
    """Scan a block; an error is returned, because it does not know the number of its first row."""
    if len(getattr(X, "shape", ())) == 2 and X.shape[0] == 0:
        return None
    try:
        return scan(X, weights, geometry, first_row)
    except (ValueError, TypeError) as error:
        return error


def scan_blocks(mapper: Mapper, geometry: Geometry) -> Scanned:
    """Go through all rows once; raise ValueError or TypeError at the first invalid cell."""
    whole: Facts | None = None
    sizes: list[int] = []
    heavy: dict[int, NDArray[np.uint8]] = {}
    for number, found in mapper.scan(scan_task, (geometry,)):
        if isinstance(found, Exception):
            first = sum(sizes)
            if first:  # the same again, which now names the row among all
                found = mapper.one(number, scan_task, (geometry, first))
            raise found
        if found is None:
            sizes.append(0)
            continue
        facts, bits = found
        sizes.append(facts.n_rows)
        if bits is not None:
            heavy[number] = bits
        if whole is None:
            whole = facts
        else:
            refuse_difference(whole, facts, number)
            whole.add(facts)
    if whole is None:
        raise ValueError("Found array with 0 sample(s): X has no rows. Pass at least one row.")
    if whole.weight is not None:
        total = whole.weight.value
        if not total > 0:
            raise ValueError("The weights of X must hold at least one number > 0. All are zero.")
        check_total_weight(total, whole.lightest, whole.n_rows)
    return Scanned(whole, np.array(sizes, np.int64), heavy)


@dataclass(frozen=True)
class Reader:
    """Reads a block as rows and weights of a problem, in any process."""

    geometry: Geometry
    columns: Columns
    dtype: np.dtype
    equal_weight: float | None  # in the user's units, like the weights of blocks
    weight_unit: float

    def matrix(self, X: Any) -> Matrix:
        """Return the rows of a block, which have been checked before, in all columns."""
        X = X.values if type(X).__name__ == "NamedRows" else X
        matrix = as_matrix(X)
        if not np.isfinite(matrix.sum()) and not np.isfinite(np.abs(matrix).max()):
            raise ValueError(
                "X holds NaN or infinity where the first pass found none: the source must yield "
                "the same blocks each time."
            )
        matrix = stored(self.geometry.statistic(matrix), self.geometry)
        return matrix if matrix.dtype == self.dtype else matrix.astype(self.dtype)

    def weights(self, matrix: Matrix, weights: Any) -> Floats | None:
        """Return the weights of rows in the user's units, (1,) where all are equal, or None."""
        if self.equal_weight is not None:
            return np.array([self.equal_weight])
        sizes = None if weights is None else read_weights(weights, matrix)
        if self.geometry.length_as_weight:
            lengths = self.geometry.row_sizes(matrix)
            sizes = lengths if sizes is None else lengths * sizes
        return sizes

    def __call__(self, X: Any, weights: Any) -> tuple[Matrix, Floats]:
        """Return rows in the columns of the problem, and their weights in its units."""
        matrix = self.matrix(X)
        found = self.weights(matrix, weights)
        assert found is not None
        return self.columns.of(matrix), found * self.weight_unit


def make_block(
    matrix: Matrix, weights: Floats, pool: Pool, geometry: Geometry, frame: Frame, largest: Floats
) -> Block:
    """Return the rows of a block in working coordinates."""
    from hardbayes.dp_means.blocks.block import Block

    rows = rows_in_memory(matrix, geometry, frame, weights, largest, pool, Block)
    assert isinstance(rows, Block)
    return rows


def pose_blocks(
    mapper: Mapper, found: Scanned, geometry: Geometry, given: Floats | None, pool: Pool
) -> tuple[Problem, Columns]:
    """Pose the problem of rows in blocks; ``given`` (k, d): centres to start from, or None."""
    import_whole("hardbayes.dp_means.memory")
    from hardbayes.dp_means.blocks.block import BlockMaker
    from hardbayes.dp_means.blocks.rows import BlockFacts, BlockRows
    from hardbayes.dp_means.totals import Rounding

    facts = found.facts
    columns = Columns(None, facts.n_columns)
    entrywise = geometry.separable or geometry.formula is not None
    if facts.sparse and entrywise and geometry.n_columns is None:
        used = facts.used if given is None else facts.used | entries_of(given)
        columns = columns_of(used)
    kept = slice(None) if columns.kept is None else columns.kept
    frame, largest = frame_of_range(facts.low[kept], facts.high[kept], facts.sparse, geometry)
    weight_unit = power_of_two_scale(facts.heaviest)
    geometry.check_scale(len(largest), found.total_weight, float(largest.max()))
    scaled = np.ones(len(largest)) if geometry.row_unit is not None else largest * frame.scale
    total = found.total_weight * weight_unit
    rounding = Rounding(np.ones(1), facts.n_rows, scaled, total)
    layout = geometry.layout(facts.sparse, facts.dtype)
    maker = BlockMaker(
        Reader(geometry, columns, facts.dtype, found.equal_weight, weight_unit),
        partial(make_block, geometry=geometry, frame=frame, largest=largest),
        layout,
        rounding,
    )
    equal = found.equal_weight
    known = BlockFacts(
        found.sizes, len(largest), found.entries_per_row, facts.dtype,
        None if equal is None else equal * weight_unit, facts.heaviest * weight_unit, total,
        facts.n_weighted, found.heavy, frame.shift,
    )  # fmt: skip
    rows = BlockRows(mapper, known, maker, layout, rounding, pool)
    problem = Problem(rows, frame, geometry, weight_unit, float(largest.max()))
    return problem, columns


def read_rows(
    mapper: Mapper,
    found: Scanned,
    geometry: Geometry,
    ids: NDArray[np.intp] | None = None,
) -> tuple[Matrix, Floats | None]:
    """Return rows ``ids`` (m,), ascending, or all, with their weights, in the user's units."""
    from hardbayes.dp_means.blocks.mapping import Call
    from hardbayes.dp_means.blocks.rows import by_block

    facts = found.facts
    read = Reader(geometry, Columns(None, facts.n_columns), facts.dtype, found.equal_weight, 1.0)
    starts = np.concatenate([[0], np.cumsum(found.sizes)])
    ids = np.arange(facts.n_rows) if ids is None else ids
    calls = [Call(number, (positions,)) for number, _, positions in by_block(starts, ids)]
    parts = dict(mapper.map(some_rows, calls, "rows", (read,)))
    matrices = [parts[number][0] for number in sorted(parts)]
    if facts.sparse:
        whole: Any = sparse.csr_array(sparse.vstack(matrices, format="csr"))
        whole.sort_indices()
        whole.has_canonical_format = True
    else:
        whole = np.empty((len(ids), facts.n_columns), facts.dtype)
        start = 0
        for part in matrices:
            whole[start : start + len(part)] = part
            start += len(part)
    if facts.weight is None:
        return whole, None
    if found.equal_weight is not None:
        return whole, np.array([found.equal_weight])
    return whole, np.concatenate([parts[number][1] for number in sorted(parts)])


def some_rows(
    X: Any, weights: Any, positions: NDArray[np.intp], read: Reader
) -> tuple[Matrix, Floats | None]:
    """Return some rows of a block with their weights, in the user's units."""
    matrix = read.matrix(X)
    found = read.weights(matrix, weights)
    some = matrix[positions]
    if is_sparse(some):
        some = sparse.csr_array(some)
    return some, found if found is None or len(found) == 1 else found[positions]
