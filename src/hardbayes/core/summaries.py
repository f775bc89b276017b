"""What sets clusters apart: sizes, spreads, and the columns in which they differ from all rows."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hardbayes.core.arrays import Floats

_CELLS = 1 << 22  # of a table that are converted at once


class Moments(NamedTuple):
    """Weight, mean and variance of each column (d,); missing values do not count."""

    weights: Floats
    means: Floats
    variances: Floats


class Profile(NamedTuple):
    """A cluster, and the columns (m,) in which it differs most from all rows."""

    cluster: int
    size: float  # number of rows, or their weight
    share: float
    spread: float  # root mean square distance of its rows from their mean
    columns: NDArray[np.intp]  # those that differ most first
    means: Floats  # in the units of the columns
    differences: Floats  # to the mean of all rows, in standard deviations of all rows


def moments(values: Any, rows: NDArray[np.intp] | slice, weights: Floats | None) -> Moments:
    """Return the moments of these rows of a table (n, d), dense or sparse."""
    own = None if weights is None else weights[rows]
    if issparse(values):
        return _sparse_moments(values[rows], own)
    d = values.shape[1]
    found = Moments(np.zeros(d), np.zeros(d), np.zeros(d))
    numbers = np.arange(values.shape[0])[rows]
    step = max(1, _CELLS // max(1, d))
    for begin in range(0, len(numbers), step):
        part = slice(begin, begin + step)
        block = np.asarray(values[numbers[part]], np.float64)
        found = _united(found, _dense_moments(block, None if own is None else own[part]))
    return found


def profiles(
    values: Any,
    labels: NDArray[np.int32],
    n_clusters: int,
    *,
    rows: Any = None,
    weights: Floats | None = None,
    n_columns: int = 8,
) -> Iterator[Profile]:
    """Return the profile of each cluster, one by one: there is no array of clusters x columns.

    Parameters
    ----------
    values : array or sparse matrix (n, d)
        Rows in the units of the user.
    labels : array (n,)
        Their clusters.
    n_clusters : int
        Number of clusters.
    rows : array or sparse matrix (n, d') or None
        What the model sees, for the spreads; None: `values`.
    weights : array (n,) or None
        Weights of the rows.
    n_columns : int
        How many columns of each cluster.
    """
    every = moments(values, slice(None), weights)
    deviations = np.sqrt(every.variances)
    varies = deviations > 1e-12 * np.abs(every.means)  # rounding of a constant is no deviation
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    total = len(labels) if weights is None else float(weights.sum())
    for cluster in range(n_clusters):
        members = order[ends[cluster] : ends[cluster + 1]]
        size = len(members) if weights is None else float(weights[members].sum())
        own = moments(values, members, weights)
        seen = own if rows is None else moments(rows, members, weights)
        differences = np.zeros(len(deviations))
        known = varies & (own.weights > 0)
        np.divide(own.means - every.means, deviations, out=differences, where=known)
        columns = _largest(np.abs(differences), n_columns)
        yield Profile(
            cluster, size, size / total, float(np.sqrt(seen.variances.sum())),
            columns, own.means[columns], differences[columns],
        )  # fmt: skip


def table_of_profiles(found: list[Profile], names: Sequence[str]) -> dict[str, Any]:
    """Return profiles as columns of a table, one row for each cluster."""
    return {
        "cluster": np.array([each.cluster for each in found], np.int64),
        "size": np.array([each.size for each in found]),
        "share": np.array([each.share for each in found]),
        "spread": np.array([each.spread for each in found]),
        "high": np.array([_describe(each, names, 1) for each in found], dtype=object),
        "low": np.array([_describe(each, names, -1) for each in found], dtype=object),
    }


def as_configured(table: dict[str, Any], estimator: Any) -> Any:
    """Return a dict of columns as the frame that ``set_output`` names; by default as it is."""
    from sklearn.utils._set_output import _get_output_config  # not for the command's --help

    kind = _get_output_config("transform", estimator)["dense"]
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(table)
    if kind == "polars":
        import polars as pl

        return pl.DataFrame({name: column.tolist() for name, column in table.items()})
    return table


def numeric_table(values: Any, names: Sequence[str] | None = None) -> tuple[Any, list[str]]:
    """Return the columns of a table that are numbers, as a matrix (n, d), and their names.

    ``names``: of the columns of what is no data frame; None numbers them.
    """
    if hasattr(values, "columns") and not issparse(values):
        columns = {str(name): np.asarray(values[name]) for name in values.columns}
        columns = {name: column for name, column in columns.items() if column.dtype.kind in "biuf"}
        if not columns:
            raise ValueError("The table has no column of numbers. Encode text as numbers first.")
        return np.column_stack(list(columns.values())), list(columns)
    matrix = values.tocsr() if issparse(values) else np.asarray(values)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError("The 'values' must be a table of numbers, of rows and columns.")
    if names is None or len(names) != matrix.shape[1]:
        names = [f"column {number}" for number in range(matrix.shape[1])]
    return matrix, [str(name) for name in names]


def _describe(profile: Profile, names: Sequence[str], sign: int) -> str:
    """Return the columns in which a cluster is high (+1) or low (-1), in words."""
    each = zip(profile.columns, profile.means, profile.differences, strict=True)
    return ", ".join(
        f"{names[column]} {mean:.4g} ({difference:+.1f})"
        for column, mean, difference in each
        if sign * difference > 0
    )


def _largest(sizes: Floats, number: int) -> NDArray[np.intp]:
    """Return the places of the largest numbers that are not zero, the largest first."""
    number = max(number, 0)
    if 0 < number < len(sizes):  # the rest is not sorted: there may be a million columns
        least = np.partition(sizes, -number)[-number]
        places = np.flatnonzero(sizes >= max(least, 0.0))
    else:
        places = np.arange(len(sizes))
    places = places[np.argsort(-sizes[places], kind="stable")][:number]
    return places[sizes[places] > 0]


def _dense_moments(block: Floats, weights: Floats | None) -> Moments:
    known = np.isfinite(block)
    parts = known.astype(np.float64) if weights is None else known * weights[:, np.newaxis]
    total = parts.sum(axis=0)
    counted = np.maximum(total, np.finfo(float).tiny)
    block = np.where(known, block, 0.0)
    means = (parts * block).sum(axis=0) / counted
    variances = (parts * np.square(block - means)).sum(axis=0) / counted
    return Moments(total, means, variances)


def _sparse_moments(block: Any, weights: Floats | None) -> Moments:
    weights = np.ones(block.shape[0]) if weights is None else weights
    total = max(float(weights.sum()), np.finfo(float).tiny)
    block = block.astype(np.float64)
    means = np.asarray(weights @ block).ravel() / total
    squares = np.asarray(weights @ block.multiply(block)).ravel() / total
    variances = np.maximum(squares - np.square(means), 0.0)
    return Moments(np.full(len(means), total), means, variances)


def _united(first: Moments, second: Moments) -> Moments:
    """Return the moments of two sets of rows together."""
    total = first.weights + second.weights
    share = second.weights / np.maximum(total, np.finfo(float).tiny)
    gap = second.means - first.means
    within = (1.0 - share) * first.variances + share * second.variances
    between = share * (1.0 - share) * np.square(gap)
    return Moments(total, first.means + share * gap, within + between)
