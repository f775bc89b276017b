"""Rows that were read from a slow source, kept in a folder to be read again faster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.row_sources import NamedRows, RawBlock


class Spool:
    """Dense rows and their weights in a folder, written once and read back in the same blocks."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def path(self, what: str) -> Path:
        """Return the file of the rows, of the weights, or of what is told of them."""
        return self._folder / f"hardbayes-{self._name}-{what}"

    @property
    def is_complete(self) -> bool:
        """Whether all rows have been written."""
        return self.path("blocks.json").is_file()

    def writer(self) -> SpoolWriter:
        """Return what writes blocks."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return SpoolWriter(self.path)

    def blocks(self, wanted: NDArray[np.bool_] | None) -> Iterator[RawBlock]:
        """Yield blocks as they were written."""
        told = json.loads(self.path("blocks.json").read_text())
        d, dtype, names = told["columns"], np.dtype(told["dtype"]), told["names"]
        with open(self.path("rows.bin"), "rb") as rows, open(self.path("weights.bin"), "rb") as w:
            start = 0
            for number, n in enumerate(told["sizes"]):
                if wanted is None or wanted[number]:
                    rows.seek(start * d * dtype.itemsize)
                    block = self._numbers(rows, dtype, n * d).reshape(n, d)
                    w.seek(8 * start)
                    weights = self._numbers(w, np.float64, n) if told["weighted"] else None
                    yield RawBlock(
                        number, block if names is None else NamedRows(block, names), weights
                    )
                start += n
                if wanted is not None and number == len(wanted) - 1:
                    return

    def _numbers(self, file: BinaryIO, dtype: Any, count: int) -> NDArray[Any]:
        found = np.fromfile(file, dtype, count)
        if len(found) < count:
            raise ValueError(
                f"{Path(file.name).name} in the 'cache' folder of row_blocks has become shorter. "
                f"Remove {self.path('*')}."
            )
        return found


class SpoolWriter:
    """Writes blocks one after the other, to files that get their names once all is written."""

    def __init__(self, path: Callable[[str], Path]) -> None:
        self._path = path
        mark = f".partial-{uuid4().hex}"  # another process may be writing the same rows
        self._partial = {
            what: path(what + mark) for what in ("rows.bin", "weights.bin", "blocks.json")
        }
        self._told: dict[str, Any] = {"sizes": [], "weighted": False, "names": None}

    def __enter__(self) -> SpoolWriter:
        """Open the files."""
        self._rows = open(self._partial["rows.bin"], "wb")
        self._weights = open(self._partial["weights.bin"], "wb")
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was not finished."""
        self._close()
        for partial in self._partial.values():
            partial.unlink(missing_ok=True)

    def _close(self) -> None:
        self._rows.close()
        self._weights.close()

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
        """Give the files their names; the one that says that there are others comes last."""
        self._close()
        self._partial["blocks.json"].write_text(json.dumps(self._told))
        for what, partial in self._partial.items():
            os.replace(partial, self._path(what))
