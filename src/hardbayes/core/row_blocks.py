"""Rows that are read block by block, as often as they are needed: files, lists, iterators.

A source yields blocks of rows, the same ones each time. Nothing here looks at what rows hold; that
is checked in the first pass over them (`dp_means.blocks.scan`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import refuse_lazy
from hardbayes.core.row_sources import BLOCK_BYTES, RawBlock, Source, source_of
from hardbayes.core.row_spool import Spool

#: What a block of weights may be given by.
Weights = str | NDArray[np.floating] | Callable[[Any], Any] | None


class RowBlocks:
    """Rows that are read block by block. Made by `row_blocks`."""

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

    def blocks(self, wanted: NDArray[np.bool_] | None = None) -> Generator[RawBlock]:
        """Yield all blocks, or those with these numbers and none after them, with their weights."""
        if self._spool is None or (wanted is not None and not self._spool.is_complete):
            yield from self._read(wanted)
        elif self._spool.is_complete:
            yield from self._spool.blocks(wanted)
        else:
            with self._spool.writer() as writer:
                for block in self._read(None):
                    writer.add(block)
                    yield block
                writer.finish()

    def _read(self, wanted: NDArray[np.bool_] | None) -> Iterator[RawBlock]:
        """Yield blocks as the source has them."""
        start = 0
        for number, rows in enumerate(self._source.blocks(wanted)):
            n_rows = rows if isinstance(rows, int) else rows.shape[0]
            if wanted is None or wanted[number]:
                yield RawBlock(number, *self._picked(rows, slice(start, start + n_rows)))
            start += n_rows
            if wanted is not None and number == len(wanted) - 1:
                return
        if isinstance(self._weights, np.ndarray) and start != len(self._weights):
            raise ValueError(
                f"The 'weights' parameter of row_blocks must have one weight for each of the "
                f"{start} rows. Got {len(self._weights)} instead."
            )

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
            try:
                return rows[:, chosen], found
            except IndexError as error:
                raise ValueError(
                    "The 'columns' parameter of row_blocks must hold numbers of columns, because "
                    f"the {rows.shape[1]} columns have no names. Got {chosen} instead: {error}."
                ) from None
        absent = [name for name in chosen if name not in list(names)]
        if absent:
            raise ValueError(
                f"The 'columns' parameter of row_blocks must name columns of the rows. Got "
                f"{absent[0]!r}; {_names_of(names)}."
            )
        return rows[chosen], found

    @cached_property
    def _spool(self) -> Spool | None:
        if self._cache is None:
            return None
        weights: Any = self._weights
        if isinstance(weights, np.ndarray):
            weights = hashlib.sha256(weights.tobytes()).hexdigest(), weights.dtype.str
        elif callable(weights):  # two functions cannot be told from each other
            weights = uuid4().hex
        told = repr((self._source.identity, self._columns, weights))
        return Spool(self._cache, hashlib.sha256(told.encode()).hexdigest()[:16])


def _names_of(names: Any) -> str:
    """Return what columns there are, for an error message."""
    return "the rows have no named columns" if names is None else f"there are {list(names)}"


def checked_weights(weights: Any) -> Weights:
    """Return ``weights`` in a form that blocks can be weighted by."""
    if weights is None or isinstance(weights, str) or callable(weights):
        return weights
    refuse_lazy(weights, "weights")
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
        A path of a ``.npy`` file, of a Parquet file or of a folder of them, or of a ``.csv`` or
        ``.tsv`` file, also as ``.gz``, whose first line has the names; a memory map, or anything
        with ``shape`` and slicing, such as arrays of zarr and h5py; a list of arrays, data frames
        or CSR matrices; or a function without arguments that returns a fresh iterator over these,
        in the same blocks each time.
    columns : list or None, default=None
        The columns to use: names, or numbers where columns have no names. None: all of them.
    weights : str, array of shape (n_samples,), callable or None, default=None
        Weights of the rows: the name of a column, which is then no feature; an array; or a function
        that returns the weights of a block of rows.
    block_bytes : int, default=8388608
        About how much is read at a time. Larger blocks of a list or an iterator are divided.
    cache : path or None, default=None
        A folder in which the first pass leaves dense rows as they are read fastest, for later
        passes and later fits of the same file; of rows that are not in a file, for later passes
        alone. Nothing ever removes them but you.

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
