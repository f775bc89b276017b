"""Candidates for a new feature against the same alternation in NumPy."""

import numpy as np

from hardbayes.kernels.features.candidates import MOST_ROUNDS, grow


def test_candidates_are_mean_residuals_of_the_rows_they_help(data):
    seeds = np.array([0, data.n // 2, data.n - 1])
    candidates, gains = np.empty((3, data.d)), np.empty(3)
    residuals = np.empty((data.n, data.d))
    grow(
        data.rows, data.weights, data.A, data.origin, data.Z, seeds, candidates, gains, residuals,
        np.empty(data.n, np.uint8), np.empty((1, data.d)), data.members,
    )  # fmt: skip
    np.testing.assert_allclose(residuals, data.residuals, atol=1e-12)
    for seed, found, gain in zip(seeds, candidates, gains, strict=True):
        candidate = data.residuals[seed]
        joined = None
        for _ in range(MOST_ROUNDS):
            helped = 2.0 * data.residuals @ candidate - candidate @ candidate
            weights, expected = data.weights * (helped > 0), data.weights @ np.maximum(helped, 0)
            if (joined is not None and (joined == (helped > 0)).all()) or not weights.any():
                break
            joined, candidate = helped > 0, weights @ data.residuals / weights.sum()
        np.testing.assert_allclose(found, candidate, atol=1e-12)
        np.testing.assert_allclose(gain, expected)
