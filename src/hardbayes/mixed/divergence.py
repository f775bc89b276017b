"""The divergence of mixed tables: what columns hold, where that is not to be found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hardbayes.mixed.reading import KINDS


class Mixed:
    """A sum of costs over columns of numbers, grades, yes and no, categories and dates.

    Pass it as ``divergence`` to `DPMeans`; for data frames ``divergence="mixed"`` is ``Mixed()``,
    which finds out what columns hold. See `MixedDPMeans` for the cost.

    Parameters
    ----------
    columns : mapping, sequence of str or None, default=None
        What columns hold, by name or by number from 0 on: "number", "count", "ordered", "date",
        "yes/no", "category" or "ignore". A sequence names the kinds of all columns, None leaving
        one to be found out.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import DPMeans, Mixed
    >>> rng = np.random.RandomState(0)
    >>> group = np.repeat([0, 1], 100)
    >>> X = np.column_stack([
    ...     rng.normal(4.0 * group), rng.normal(4.0 * group), rng.choice(3, 200)
    ... ])
    >>> DPMeans(divergence=Mixed({2: "category"}), random_state=0).fit(X).n_clusters_
    2
    """

    def __init__(self, columns: Mapping[Any, str] | Sequence[str | None] | None = None) -> None:
        if columns is None:
            columns = {}
        if isinstance(columns, str) or not isinstance(columns, Mapping | Sequence):
            raise TypeError(
                "The 'columns' parameter of Mixed must be a mapping of columns to kinds, or a "
                f"sequence of kinds. Got {columns!r} instead."
            )
        if not isinstance(columns, Mapping):
            columns = {at: kind for at, kind in enumerate(columns) if kind is not None}
        for column, kind in columns.items():
            if kind not in KINDS:
                raise ValueError(
                    "The 'columns' parameter of Mixed must give each column one of "
                    f"{', '.join(KINDS)}. Got {kind!r} for column {column!r} instead."
                )
        self.columns = dict(columns)

    def __repr__(self) -> str:
        return f"Mixed({self.columns!r})" if self.columns else "Mixed()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixed) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))
