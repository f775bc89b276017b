"""Clusters with known covariances, slowly: every covariance tried for every cluster."""

from itertools import permutations

import numpy as np

from tests.reference.brute_force import set_partitions


def known_objective(X, labels, covariances, penalty, rate=1.0, weights=None):
    """The least objective of a partition, over which cluster has which covariance.

    Broderick, Kulis & Jordan 2013, supplement E, with logarithms relative to the smallest.
    """
    w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    sizes = np.array([np.linalg.slogdet(each)[1] for each in covariances])
    fixed = rate * (sizes - sizes.min()) + penalty
    table = []
    for label in np.unique(labels[w > 0]):
        rows, v = X[labels == label], w[labels == label]
        gaps = rows - (v[:, None] * rows).sum(axis=0) / v.sum()
        table.append(
            [
                sum(
                    weight * gap @ np.linalg.solve(each, gap)
                    for gap, weight in zip(gaps, v, strict=True)
                )
                for each in covariances
            ]
        )
    best = np.inf
    for which in permutations(range(len(covariances)), len(table)):
        best = min(best, sum(row[t] + fixed[t] for row, t in zip(table, which, strict=True)))
    return float(best)


def brute_force_known(X, covariances, penalty, rate=1.0, n_clusters=None):
    """The least objective of all partitions into at most as many clusters as covariances."""
    allowed = [n_clusters] if n_clusters else range(1, len(covariances) + 1)
    return min(
        known_objective(X, labels, covariances, penalty, rate)
        for labels in set_partitions(len(X))
        if labels.max() + 1 in allowed
    )
