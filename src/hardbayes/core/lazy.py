"""Things that hold no rows yet: lazy tables, Dask collections, rows that are read by block."""

from typing import Any


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
