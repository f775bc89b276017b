"""Small data for kernels: rows as the executor passes them, and features near them."""

from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture(params=[(40, 5, 3), (23, 9, 4), (17, 1, 2)], ids=str)
def data(request):
    n, d, k = request.param
    rng = np.random.default_rng(n)
    A, origin = rng.standard_normal((k, d)), rng.standard_normal((1, d))
    Z = (rng.random((n, k)) < 0.5).astype(np.uint8)
    rows = (rng.random((n, k)) < 0.5) @ A - origin + 0.4 * rng.standard_normal((n, d))
    rows.flags.writeable = False
    residuals = rows - (Z @ A - origin)
    weights = rng.integers(0, 4, n).astype(float)
    return SimpleNamespace(
        n=n, d=d, k=k, A=A, origin=origin, Z=Z, rows=rows, residuals=residuals, weights=weights,
        members=np.empty(k + 1, np.int64), residual=np.empty((1, d)),
    )  # fmt: skip
