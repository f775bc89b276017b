"""Coordinates in which a prior matrix is the identity."""

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.gaussian.problem import given_prior, weighted_mean, whitening

MIDDLE = np.array([1.0, -2.0, 5.0])


def priors():
    root = np.random.default_rng(0).normal(size=(3, 3))
    return {"full": root @ root.T + 0.1 * np.eye(3), "diag": np.array([1e-6, 2.0, 1e8])}


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_the_prior_becomes_the_identity_and_back(kind):
    prior = priors()[kind]
    seen = whitening(MIDDLE, prior)
    assert seen.diagonal == (kind == "diag")
    forward = np.diag(seen.forward) if seen.diagonal else seen.forward
    whole = np.diag(prior) if seen.diagonal else prior
    np.testing.assert_allclose(forward.T @ whole @ forward, np.eye(3), atol=1e-12)
    assert not np.tril(forward, -1).any()
    rows = np.random.default_rng(1).normal(size=(7, 3))
    with Pool(1) as pool:
        working = seen.rows(rows, np.ones(7), pool)
    np.testing.assert_allclose(working.rows, (rows - MIDDLE) @ forward, rtol=1e-10)
    np.testing.assert_allclose(seen.from_working(working.rows), rows, rtol=1e-9)
    scatters = working.statistics(np.zeros(7, np.int64), 1)[2]
    gaps = rows - rows.mean(axis=0)
    expected = gaps.T @ gaps
    found = seen.scatters(scatters)[0]
    np.testing.assert_allclose(found, np.diag(expected) if seen.diagonal else expected, rtol=1e-9)
    shape = prior if seen.diagonal else whole
    np.testing.assert_allclose(seen.covariances(scatters, 4.0)[0], (found + shape) / 4.0)


def test_what_has_no_such_coordinates_is_refused():
    with pytest.raises(ValueError, match="positive definite"):
        whitening(MIDDLE[:2], np.array([[1.0, 2.0], [2.0, 1.0]]))
    with Pool(1) as pool, pytest.raises(ValueError, match="do not fit float64"):
        whitening(MIDDLE, np.full(3, 1e-200)).rows(1e50 * np.ones((2, 3)), np.ones(2), pool)


def test_a_given_prior_is_a_number_a_diagonal_or_a_matrix():
    np.testing.assert_array_equal(given_prior(2.0, 2, False), 2 * np.eye(2))
    np.testing.assert_array_equal(given_prior(2.0, 2, True), [2.0, 2.0])
    np.testing.assert_array_equal(given_prior([1.0, 3.0], 2, False), np.diag([1.0, 3.0]))
    np.testing.assert_array_equal(given_prior(np.diag([1.0, 3.0]), 2, True), [1.0, 3.0])
    for wrong in ([1.0], [[1.0, 0.5]], [np.inf, 1.0], [0.0, 1.0], [[1.0, 2.0], [0.0, 1.0]]):
        with pytest.raises(ValueError, match="covariance_prior"):
            given_prior(wrong, 2, False)


def test_the_mean_is_weighted_and_float64():
    rows = np.random.default_rng(2).normal(size=(9, 3)).astype(np.float32)
    weights = np.arange(9.0)
    found = weighted_mean(rows, weights)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.average(rows.astype(float), axis=0, weights=weights))
