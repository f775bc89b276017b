"""Where blocks of rows are read from: files, things with slices, lists and functions.

A source has ``what``, words for messages, and ``identity``, what tells it from others; and
``blocks(wanted)``, which yields the rows of each block in order, or their number for a block that
is not wanted and need not be read.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import is_sparse

# A block that is read at a time: fewer and longer reads against memory. Below a megabyte the work
# on a block is shorter than what surrounds it; far above the caches nothing is gained.
BLOCK_BYTES = 1 << 23
# Numbers that a row of a Parquet file or of sparse rows is taken to have per column.
ITEM_BYTES = 8

Wanted = NDArray[np.bool_] | None


class RawBlock(NamedTuple):
    """Rows as the source has them."""

    number: int
    rows: Any  # an array, a CSR matrix or a data frame
    weights: Any  # (m,), or None


class Source(Protocol):
    """Blocks of rows."""

    what: str
    identity: tuple[Any, ...]

    def blocks(self, wanted: Wanted) -> Iterator[Any]:
        """Yield the rows of each block in order; their number for some that are not wanted."""


def source_of(source: Any, block_bytes: int, columns: list[Any] | None) -> Source:
    """Return the source that something is; raise TypeError or ValueError where it is none."""
    if isinstance(source, (str, os.PathLike)):
        return _file(Path(source), block_bytes, columns)
    if isinstance(source, np.memmap) and (place := _place_in_file(source)) is not None:
        return NumberFile(*place, block_bytes)
    if isinstance(source, (list, tuple)):
        return Listed(list(source), block_bytes)
    if len(getattr(source, "shape", ())) == 2:
        if type(source).__module__.partition(".")[0] in ("dask", "dask_expr"):
            raise TypeError("X is a Dask collection, which DPMeans fits as it is. Pass it to fit.")
        return Sliced(source, block_bytes)
    if callable(source):
        return Called(source, block_bytes)
    kind = type(source).__name__
    hint = ""
    if hasattr(source, "__next__"):
        hint = " An iterator can be read once only: pass a function that returns a fresh one."
    raise TypeError(
        "The 'source' parameter of row_blocks must be a path, something with two-dimensional "
        "'shape' and slices, a list of arrays, or a function that returns a fresh iterator. "
        f"Got {kind} instead.{hint}"
    )


def rows_a_block(shape: tuple[int, ...], item_bytes: int, block_bytes: int) -> int:
    """Return how many rows make a block."""
    return max(1, block_bytes // max(1, item_bytes * shape[1]))


def sliced(rows: Any, start: int, stop: int) -> Any:
    """Return some rows of an array, a CSR matrix or a data frame."""
    return rows.iloc[start:stop] if hasattr(rows, "iloc") else rows[start:stop]


class NamedRows:
    """Dense rows whose columns have names; for files, whose readers bring no data frame along."""

    def __init__(self, values: NDArray[Any], columns: list[str]) -> None:
        self.values = values
        self.columns = columns
        self.shape = values.shape

    def __getitem__(self, names: Any) -> Any:
        """Return one column as an array, or several as rows."""
        if isinstance(names, str):
            return self.values[:, self.columns.index(names)]
        places = [self.columns.index(name) for name in names]
        return NamedRows(np.ascontiguousarray(self.values[:, places]), list(names))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the rows without the names."""
        return np.asarray(self.values, dtype)


def unlike_any_other() -> tuple[Any, ...]:
    """Return the identity of rows in memory, which may change and whose place is used again."""
    return (uuid4().hex,)


class Sliced:
    """Anything with ``shape`` and slices: arrays of zarr and h5py, CSR matrices, data frames."""

    def __init__(self, rows: Any, block_bytes: int, identity: tuple[Any, ...] = ()) -> None:
        self._rows = rows
        self.what = f"{type(rows).__name__} of shape {tuple(rows.shape)}"
        self.identity = identity or unlike_any_other()
        self._size = rows_a_block(rows.shape, _row_item_bytes(rows), block_bytes)
        stored = (getattr(rows, "chunks", None) or (0,))[0]  # rows that are read at a time
        if isinstance(stored, int) and 0 < stored < self._size:
            self._size -= self._size % stored

    def blocks(self, wanted: Wanted) -> Iterator[Any]:
        """Yield slices."""
        n = self._rows.shape[0]
        for number, start in enumerate(range(0, n, self._size)):
            stop = min(start + self._size, n)
            if wanted is not None and not wanted[number]:
                yield stop - start
            else:
                yield sliced(self._rows, start, stop)


