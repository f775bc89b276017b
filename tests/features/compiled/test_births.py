"""Candidates for a new feature, and the rows that would have one, against NumPy."""

import numpy as np

from hardbayes.features.compiled.allocating import MAX_GROWTH_ROUNDS, grow, join


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
        for _ in range(MAX_GROWTH_ROUNDS):
            helped = 2.0 * data.residuals @ candidate - candidate @ candidate
            weights, expected = data.weights * (helped > 0), data.weights @ np.maximum(helped, 0)
            if (joined is not None and (joined == (helped > 0)).all()) or not weights.any():
                break
            joined, candidate = helped > 0, weights @ data.residuals / weights.sum()
        np.testing.assert_allclose(found, candidate, atol=1e-12)
        np.testing.assert_allclose(gain, expected)


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
