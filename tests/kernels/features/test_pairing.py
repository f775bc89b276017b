"""Totals over rows that have two features at once."""

import numpy as np
import pytest

from hardbayes.kernels.features.pairing import pair_totals


@pytest.mark.parametrize("first", [0, 1])
def test_totals_of_rows_with_both_features(data, first):
    m = data.k - 1 - first
    totals, counts = np.zeros((m, data.k, data.d)), np.zeros((m, data.k, data.k))
    pair_totals(
        data.rows, data.weights, data.A, data.origin, data.Z, first, totals, counts, data.members,
        data.residual,
    )  # fmt: skip
    for a in range(m):
        for b in range(data.k):
            both = data.weights * data.Z[:, first + a] * data.Z[:, b] * (b > first + a)
            np.testing.assert_allclose(totals[a, b], both @ data.residuals, atol=1e-12)
            np.testing.assert_allclose(counts[a, b], both @ data.Z)
