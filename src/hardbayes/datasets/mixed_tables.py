"""A table of customers: numbers, amounts, grades, yes and no, countries and missing cells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hardbayes.datasets._checks import check_counts, draw_labels

_AGES = np.array([28.0, 45.0, 60.0, 38.0])
_LOG_INCOMES = np.array([10.0, 10.8, 10.2, 11.0])
_VISITS = np.array([12.0, 3.0, 5.0, 8.0])
_COUNTRIES = np.array(["DE", "FR", "UK", "US"], dtype=object)
_COUNTRY_SHARES = np.array([[0.6, 0.2, 0.1, 0.1]] * 2 + [[0.1, 0.2, 0.3, 0.4]] * 2)
_NEWSLETTER = np.array([0.8, 0.2, 0.5, 0.3])
_NOTHING_SPENT = np.array([0.2, 0.7, 0.6, 0.3])
_STARS = np.array([4.0, 3.0, 2.0, 4.0])


def make_customers(
    n_samples: int = 1000,
    *,
    missing: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int32]]:
    """Draw customers in four segments that overlap, with columns of all kinds.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows, at least 4. The sizes of the segments differ by one row at most.
    missing : float, default=0.0
        Share of the cells that are missing, from 0 to 0.9.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    columns : dict of str to ndarray
        Columns for a data frame: "age", "income" (in hundreds), "visits" (counts), "country"
        (text), "newsletter" ("yes" or "no"), "spent" (mostly zero), "stars" (1 to 5).
    y : ndarray of shape (n_samples,), dtype int32
        The segment of each row.

    Examples
    --------
    >>> from hardbayes.datasets import make_customers
    >>> columns, y = make_customers(random_state=0)
    >>> sorted(columns)
    ['age', 'country', 'income', 'newsletter', 'spent', 'stars', 'visits']
    """
    check_counts("make_customers", 4, n_samples=n_samples)
    if not 0 <= missing <= 0.9:
        raise ValueError(
            "The 'missing' parameter of make_customers must be from 0 to 0.9. "
            f"Got {missing!r} instead."
        )
    rng = check_random_state(random_state)
    y = draw_labels(rng, n_samples, 4)
    heaps = np.cumsum(_COUNTRY_SHARES, axis=1)[y]
    countries = (rng.random_sample((n_samples, 1)) > heaps).sum(axis=1).clip(0, 3)
    buys = rng.random_sample(n_samples) >= _NOTHING_SPENT[y]
    columns: dict[str, NDArray[Any]] = {
        "age": rng.normal(_AGES[y], 7.0).round(1),
        "income": np.exp(rng.normal(_LOG_INCOMES[y], 0.3)).round(-2),
        "visits": rng.poisson(_VISITS[y]),
        "country": _COUNTRIES[countries],
        "newsletter": np.where(rng.random_sample(n_samples) < _NEWSLETTER[y], "yes", "no"),
        "spent": np.where(buys, np.exp(rng.normal(3.0 + 0.5 * (y == 3), 1.0)), 0.0).round(2),
        "stars": rng.normal(_STARS[y], 0.9).round().clip(1, 5),
    }
    columns["newsletter"] = columns["newsletter"].astype(object)
    if missing:
        for name, column in columns.items():
            hole = rng.random_sample(n_samples) < missing
            is_text = column.dtype == object
            kept = column if is_text else column.astype(np.float64)
            kept = kept.copy()
            kept[hole] = None if is_text else np.nan
            columns[name] = kept
    return columns, y
