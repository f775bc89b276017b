"""Likelihoods of rows in Gaussian clusters against integrals and definitions."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import invgamma, norm

from hardbayes.selection.gaussian_likelihood import likelier, marginal_misfit, misfit
from hardbayes.structure.gaussians import Gaussians
from tests.executors.gaussian.numpy_rows import NumpyGaussianRows
from tests.structure.test_gaussians import gaussians


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def drawn(request):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90, 3)) * [3.0, 1.0, 0.5] + 4.0 * rng.integers(0, 3, (90, 1))
    return rows, rng.integers(0, 3, 90), rng.integers(1, 3, 90).astype(float), request.param


def test_marginal_misfit_is_the_integral_over_mean_and_variance():
    """One column, so that the integral is over two numbers of each cluster."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(9, 1)), np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    rows[labels == 1] += 3.0
    clusters = gaussians(rows, labels, np.ones(9))
    pooled = clusters.scatters.sum() / 9
    logarithm = 0.0
    for c in range(2):
        x = rows[labels == c, 0]
        variance = np.exp(np.linspace(-8.0, 8.0, 800))[:, None]
        mean = x.mean() + np.sqrt(variance) * np.linspace(-8.0, 8.0, 800)
        density = invgamma.pdf(variance, 2.0, scale=pooled)  # 4 rows, matrix 2 pooled
        density = density * norm.pdf(mean, rows.mean(), np.sqrt(variance / 0.01))
        for each in x:
            density *= norm.pdf(each, mean, np.sqrt(variance))
        inner = np.trapezoid(density, mean, axis=1)
        logarithm += np.log(np.trapezoid(inner, variance[:, 0]))
    shares = gammaln([5.5, 4.5]).sum() - 2 * gammaln(0.5)
    shares += gammaln(1.0) - gammaln(10.0)
    expected = -2.0 * (logarithm + shares + 4.5 * np.log(np.pi))
    found = marginal_misfit(clusters, np.zeros((1, 1)))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_marginal_misfit_of_diagonals_is_a_sum_over_columns():
    """Shares of clusters are counted once for each column, so they are taken off."""
    rng = np.random.default_rng(1)
    rows, labels, weights = rng.normal(size=(20, 2)), np.arange(20) % 2, np.ones(20)
    whole = marginal_misfit(gaussians(rows, labels, weights, True), np.zeros((1, 2)))
    columns = [
        marginal_misfit(gaussians(rows[:, [j]], labels, weights), np.zeros((1, 1))) for j in (0, 1)
    ]
    shares = -2 * (2 * gammaln(10.5) - 2 * gammaln(0.5) + gammaln(1.0) - gammaln(21.0))
    np.testing.assert_allclose(whole, sum(columns) - shares, rtol=1e-12)


def test_misfit_is_the_classification_likelihood(drawn):
    """Of many rows: then the pull towards the pooled covariance is next to nothing."""
    rows, labels, weights, diagonal = drawn
    clusters = gaussians(rows, labels, 1e9 * weights, diagonal)
    expected = 0.0
    for size, _, scatter in zip(*clusters, strict=True):
        covariance = (np.diag(scatter[0]) if diagonal else scatter) / size
        share = size / clusters.weights.sum()
        expected += size * (np.linalg.slogdet(covariance)[1] - 2 * np.log(share))
    found = misfit(clusters, np.zeros_like(clusters.scatters[0]))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_likelier_labels_are_likelier(drawn):
    matrix, labels, weights, diagonal = drawn
    rows = NumpyGaussianRows(matrix, weights, diagonal)
    floor = 1e-6 * rows.packed(np.eye(3))[0]
    ends = likelier(rows, labels, floor)
    before, after = (
        misfit(Gaussians(*rows.statistics(each, int(each.max()) + 1)), floor)
        for each in (labels, ends)
    )
    assert after < before
    np.testing.assert_array_equal(likelier(rows, ends, floor), ends)
