"""Rows that are read block by block, as often as they are needed: files, lists, iterators.

A source yields blocks of rows, the same ones each time. Nothing here looks at what rows hold; that
is checked in the first pass over them (`dp_means.scan`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.row_sources import BLOCK_BYTES, NamedRows, Source, source_of

#: What a block of weights may be given by.
Weights = str | NDArray[np.floating] | Callable[[Any], Any] | None


class RawBlock(NamedTuple):
    """Rows as the source has them."""

    number: int
    rows: Any  # an array, a CSR matrix or a data frame
    weights: Any  # (m,), or None


class RowBlocks:
    """Rows that are read block by block. Made by `row_blocks`.

    Attributes
    ----------
    n_passes : int
        How often they have been gone through, in whole or in part.
    """

    def __init__(
        self,
        source: Source,
        columns: list[Any] | None = None,
        weights: Weights = None,
        cache: Path | None = None,
    ) -> None:
        self._source = source
        self._columns = columns
        self._weights = weights
        self._cache = cache
        self.n_passes = 0

    def __repr__(self) -> str:
        """Return what they are read from."""
        return f"<row_blocks of {self._source.what}>"

    def weighted(self, weights: Any) -> RowBlocks:
        """Return the same rows with these weights."""
        if self._weights is not None:
            raise ValueError(
                "The 'sample_weight' parameter must be None where row_blocks has weights. Leave "
                "one of them out."
            )
        return RowBlocks(self._source, self._columns, checked_weights(weights), self._cache)

    def blocks(self, wanted: NDArray[np.bool_] | None = None) -> Iterator[RawBlock]:
        """Yield all blocks, or those with these numbers and none after them, with their weights."""
        self.n_passes += 1
        spool = self._spool()
        if spool is not None and spool.is_complete:
            yield from spool.blocks(wanted)
            return
        writing = None if spool is None or wanted is not None else spool.begin()
        start = 0
        for number, rows in enumerate(self._source.blocks(self._needed(wanted))):
            if rows is None:
                continue
            if wanted is None or wanted[number]:
                part = slice(start, start + rows.shape[0])
                block = RawBlock(number, *self._picked(rows, part))
                if writing is not None:
                    writing.add(block)
                yield block
            start += rows.shape[0]
            if wanted is not None and number == len(wanted) - 1:
                return
        if isinstance(self._weights, np.ndarray) and wanted is None and start != len(self._weights):
            raise ValueError(
                f"The 'weights' parameter of row_blocks must have one weight for each of the "
                f"{start} rows. Got {len(self._weights)} instead."
            )
        if writing is not None:
            writing.finish()

    def _needed(self, wanted: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        # Weights in an array go by the number of the row: all blocks before are to be counted.
        return None if isinstance(self._weights, np.ndarray) else wanted

    def _picked(self, rows: Any, part: slice) -> tuple[Any, Any]:
        """Return the wanted columns of rows, and their weights."""
        weights = self._weights
        names = getattr(rows, "columns", None)
        chosen = self._columns
        if isinstance(weights, str):
            if names is None or weights not in list(names):
                raise ValueError(
                    f"The 'weights' parameter of row_blocks must be the name of a column. Got "
                    f"{weights!r}; {_names_of(names)}."
                )
            found = np.asarray(rows[weights])
            chosen = [name for name in names if name != weights] if chosen is None else chosen
        elif callable(weights):
            found = weights(rows)
        elif weights is not None:
            found = weights[part]
            if len(found) < rows.shape[0]:
                raise ValueError(
                    f"The 'weights' parameter of row_blocks must have one weight for each row. Got "
                    f"{len(weights)} for more rows."
                )
        else:
            found = None
        if chosen is None:
            return rows, found
        if names is None:
            return rows[:, chosen], found
        absent = [name for name in chosen if name not in list(names)]
        if absent:
            raise ValueError(
                f"The 'columns' parameter of row_blocks must name columns of the rows. Got "
                f"{absent[0]!r}; {_names_of(names)}."
            )
        return rows[chosen], found

    def _spool(self) -> Spool | None:
        if self._cache is None:
            return None
        weights = self._weights.tobytes() if isinstance(self._weights, np.ndarray) else b""
        named = None if callable(self._weights) else str(self._weights)
        told = repr((self._source.identity, self._columns, named)).encode()
        return Spool(self._cache, hashlib.sha256(told + weights).hexdigest()[:16])


class Spool:
    """Dense rows and their weights in a folder, written once and read back in the same blocks."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def _path(self, what: str) -> Path:
        return self._folder / f"hardbayes-{self._name}-{what}"

    @property
    def is_complete(self) -> bool:
        """Whether all rows have been written."""
        return self._path("blocks.json").is_file()

    def begin(self) -> SpoolWriter:
        """Return what writes blocks."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return SpoolWriter(self._path)

    def blocks(self, wanted: NDArray[np.bool_] | None) -> Iterator[RawBlock]:
        """Yield blocks as they were written."""
        told = json.loads(self._path("blocks.json").read_text())
        d, dtype = told["columns"], np.dtype(told["dtype"])
        with open(self._path("rows.bin"), "rb") as rows, open(self._path("weights.bin"), "rb") as w:
            start = 0
            for number, n in enumerate(told["sizes"]):
                if wanted is None or wanted[number]:
                    rows.seek(start * d * dtype.itemsize)
                    block = np.fromfile(rows, dtype, n * d).reshape(n, d)
                    weights = None
                    if told["weighted"]:
                        w.seek(8 * start)
                        weights = np.fromfile(w, np.float64, n)
                    names = told["names"]
                    named = block if names is None else NamedRows(block, names)
                    yield RawBlock(number, named, weights)
                start += n


class SpoolWriter:
    """Writes blocks one after the other; what is not finished does not count."""

    def __init__(self, path: Callable[[str], Path]) -> None:
        self._path = path
        self._rows = open(path("rows.bin"), "wb")  # noqa: SIM115 - closed by `finish`
        self._weights = open(path("weights.bin"), "wb")  # noqa: SIM115
        self._told: dict[str, Any] = {"sizes": [], "weighted": False, "names": None}

    def add(self, block: RawBlock) -> None:
        """Write a block."""
        names = getattr(block.rows, "columns", None)
        dense = np.asarray(block.rows)
        if dense.dtype.kind not in "biuf" or dense.ndim != 2:
            raise ValueError(
                "The 'cache' parameter of row_blocks must be None for rows that are no dense "
                "numbers. Leave it out."
            )
        kind = self._told.setdefault("dtype", dense.dtype.str)
        if kind != dense.dtype.str:
            raise ValueError(
                f"The 'cache' parameter of row_blocks must be None for blocks of different types. "
                f"Got {dense.dtype} after {np.dtype(kind)}: convert the blocks, or leave it out."
            )
        self._told["columns"] = dense.shape[1]
        self._told["names"] = None if names is None else [str(name) for name in names]
        self._told["sizes"].append(len(dense))
        np.ascontiguousarray(dense).tofile(self._rows)
        if block.weights is not None:
            self._told["weighted"] = True
            np.asarray(block.weights, np.float64).tofile(self._weights)

    def finish(self) -> None:
        """Say that all rows have been written."""
        self._rows.close()
        self._weights.close()
        partial = self._path("blocks.json.partial")
        partial.write_text(json.dumps(self._told))
        os.replace(partial, self._path("blocks.json"))


def _names_of(names: Any) -> str:
    """Return what columns there are, for an error message."""
    return "the rows have no named columns" if names is None else f"there are {list(names)}"


def checked_weights(weights: Any) -> Weights:
    """Return ``weights`` in a form that blocks can be weighted by."""
    if weights is None or isinstance(weights, str) or callable(weights):
        return weights
    found = np.asarray(weights)
    if found.ndim != 1 or found.dtype.kind not in "biuf":
        raise ValueError(
            "The 'weights' parameter of row_blocks must be the name of a column, an array of one "
            f"weight a row, or a function of a block. Got {type(weights).__name__} instead."
        )
    return found


def row_blocks(
    source: Any,
    *,
    columns: Iterable[Any] | None = None,
    weights: Any = None,
    block_bytes: int = BLOCK_BYTES,
    cache: str | os.PathLike[str] | None = None,
) -> RowBlocks:
    """Return rows that are read block by block, for data larger than memory.

    `DPMeans.fit`, `predict` and `transform` take them in place of X, and give what they give for
    the same rows in memory, to the last bit. Memory is bounded by the blocks and by one byte a row.

    Parameters
    ----------
    source : path, array-like, list of arrays, or callable
        A path of a ``.npy`` file, of a Parquet file or of a folder of them; a memory map, or
        anything with ``shape`` and slicing, such as arrays of zarr and h5py; a list of arrays, data
        frames or CSR matrices; or a function without arguments that returns a fresh iterator over
        these, in the same blocks each time.
    columns : list or None, default=None
        The columns to use: names, or numbers where columns have no names. None: all of them.
    weights : str, array of shape (n_samples,), callable or None, default=None
        Weights of the rows: the name of a column, which is then no feature; an array; or a function
        that returns the weights of a block of rows.
    block_bytes : int, default=8388608
        About how much is read at a time. Larger blocks of a list or an iterator are divided.
    cache : path or None, default=None
        A folder in which the first pass leaves dense rows as they are read fastest, for later
        passes and later fits of the same file. Nothing ever removes them but you.

    Returns
    -------
    blocks : RowBlocks
        Rows for `fit`, `predict` and `transform`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import DPMeans, row_blocks
    >>> X = np.random.default_rng(0).normal(size=(1000, 3)) + np.repeat([[0], [9]], 500, axis=0)
    >>> blocks = row_blocks([X[:300], X[300:]])
    >>> model = DPMeans(2000.0, random_state=0).fit(blocks)
    >>> model.n_clusters_
    2
    >>> bool((model.labels_ == DPMeans(2000.0, random_state=0).fit(X).labels_).all())
    True
    """
    if isinstance(source, RowBlocks):
        raise TypeError(
            "The 'source' parameter of row_blocks must not be row_blocks. Use it as is."
        )
    if not isinstance(block_bytes, Integral) or isinstance(block_bytes, bool) or block_bytes < 1:
        raise ValueError(
            "The 'block_bytes' parameter of row_blocks must be a positive integer. "
            f"Got {block_bytes!r} instead."
        )
    if isinstance(columns, str):
        raise ValueError(
            "The 'columns' parameter of row_blocks must be a list of columns. "
            f"Got {columns!r} instead: pass [{columns!r}]."
        )
    chosen = None if columns is None else list(columns)
    kept = checked_weights(weights)
    read = chosen
    if chosen is not None and isinstance(kept, str) and kept not in chosen:
        read = [*chosen, kept]
    found = source_of(source, block_bytes, read)
    return RowBlocks(found, chosen, kept, None if cache is None else Path(cache))


def rows_by_block(X: Any, sample_weight: Any = None) -> RowBlocks | None:
    """Return rows that are read by block; None where X is something else."""
    if not isinstance(X, RowBlocks):
        return None
    return X if sample_weight is None else X.weighted(sample_weight)
