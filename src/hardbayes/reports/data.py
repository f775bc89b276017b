"""The rows of a report, what they and their columns are called, the typical and the doubtful."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from hardbayes.core.html import tag
from hardbayes.core.summaries import numeric_table
from hardbayes.reports.pieces import Section, mark, section, short, table

N_TYPICAL = 24  # of all clusters, but three of each at most, and one at least
N_DOUBTFUL = 12
IN_DOUBT = 1.5  # ratio of distances: a row that is farther from the next cluster is in no doubt
_CELLS = 1 << 21  # distances that are held at once


@dataclass(frozen=True)
class Given:
    """The model and what was passed with it."""

    model: Any  # the estimator; of a pipeline, its last step
    X: Any  # what the estimator sees
    title: str | None = None
    values: Any = None
    feature_names: Sequence[str] | None = None
    row_names: Sequence[Any] | None = None
    groups: Any = None
    sample_weight: Any = None
    image_shape: tuple[int, int] | None = None
    penalty_path: Any = True
    certainty: Any = True
    in_pipeline: bool = False


@dataclass(frozen=True)
class Data:
    """Rows, and their names."""

    rows: Any  # (n, d), dense or sparse, as the model sees them
    values: Any  # (n, v), the same in the units of the user
    columns: list[str]  # names of the columns of `values`
    scaled: bool  # whether `values` are other numbers than `rows`
    row_names: list[str] | None
    weights: NDArray[np.float64] | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    def units(self) -> NDArray[np.float64]:
        """Return what one in a column of `rows` is in that of `values`: ones where they agree.

        ValueError where values are no multiples of the rows, column by column, up to a shift.
        """
        if not self.scaled:
            return np.ones(self.rows.shape[1])
        some = slice(None, None, -(-self.n // 1024))
        rows, values = (
            np.asarray(each[some].toarray() if issparse(each) else each[some], np.float64)
            for each in (self.rows, self.values)
        )
        if rows.shape != values.shape:
            raise ValueError(f"'values' has {values.shape[1]} columns, but X has {rows.shape[1]}.")
        rows, values = rows - rows.mean(axis=0), values - values.mean(axis=0)
        squares = (rows**2).sum(axis=0)
        units = (rows * values).sum(axis=0) / np.where(squares > 0, squares, 1.0)
        if not np.allclose(rows * units, values, atol=1e-6 * np.abs(values).max(initial=0.0)):
            raise ValueError(
                "'values' are not the columns of X in other units, so features cannot be told in "
                "them. Leave 'values' out."
            )
        return np.where(squares > 0, units, 1.0)

    def name(self, row: int) -> str:
        """Return what a row is called: its name, or its number from zero on."""
        return str(row) if self.row_names is None else self.row_names[row]


def estimator_and_rows(model: Any, X: Any) -> tuple[Any, Any, Any, list[str] | None]:
    """Return the estimator of a model, what it sees of X, and the values and names of columns.

    For a pipeline, values are those columns of X that are numbers; None where there are none.
    """
    if not hasattr(model, "steps"):
        return model, X, None, None
    rows = model[:-1].transform(X) if len(model) > 1 else X
    try:
        names = [str(name) for name in model[:-1].get_feature_names_out()]
    except (AttributeError, ValueError):
        names = None
    try:
        values, columns = numeric_table(X, getattr(model, "feature_names_in_", None))
    except ValueError:  # texts, for example, of which the steps make numbers
        return model[-1], rows, None, names
    return model[-1], rows, values, columns


def nameless(model: Any) -> Any:
    """Return a copy that takes rows without the names of their columns, as a report holds them."""
    plain = copy(model)
    vars(plain).pop("feature_names_in_", None)
    return plain


def data_of(given: Given) -> Data:
    """Return the rows of a report on a partition or on features."""
    rows = check_array(given.X, accept_sparse="csr", dtype=[np.float64, np.float32])
    values = rows if given.values is None else given.values
    names = given.feature_names
    if names is not None and len(names) != np.shape(values)[1]:
        raise ValueError(
            f"'feature_names' has {len(names)} names, but there are {np.shape(values)[1]} columns."
        )
    if names is None and given.values is None:
        names = getattr(given.X, "columns", getattr(given.model, "feature_names_in_", None))
    values, columns = numeric_table(values, names)
    n = rows.shape[0]
    if values.shape[0] != n:
        raise ValueError(f"'values' has {values.shape[0]} rows, but X has {n}.")
    weights = given.sample_weight
    if weights is not None:
        weights = check_array(weights, ensure_2d=False, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError(f"'sample_weight' must have {n} numbers, one for each row.")
    return Data(
        rows, values, columns, given.values is not None, checked_names(given.row_names, n), weights
    )


def names_in(X: Any) -> list[Any] | None:
    """Return the names of the rows of a pandas data frame, where it has other than numbers."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or list(index[:2]) == list(range(min(len(index), 2))):
        return None
    return list(index)


