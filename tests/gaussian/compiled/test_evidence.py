"""Marginal likelihoods against SciPy's distributions and integrals."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import gammaln
from scipy.stats import invgamma, multivariate_t, norm

from hardbayes.gaussian.compiled import statistics as kernels
from tests.gaussian.test_gaussians import gaussians

NONE = np.full(1, -1)


def found(clusters, lefts, rights, middle, prior_rows, prior=None, floor=0.0):
    h, d = clusters.scatters.shape[1:]
    out = np.empty(len(lefts))
    given = (np.ones((1, h, d)) if prior is None else prior, prior is not None)
    floors, scratch = np.full(d, floor), np.zeros((5, h, d))
    args = (np.array(lefts), np.array(rights), middle, floors, *given, np.array(prior_rows))
    kernels.evidence(*clusters, *args, out, scratch, 0, len(out))
    return out


def predicted(rows, middle, prior, prior_rows):
    """Log marginal likelihood of rows, one after the other, by their predictive distributions."""
    d = rows.shape[1]
    mean_rows, freedom = kernels.MEAN_ROWS, d + 1.0 + prior_rows
    mean, matrix, total = middle.copy(), prior_rows * prior, 0.0
    for row in rows:
        shape = matrix * (mean_rows + 1) / (mean_rows * (freedom - d + 1))
        total += multivariate_t.logpdf(row, mean, shape, freedom - d + 1)
        gap = row - mean
        matrix = matrix + mean_rows / (mean_rows + 1) * np.outer(gap, gap)
        mean = mean + gap / (mean_rows + 1)
        mean_rows, freedom = mean_rows + 1, freedom + 1
    return total


@pytest.mark.parametrize("prior_rows", [2.0, 32.0])
def test_the_likelihood_is_the_product_of_predictions(prior_rows):
    rng = np.random.default_rng(0)
    rows, middle = rng.normal(size=(12, 3)) + 1.0, rng.normal(size=3)
    prior = np.diag([1.0, 2.0, 0.5])
    clusters = gaussians(rows, np.zeros(12, int), np.ones(12))
    value = found(clusters, [0], NONE, middle, [prior_rows], prior[np.newaxis])[0]
    share = gammaln(12.5) - gammaln(0.5)
    expected = predicted(rows, middle, prior, prior_rows) + 18 * np.log(np.pi) + share
    np.testing.assert_allclose(value, expected, rtol=1e-9)


def test_the_likelihood_is_the_integral_over_mean_and_variance():
    x = np.random.default_rng(1).normal(size=6)
    clusters = gaussians(x[:, None], np.zeros(6, int), np.ones(6))
    pooled = clusters.scatters[0, 0, 0] / 6
    variance = np.exp(np.linspace(-8.0, 8.0, 800))[:, None]
    mean = x.mean() + np.sqrt(variance) * np.linspace(-8.0, 8.0, 800)
    density = invgamma.pdf(variance, 2.0, scale=pooled)  # 4 rows, matrix 2 pooled
    density = density * norm.pdf(mean, 0.3, np.sqrt(variance / kernels.MEAN_ROWS))
    for each in x:
        density *= norm.pdf(each, mean, np.sqrt(variance))
    inner = trapezoid(density, mean, axis=1)
    expected = np.log(trapezoid(inner, variance[:, 0])) + 3 * np.log(np.pi)
    value = found(clusters, [0], NONE, np.array([0.3]), [2.0])[0]
    np.testing.assert_allclose(value, expected, rtol=1e-3)


def test_pairs_share_their_pooled_covariance_and_the_likeliest_prior():
    rng = np.random.default_rng(2)
    rows, labels = rng.normal(size=(30, 2)), np.arange(30) % 3
    clusters, middle = gaussians(rows, labels, np.ones(30)), np.zeros(2)
    pooled = (clusters.scatters[:2].sum(axis=0) / clusters.weights[:2].sum())[np.newaxis]
    n = clusters.weights[:2].sum()
    each = [
        found(clusters, [0, 1], [-1, -1], middle, [number], pooled).sum() for number in (2.0, 64.0)
    ]
    expected = max(each) + gammaln(1.0) - gammaln(n + 1.0)
    np.testing.assert_allclose(found(clusters, [0], [1], middle, [2.0, 64.0])[0], expected)


def test_diagonal_covariances_are_a_problem_for_each_column():
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(20, 2)), np.zeros(20, int)
    whole = found(gaussians(rows, labels, np.ones(20), True), [0], NONE, np.zeros(2), [8.0])[0]
    columns = [
        found(gaussians(rows[:, [j]], labels, np.ones(20)), [0], NONE, np.zeros(1), [8.0])[0]
        for j in (0, 1)
    ]
    np.testing.assert_allclose(whole, sum(columns))


def test_the_floor_is_a_variance_of_every_row():
    rows, labels = np.zeros((8, 2)), np.zeros(8, int)
    empty = gaussians(rows, labels, np.ones(8))
    full = empty._replace(scatters=8 * 0.25 * np.eye(2)[np.newaxis])
    middle, prior = np.zeros(2), 0.25 * np.eye(2)[np.newaxis]
    values = [
        found(empty, [0], NONE, middle, [2.0], floor=0.25),
        found(full, [0], NONE, middle, [2.0], prior) - gammaln(8.5) + gammaln(0.5),
    ]
    np.testing.assert_allclose(*values)
