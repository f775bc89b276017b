"""The sampler of the Indian buffet process, against enumeration and its prior."""

from collections import Counter
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
import pytest
from scipy.stats import multivariate_normal, poisson

from hardbayes.samplers import IBPGibbs
from hardbayes.samplers.chains import streams
from hardbayes.samplers.features import FeatureChain

X = np.array([[1.2, 0.3], [0.9, -0.4], [2.2, 0.5]])
FIXED = np.zeros((3, 2))
MOST = 5


def chain_of(X, alpha, sigma, rho, n_sweeps, start=None, priors=FIXED, seed=0):
    numbers = np.array([np.log(alpha), sigma, rho])
    start = np.ones((len(X), 1), np.uint8) if start is None else start
    stream = streams(np.random.RandomState(seed), 1)[0]
    return FeatureChain(X, priors, numbers, start, stream, n_sweeps)


def code(Z):
    """The class of a matrix of memberships: its columns as numbers, in order."""
    return tuple(sorted((2 ** np.arange(len(Z)) @ Z).tolist()))


def classes(X, alpha, sigma, rho):
    """The probability of each class of at most MOST features, but for a factor."""
    n = len(X)
    found = {}
    for size in range(MOST + 1):
        for columns in combinations_with_replacement(range(1, 2**n), size):
            Z = np.array([[c >> i & 1 for c in columns] for i in range(n)]).reshape(n, size)
            log = size * np.log(alpha)
            for column, count in Counter(columns).items():
                m = column.bit_count()
                each = factorial(n - m) * factorial(m - 1) / factorial(n)
                log += count * np.log(each) - np.log(factorial(count))
            covariance = sigma * np.eye(n) + rho * Z @ Z.T
            log += multivariate_normal.logpdf(X.T, np.zeros(n), covariance).sum()
            found[columns] = np.exp(log)
    return found


@pytest.mark.parametrize("start", [np.ones((3, 1)), np.zeros((3, 0)), np.eye(3), np.ones((3, 4))])
def test_draws_have_the_exact_distribution_over_classes(start):
    alpha, sigma, rho = 0.8, 0.4, 1.1
    exact = classes(X, alpha, sigma, rho)
    chain = chain_of(X, alpha, sigma, rho, 100_000, start.astype(np.uint8))
    drawn = Counter(code(chain.membership) for _ in range(100_000) for _ in chain.sweeps(1))
    within = {key: count for key, count in drawn.items() if len(key) <= MOST}
    # Given at most MOST features; that more are rare is checked beside it.
    assert sum(within.values()) > 0.99 * 100_000
    total, mass = sum(within.values()), sum(exact.values())
    gaps = (abs(within.get(key, 0) / total - value / mass) for key, value in exact.items())
    assert 0.5 * sum(gaps) < 0.02


def test_number_of_features_of_the_prior():
    chain = chain_of(np.zeros((5, 1)), 1.5, 1e9, 1e-9, 30_000)
    for _ in chain.sweeps(30_000):
        pass
    sizes = chain.record[1000:, 0].astype(int)
    expected = poisson(1.5 * sum(1 / (i + 1) for i in range(5)))
    shares = np.bincount(sizes, minlength=20)[:20] / len(sizes)
    assert 0.5 * np.abs(shares - expected.pmf(np.arange(20))).sum() < 0.03


def test_log_posterior_is_that_of_the_class():
    priors, n = FIXED, 3
    chain = chain_of(X, 0.8, 0.4, 1.1, 30, priors=priors)
    exact = classes(X, 0.8, 0.4, 1.1)
    harmonic = sum(0.8 / (i + 1) for i in range(n))
    for sweep in range(30):
        for _ in chain.sweeps(1):
            pass
        key = code(chain.membership)
        if len(key) <= MOST:
            np.testing.assert_allclose(
                chain.record[sweep, 1], np.log(exact[key]) - harmonic, rtol=1e-9
            )


def test_joint_distribution_of_parameters_and_rows():
    """Geweke's test: draws of the prior against sweeps between which rows are drawn anew."""
    n, d, n_draws = 6, 2, 8_000
    priors = np.array([[2.0, 2.0], [4.0, 3.0], [4.0, 3.0]])
    rng = np.random.default_rng(0)

    def functions(Z, alpha, sigma, rho, rows):
        size, both = Z.shape[1], Z[:2].prod(axis=0).sum()
        logs = np.log([sigma, rho, (rows**2).sum()])
        return size, size**2, alpha, Z.sum(), both, *logs

    def rows_of(Z, sigma, rho):
        A = rng.normal(0.0, np.sqrt(rho), (Z.shape[1], d))
        return Z @ A + rng.normal(0.0, np.sqrt(sigma), (n, d))

    def prior_membership(alpha):
        Z = np.zeros((n, 0), int)
        for i in range(n):
            Z[i] = rng.random(Z.shape[1]) < Z[:i].sum(axis=0) / (i + 1)
            new = np.zeros((n, rng.poisson(alpha / (i + 1))), int)
            new[i] = 1
            Z = np.hstack([Z, new])
        return Z

    independent = []
    for _ in range(n_draws):
        alpha = rng.gamma(2.0, 0.5)
        sigma, rho = 3.0 / rng.gamma(4.0, size=2)
        Z = prior_membership(alpha)
        independent.append(functions(Z, alpha, sigma, rho, rows_of(Z, sigma, rho)))
    start = prior_membership(1.0).astype(np.uint8)
    chain = chain_of(rng.normal(size=(n, d)), 1.0, 1.0, 1.0, 3 * n_draws, start, priors)
    successive = []
    for _ in range(3 * n_draws):
        for _ in chain.sweeps(1):
            pass
        log_alpha, sigma, rho = chain.numbers
        chain.rows[:] = rows_of(chain.membership, sigma, rho)
        successive.append(functions(chain.membership, np.exp(log_alpha), sigma, rho, chain.rows))
    assert np.abs(z_scores(np.array(independent), np.array(successive))).max() < 4


def z_scores(independent, successive, n_batches=40):
    batches = np.array([part.mean(axis=0) for part in np.array_split(successive, n_batches)])
    variance = batches.var(axis=0, ddof=1) / n_batches
    variance = variance + independent.var(axis=0, ddof=1) / len(independent)
    return (independent.mean(axis=0) - successive.mean(axis=0)) / np.sqrt(variance)


def test_planted_features_are_found():
    rng = np.random.default_rng(0)
    Z = rng.random((60, 2)) < 0.5
    A = np.array([[4.0, 4.0, 0.0], [0.0, 1.0, 3.0]])
    rows = Z @ A + 0.1 * rng.normal(size=(60, 3))
    sampler = IBPGibbs(n_sweeps=200, n_burn_in=50, random_state=0).fit(rows)
    assert sampler.n_components_ == 2
    order = np.argsort(sampler.components_[:, 2])
    np.testing.assert_allclose(sampler.components_[order], A, atol=0.2)
    np.testing.assert_array_equal(sampler.membership_[:, order], Z)
    assert sampler.n_components_draws_.shape == (4, 200)
    other = IBPGibbs(n_sweeps=200, n_burn_in=50, random_state=0, n_jobs=1).fit(rows)
    np.testing.assert_array_equal(sampler.log_posterior_draws_, other.log_posterior_draws_)
