"""Random data, weights, penalties and caps, from a generator that a test has seeded."""

import numpy as np

from tests.conftest import make_blobs


def random_rows(rng, n, d):
    kind = rng.integers(4)
    if kind == 0:
        return rng.standard_normal((n, d))
    if kind == 1:
        return make_blobs(n, d, int(rng.integers(1, 12)), seed=int(rng.integers(1 << 30)))[0]
    if kind == 2:
        return rng.gamma(0.4, size=(n, d)) * rng.choice([1e-3, 1.0, 1e4])
    # Duplicate rows: a row drawn twice costs nothing against itself.
    rows = rng.standard_normal((max(3, n // 3), d))
    return rows[rng.integers(0, len(rows), n)] if n > 2 else rows[:n]


def put_zeros(rng, X, share):
    """Set entries to zero, in place; every row keeps one."""
    n, d = X.shape
    X[rng.random(X.shape) < share] = 0.0
    X[np.arange(n), rng.integers(0, d, n)] += 0.1


def random_weights(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        return None
    if kind == 1:
        return rng.uniform(0.1, 3.0, n)
    w = rng.integers(1 if kind == 2 else 0, 4, n).astype(float)
    w[rng.integers(n)] = 2.0
    return w


def between(rng, spread):
    """A penalty between two costs rather than at one, where rounding would decide."""
    if len(spread) == 0 or spread.max() < 1e-12:
        return 0.1
    value = np.quantile(spread, rng.choice([0.02, 0.1, 0.3, 0.6, 0.9, 1.0]))
    return float(max(value, 1e-6 * spread.max()) * rng.uniform(0.3, 1.1))


def random_cap(rng):
    return None if rng.random() < 0.6 else int(rng.integers(1, 12))
