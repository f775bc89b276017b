"""The rows that would have a new feature."""

import numpy as np

from hardbayes.kernels.features.joins import join


def test_rows_join_where_their_residual_falls(data):
    candidate = data.residuals[:1].copy()
    gains, joined = np.empty(data.n), np.empty(data.n, np.uint8)
    total = np.ones(data.d)
    weight = join(
        data.rows, data.weights, data.A, data.origin, data.Z, candidate,
        float(candidate[0] @ candidate[0]), gains, joined, total, data.members, data.residual,
    )  # fmt: skip
    after = ((data.residuals - candidate) ** 2).sum(axis=1)
    expected = (data.residuals**2).sum(axis=1) - after
    np.testing.assert_allclose(gains, expected, atol=1e-12)
    np.testing.assert_array_equal(joined, expected > 0)
    assert joined[0]
    assert weight == data.weights @ joined
    np.testing.assert_allclose(total, 1.0 + (data.weights * joined) @ data.residuals)