def _row_item_bytes(rows: Any) -> int:
    """Return about how many bytes a column of a row takes."""
    if is_sparse(rows):
        entries = max(1, rows.nnz // max(1, rows.shape[0]))
        return max(1, 2 * ITEM_BYTES * entries // max(1, rows.shape[1]))
    return int(getattr(getattr(rows, "dtype", None), "itemsize", ITEM_BYTES))


class NumberFile:
    """Row-major numbers in a file. They are read: pages of a map would count as memory."""

    def __init__(
        self, path: Path, offset: int, shape: tuple[int, ...], dtype: np.dtype, block_bytes: int
    ) -> None:
        self._path = path
        self._offset = offset
        self._shape = shape
        self._dtype = dtype
        self._size = rows_a_block(shape, dtype.itemsize, block_bytes)
        self.what = f"{path.name}, {shape[0]} rows of {shape[1]} columns"
        self.identity = (*_file_identity(path), offset, shape, dtype.str)

    def blocks(self, wanted: Wanted) -> Iterator[Any]:
        """Yield blocks as they are read."""
        n, d = self._shape
        with open(self._path, "rb") as file:
            for number, start in enumerate(range(0, n, self._size)):
                m = min(self._size, n - start)
                if wanted is not None and not wanted[number]:
                    yield m
                    continue
                file.seek(self._offset + start * d * self._dtype.itemsize)
                block = np.fromfile(file, self._dtype, m * d)
                if len(block) < m * d:
                    raise ValueError(
                        f"{self._path.name} ends before row {start + m}: it has become shorter. "
                        "Write it again."
                    )
                yield block.reshape(m, d)


def _file(path: Path, block_bytes: int, columns: list[Any] | None) -> Source:
    """Return the source in a file or a folder."""
    if not path.exists():
        raise FileNotFoundError(f"The 'source' parameter of row_blocks: there is no {path}.")
    if path.suffix.lower() == ".npy" and path.is_file():
        with open(path, "rb") as file:
            try:
                version = np.lib.format.read_magic(file)
                reader = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, in_columns, dtype = reader(file)
            except ValueError as error:
                raise ValueError(f"{path.name} is no .npy file: {error}. Write it again.") from None
            offset = file.tell()
        if len(shape) != 2 or dtype.kind not in "biuf":
            raise ValueError(
                f"{path.name} must hold a table of numbers. It holds {dtype} of shape {shape}."
            )
        if in_columns:  # column-major: a block is a few numbers of each column
            return Sliced(np.load(path, mmap_mode="r"), block_bytes, _file_identity(path))
        return NumberFile(path, offset, shape, dtype, block_bytes)
    if path.is_file() and (separator := _separator(path)) is not None:
        return TextFile(path, separator, block_bytes, columns)
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    if path.is_dir():
        is_parquet = any(path.rglob("*.parquet")) or any(path.rglob("*.pq"))
    if is_parquet:
        return ParquetFiles(path, block_bytes, columns)
    raise ValueError(
        f"The 'source' parameter of row_blocks: {path.name} must be a .npy, .csv or .tsv file, or "
        "a .parquet file or a folder of these. For others pass a function that returns an "
        "iterator of blocks."
    )


def _separator(path: Path) -> str | None:
    """Return what is between the cells of a file of text, compressed or not; None for others."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return ","
    return "\t" if name.endswith((".tsv", ".tab")) else None


def _file_identity(path: Path) -> tuple[Any, ...]:
    told = path.stat()
    return (str(path.resolve()), told.st_size, told.st_mtime_ns)


def _place_in_file(rows: np.memmap) -> tuple[Path, int, tuple[int, ...], np.dtype] | None:
    """Return file, offset, shape and type of a memory map; None where it is not as in the file."""
    base: Any = rows
    while isinstance(base.base, np.ndarray):
        base = base.base
    mapped = getattr(base, "_mmap", None)
    plain = rows.ndim == 2 and rows.flags.c_contiguous and rows.dtype.kind in "biuf"
    if mapped is None or not plain or not rows.size or base.filename is None or base.mode == "c":
        return None
    if base.mode != "r":
        base.flush()
    start = np.frombuffer(mapped, np.uint8).__array_interface__["data"][0]
    first = base.offset - base.offset % mmap.ALLOCATIONGRANULARITY  # where the map begins
    offset = first + rows.__array_interface__["data"][0] - start
    return Path(base.filename), offset, rows.shape, rows.dtype


class ParquetFiles:
    """A Parquet file, or all of a folder, in batches of rows."""

    def __init__(self, path: Path, block_bytes: int, columns: list[Any] | None) -> None:
        dataset, types = _of_pyarrow("Parquet files", "dataset", "types")
        self._dataset = dataset.dataset(path, format="parquet")
        schema = self._dataset.schema
        self._names = _chosen(schema.names, columns, path)
        for name in self._names:
            kind = schema.field(name).type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"Column {name!r} of {path.name} holds {kind} values, not real numbers. Pass "
                    "'columns' without it, or encode it first."
                )
        kinds = {str(schema.field(name).type) for name in self._names}
        self._dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)
        self._size = max(1, block_bytes // (ITEM_BYTES * max(1, len(self._names))))
        self.what = f"{path.name}, {len(self._names)} columns"
        self.identity = (*map(_file_identity, map(Path, self._dataset.files)), self.what)

    def blocks(self, wanted: Wanted) -> Iterator[Any]:
        """Yield batches, their columns with names."""
        batches = self._dataset.to_batches(
            columns=self._names, batch_size=self._size, batch_readahead=1, fragment_readahead=1
        )
        return _rows_of(batches, self._names, self._dtype, wanted)


class TextFile:
    """Numbers in a file of text, with a line of names first. Every pass parses it anew."""

    def __init__(
        self, path: Path, separator: str, block_bytes: int, columns: list[Any] | None
    ) -> None:
        self._csv, arrow = _of_pyarrow("Files of text", "csv", "lib")
        self._path = path
        self._error = arrow.ArrowInvalid
        self._reading = self._csv.ReadOptions(block_size=block_bytes)
        self._parsing = self._csv.ParseOptions(delimiter=separator)
        try:
            with self._csv.open_csv(path, self._reading, self._parsing) as reader:
                names = reader.schema.names
        except self._error as error:
            raise ValueError(f"{path.name} is no table: {error}.") from None
        if all(is_number(name) for name in names):
            raise ValueError(
                f"The first line of {path.name} must hold the names of the columns. Got numbers."
            )
        self._names = _chosen(names, columns, path)
        self.what = f"{path.name}, {len(self._names)} columns"
        self.identity = (_file_identity(path), self.what, tuple(self._names), block_bytes)

    def blocks(self, wanted: Wanted) -> Iterator[Any]:
        """Yield what is read at a time, the columns with names."""
        converting = self._csv.ConvertOptions(
            include_columns=self._names, column_types=dict.fromkeys(self._names, "float64")
        )
        try:
            with self._csv.open_csv(
                self._path, self._reading, self._parsing, converting
            ) as batches:
                yield from _rows_of(batches, self._names, np.dtype(np.float64), wanted)
        except self._error as error:
            raise ValueError(
                f"{self._path.name} must hold numbers in its columns: {error}. Correct it, or "
                "pass 'columns' without those of text."
            ) from None


def _of_pyarrow(what: str, *modules: str) -> list[Any]:
    try:
        return [import_module(f"pyarrow.{module}") for module in modules]
    except ImportError:
        raise ImportError(
            f'{what} are read by pyarrow, which is missing: pip install "hardbayes[blocks]"'
        ) from None


def _chosen(names: list[str], columns: list[Any] | None, path: Path) -> list[Any]:
    """Return the columns to read."""
    for name in columns or ():
        if name not in names:
            raise ValueError(
                f"The 'columns' parameter of row_blocks must name columns of {path.name}. Got "
                f"{name!r}; there are {names}."
            )
    return list(names) if columns is None else columns


def _rows_of(
    batches: Iterable[Any], names: list[Any], dtype: np.dtype, wanted: Wanted
) -> Iterator[Any]:
    """Yield batches of pyarrow as arrays; the number of rows of those that are not wanted."""
    for number, batch in enumerate(batches):
        if wanted is not None and not wanted[number]:
            yield batch.num_rows
            continue
        rows = np.empty((batch.num_rows, len(names)), dtype)
        for column in range(len(names)):
            values = batch.column(column)
            if values.null_count:  # nulls become NaN, which is told with its place
                values = values.cast("float64")
            rows[:, column] = values.to_numpy(zero_copy_only=False)
        yield NamedRows(rows, names)


def is_number(cell: str) -> bool:
    """Whether a cell of text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


class Listed:
    """A list of arrays, CSR matrices or data frames."""

    def __init__(self, parts: list[Any], block_bytes: int) -> None:
        if not parts:
            raise ValueError(
                "The 'source' parameter of row_blocks must hold at least one block. Got none."
            )
        self._parts = parts
        self._block_bytes = block_bytes
        self.what = f"{len(parts)} blocks"
        self.identity = unlike_any_other()

    def blocks(self, wanted: Wanted) -> Iterator[Any]:
        """Yield the parts, large ones divided."""
        for number, part in enumerate(self._parts):
            yield from divided(part, number, self._block_bytes)


class Called:
    """What a function returns a fresh iterator of."""

    def __init__(self, function: Callable[[], Any], block_bytes: int) -> None:
        self._function = function
        self._block_bytes = block_bytes
        self.what = f"what {getattr(function, '__name__', type(function).__name__)}() yields"
        self.identity = unlike_any_other()

    def blocks(self, wanted: Wanted) -> Iterator[Any]:
        """Yield the blocks of a fresh iterator, large ones divided."""
        found = self._function()
        if len(getattr(found, "shape", ())) == 2 or not hasattr(found, "__iter__"):
            raise TypeError(
                "The 'source' parameter of row_blocks must return an iterator of blocks of rows. "
                f"{self.what} is {type(found).__name__} instead: yield blocks."
            )
        for number, part in enumerate(found):
            yield from divided(part, number, self._block_bytes)


def divided(part: Any, number: int, block_bytes: int) -> Iterator[Any]:
    """Yield a block, in several if it is large."""
    if len(getattr(part, "shape", ())) != 2:
        raise ValueError(
            f"Block {number} of row_blocks must be a table of rows and columns: an array, a CSR "
            f"matrix or a data frame. Got {type(part).__name__} instead."
        )
    if is_sparse(part) and part.format != "csr":
        part = part.tocsr()
    n = part.shape[0]
    size = 2 * rows_a_block(part.shape, _row_item_bytes(part), block_bytes)
    if n <= size:
        yield part
        return
    for start in range(0, n, size // 2):
        yield sliced(part, start, min(start + size // 2, n))