def checked_names(names: Sequence[Any] | None, n: int) -> list[str] | None:
    """Return the names of n rows as texts."""
    if names is None:
        return None
    found = [str(name) for name in names]
    if len(found) != n:
        raise ValueError(f"'row_names' has {len(found)} names, but X has {n} rows.")
    return found


def row_of(values: Any, row: int) -> NDArray[np.float64]:
    """Return one row of a table (n, d), dense."""
    own = values[[row]].toarray() if issparse(values) else values[[row]]
    return np.asarray(own, np.float64).ravel()


NO_DOUBT = f"No row is in doubt: all lie at least {IN_DOUBT:g} times as far from any other cluster."


class Doubtful(NamedTuple):
    """A row, its cluster and the next one."""

    row: int
    cluster: int
    other: int
    ratio: float  # of its distance from the other cluster to that from its own


class Rows(NamedTuple):
    """Rows worth looking at."""

    typical: dict[int, list[int]]  # the rows nearest to the centre of each cluster
    doubtful: list[Doubtful]  # the nearest to another cluster first


def rows_of(model: Any, X: Any, labels: NDArray[np.int32], shown: list[int]) -> Rows | None:
    """Return the rows of these clusters; None for a model that tells no distances."""
    if not hasattr(model, "transform"):
        return None
    k = int(model.n_clusters_)
    n = X.shape[0]
    own, other = np.empty(n), np.full(n, np.inf)
    second = np.full(n, -1)
    step = max(1, _CELLS // k)
    for begin in range(0, n, step):
        part = slice(begin, min(begin + step, n))
        distances = np.array(model.transform(X[part]), np.float64)
        places = np.arange(len(distances)), labels[part]
        own[part] = distances[places]
        if k > 1:
            distances[places] = np.inf
            second[part] = distances.argmin(axis=1)
            other[part] = distances.min(axis=1)
    order = np.lexsort((own, labels))
    begins = np.searchsorted(labels[order], np.arange(k + 1))
    number = min(3, max(1, N_TYPICAL // len(shown)))
    typical = {each: order[begins[each] : begins[each + 1]][:number].tolist() for each in shown}
    if k == 1:
        return Rows(typical, [])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(own > 0, other / own, np.inf)
    first = np.argsort(ratios, kind="stable")[:N_DOUBTFUL]
    doubtful = [
        Doubtful(int(row), int(labels[row]), int(second[row]), float(ratios[row]))
        for row in first
        if ratios[row] < IN_DOUBT
    ]
    return Rows(typical, doubtful)


def rows_section(found: Rows, data: Data, telling: list[int]) -> Section:
    """Return two tables of rows, with the columns that tell clusters apart."""
    named = "row" if data.row_names is None else "name"
    columns = [data.columns[column] for column in telling]
    typical = [
        (mark(cluster), data.name(row), *_values(data, row, telling))
        for cluster, rows in found.typical.items()
        for row in rows
    ]
    doubtful = [
        (data.name(each.row), mark(each.cluster), mark(each.other), f"{each.ratio:.2f}",
         *_values(data, each.row, telling))
        for each in found.doubtful
    ]  # fmt: skip
    numbers = "" if data.row_names is not None else " Rows are numbered from 0."
    return section(
        "rows",
        "Typical and doubtful rows",
        tag(
            "p",
            "Typical rows lie nearest to the centre of their cluster. Doubtful rows lie almost as "
            "near to another one: at a ratio of distances of 1 they are as far from both."
            + numbers,
        ),
        tag(
            "div",
            table(
                "The most typical rows of each cluster", ("cluster", named, *columns), typical, 2
            ),
            table(
                "The most doubtful rows", (named, "cluster", "next", "ratio", *columns), doubtful, 3
            )
            if doubtful
            else tag("p", NO_DOUBT)
            if len(found.typical) > 1
            else None,
            class_="tables",
        ),
    )


def _values(data: Data, row: int, columns: Sequence[int]) -> list[str]:
    values = row_of(data.values, row)
    return [short(float(values[column])) for column in columns]
