"""The rows of a report: what the model sees, what people read, and how rows are called."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from hardbayes.estimators.summaries import numeric_table


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
