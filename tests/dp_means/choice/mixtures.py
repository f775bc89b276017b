"""Rows with a known number of clusters: Gaussians far apart, and clouds of one kind."""

import numpy as np

APART = 12.0  # standard deviations between two centres, at least


def gaussians_apart(k, d=2, n=None, *, seed=0, unequal=False):
    """Rows of k round Gaussians in random order, and whose each is.

    Equal sizes, or sizes that grow eightfold from the smallest cluster to the largest.
    """
    rng = np.random.default_rng(seed)
    n = 30 * k if n is None else n
    shares = np.geomspace(1.0, 8.0, k) if unequal else np.ones(k)
    ends = np.round(n * np.cumsum(shares) / shares.sum()).astype(int)
    member = rng.permutation(np.repeat(np.arange(k), np.diff(ends, prepend=0)))
    return scattered(rng, k, d)[member] + rng.standard_normal((n, d)), member


def scattered(rng, k, d):
    """k centres, none nearer to another than ``APART``."""
    centers, side = np.empty((0, d)), 1.2 * APART * k ** (1 / d)
    while len(centers) < k:
        candidate = rng.uniform(0.0, side, d)
        if (((centers - candidate) ** 2).sum(axis=1) >= APART**2).all():
            centers = np.vstack([centers, candidate])
        side *= 1.001
    return centers


def long_pair(rng, n=150):
    """Rows of two parallel Gaussians of correlated columns, and whose each is."""
    member, along = rng.integers(0, 2, n), rng.standard_normal(n)
    return np.column_stack([3.0 * member + along, along + 0.4 * rng.standard_normal(n)]), member


def one_gaussian(rng, n):
    return rng.standard_normal((n, 2))


def long_gaussian(rng, n):
    return rng.standard_normal((n, 3)) * [10.0, 1.0, 0.1]


def square(rng, n):
    return rng.uniform(size=(n, 2))


def line(rng, n):
    return rng.uniform(size=(n, 1))


def disc(rng, n):
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(size=n))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


CLOUDS = (one_gaussian, long_gaussian, square, line, disc)
