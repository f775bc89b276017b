"""Copies in parts: Python handles Ctrl-C only between two calls of NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from hardbayes.validation.cells import column_names

# Larger arrays are copied in parts.
PART_BYTES = 1 << 25


def reader_of(X: Any, dtypes: list[Any]) -> tuple[Any, Callable[[slice], Any]] | None:
    """Return the dtype of the converted X and a function that reads a slice of its rows, or None.

    None: X is small, needs no copy, or does not hold plain numbers. scikit-learn converts it in one
    call, which Ctrl-C cannot interrupt.
    """
    shape = getattr(X, "shape", ())
    if len(shape) != 2 or sparse.issparse(X) or len(parts(*shape)) < 2:
        return None
    columns = list(getattr(X, "dtypes", ())) if column_names(X) else []
    if columns and hasattr(X, "iloc") and all(is_plain(dtype) for dtype in columns):
        X = as_view(X)
        if not isinstance(X, np.ndarray):
            dtype = kept(np.result_type(*columns), dtypes)
            return dtype, lambda rows: X.iloc[rows].to_numpy(dtype=dtype)
    if len(columns) > 1 and hasattr(
        columns[0], "is_float"
    ):  # polars; a single column needs no copy
        plain = all(dtype.is_float() or dtype.is_integer() for dtype in columns)
        return (np.dtype(dtypes[0]), lambda rows: X[rows].to_numpy()) if plain else None
    if type(X) not in (np.ndarray, np.memmap) or not is_plain(X.dtype):
        return None
    dtype = kept(X.dtype, dtypes)
    ready = X.dtype == dtype and X.flags.c_contiguous and X.flags.aligned
    return None if ready else (dtype, lambda rows: X[rows])


def is_plain(dtype: Any) -> bool:
    """Whether a dtype is one of NumPy's real numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def kept(dtype: Any, dtypes: list[Any]) -> Any:
    """Return the dtype that scikit-learn converts to if ``dtypes`` are accepted."""
    return dtype if dtype in dtypes else np.dtype(dtypes[0])


def as_view(X: Any) -> Any:
    """Return the array of which a pandas frame is a view, or the frame if there is none."""
    first = X.iloc[:2]
    return X.to_numpy() if np.shares_memory(first.to_numpy(), first.to_numpy()) else X


def parts(n: int, d: int) -> list[slice]:
    """Return slices of n rows, each copied in a fraction of a second."""
    size = max(1, PART_BYTES // (8 * max(d, 1)))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def copied_in_parts(shape: tuple[int, int], dtype: Any, read: Callable[[slice], Any]) -> Any:
    """Return all rows, read slice by slice, as one C-contiguous array."""
    copy = np.empty(shape, dtype)
    for rows in parts(*shape):
        copy[rows] = read(rows)
    return copy


def accepted_dtypes(X: Any) -> list[type[np.floating]]:
    """Return the dtypes that are kept; all others are converted to the first."""
    # scikit-learn does not recognise float32 in polars, nullable or byte-swapped columns.
    kinds = {str(dtype) for dtype in getattr(X, "dtypes", ())} if column_names(X) else set()
    foreign = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.dtype.itemsize == 4
    if foreign or (kinds and kinds <= {"Float32", "float32"}):
        return [np.float32]
    return [np.float64, np.float32]
