"""Posteriors of tiny inputs by enumeration of all partitions, with formulas of their own."""

import numpy as np
from scipy.special import betaln, gammaln
from scipy.stats import multivariate_normal, multivariate_t


def partitions(n):
    """All partitions of n rows, as labels in the order of first rows."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*p, k) for p in found for k in range(max(p) + 2)]
    return np.array(found)


def log_marginal(family, X, sigma=1.0, rho=1.0, mean=0.0, strength=1.0):
    """The log marginal likelihood of the rows of one cluster, up to constants of single rows."""
    n, d = X.shape
    mean = np.broadcast_to(mean, d)
    if family == "gaussian":
        covariance = sigma * np.eye(n) + rho
        return sum(
            multivariate_normal.logpdf(X[:, j], np.full(n, mean[j]), covariance) for j in range(d)
        )
    S = X.sum(axis=0)
    if family == "multinomial":
        a = strength * mean / mean.sum()
        return gammaln(a.sum()) - gammaln(a.sum() + S.sum()) + (gammaln(a + S) - gammaln(a)).sum()
    if family == "poisson":
        a, b = strength, strength / mean
        return (gammaln(a + S) - gammaln(a) + a * np.log(b) - (a + S) * np.log(b + n)).sum()
    a, b = strength * mean, strength * (1 - mean)
    return (betaln(a + S, b + n - S) - betaln(a, b)).sum()


def log_wishart(X, psi, kappa, nu, mean):
    """The log marginal likelihood under a normal-inverse-Wishart prior, row after row."""
    total, d = 0.0, X.shape[1]
    for x in X:
        shape = psi * (kappa + 1) / (kappa * (nu - d + 1))
        total += multivariate_t.logpdf(x, mean, shape, nu - d + 1)
        psi = psi + kappa / (kappa + 1) * np.outer(x - mean, x - mean)
        mean = (kappa * mean + x) / (kappa + 1)
        kappa, nu = kappa + 1, nu + 1
    return total


def posterior(marginal, X, alpha):
    """All partitions of the rows and their probabilities."""
    every = partitions(len(X))
    known = {}

    def of(members):
        if members not in known:
            known[members] = marginal(X[list(members)])
        return known[members]

    logs = []
    for labels in every:
        blocks = [tuple(np.flatnonzero(labels == k)) for k in range(labels.max() + 1)]
        logs.append(sum(np.log(alpha) + gammaln(len(b)) + of(b) for b in blocks))
    weights = np.exp(np.array(logs) - max(logs))
    return every, weights / weights.sum()


def distance(draws, every, probabilities):
    """The total variation between the shares of drawn partitions (s, n) and their probabilities."""
    base = draws.shape[1] ** np.arange(draws.shape[1])
    codes = every @ base
    order = np.argsort(codes)
    counts = np.bincount(
        np.searchsorted(codes[order], draws.astype(int) @ base), minlength=len(codes)
    )
    return 0.5 * np.abs(counts / len(draws) - probabilities[order]).sum()
