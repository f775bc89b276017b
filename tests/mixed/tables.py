"""Tables that the tests of mixed tables share."""

import numpy as np
import pandas as pd

from hardbayes.datasets import make_customers
from hardbayes.mixed.clusters import Rows

KINDS = {
    "age": "number", "income": "count", "visits": "count", "country": "category",
    "newsletter": "yes/no", "spent": "number", "stars": "ordered",
}  # fmt: skip


def customers(n=240, missing=0.0, seed=0):
    """A frame of customers, and their segments."""
    columns, y = make_customers(n, missing=missing, random_state=seed)
    return pd.DataFrame(columns), y


def drawn_rows(seed, n=60, p=3, sizes=(2, 4), holes=0.0, k=3, weights=None):
    """Coded rows around k middles, and labels."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    numbers = 2.0 * rng.standard_normal((k, p))[labels] + rng.standard_normal((n, p))
    levels = np.column_stack(
        [np.where(rng.random(n) < 0.5, labels % size, rng.integers(0, size, n)) for size in sizes]
        or [np.zeros((n, 0))]
    ).astype(np.int64)
    numbers[rng.random((n, p)) < holes] = np.nan
    levels[rng.random(levels.shape) < holes] = -1
    given = np.ones(n) if weights is None else weights
    floors = np.array([1e-3, 0.1, 0.02, 0.3, 0.05])[:p]
    return Rows(numbers, levels, given, floors, np.array(sizes, np.int64)), labels
