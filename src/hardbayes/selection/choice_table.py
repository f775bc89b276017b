"""The table of candidates that estimators show as ``penalty_choice_``: a dict of arrays.

``pandas.DataFrame(model.penalty_choice_)`` prints it. In a file it is one array.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hardbayes.matrices import Floats

#: One array for each column, one entry for each candidate.
Table = dict[str, Any]
Columns = dict[str, type]  # names of the columns, and the types of their entries


def table_of(rows: Iterable[tuple[Any, ...]], columns: Columns) -> Table:
    """Return the table of candidates, each a tuple with a number for each column."""
    numbers = np.array(list(rows), np.float64)
    return table_from(numbers.reshape(-1, len(columns)), columns)


def table_from(numbers: Any, columns: Columns) -> Table:
    """Return the table of an array (candidates, columns) from a file."""
    if not (
        isinstance(numbers, np.ndarray)
        and numbers.dtype == np.float64
        and numbers.ndim == 2
        and numbers.shape[1] == len(columns)
    ):
        raise ValueError("The saved model contradicts itself: 'penalty_choice_' is malformed.")
    return {name: numbers[:, at].astype(dtype) for at, (name, dtype) in enumerate(columns.items())}


def numbers_of(table: Table) -> Floats:
    """Return a table as an array (candidates, columns) for a file."""
    return np.column_stack(list(table.values())).astype(np.float64)
