"""Kernel DP-means by its definitions, dense and slow."""

import numpy as np

from tests.reference.brute_force import set_partitions
from tests.reference.graphs import kernel_objective


def literal_kernel_dp_means(kernel, weights, penalty, order=None, max_iter=100):
    """Algorithm 1 in the space of a kernel (Kulis & Jordan 2012, sections 3 and 5.2).

    Rows are visited one by one; members of clusters change after a pass. A row that is dearer than
    the penalty opens a cluster at itself, which rows visited later may join.
    """
    n = len(kernel)
    order = range(n) if order is None else order
    labels, history = np.zeros(n, int), [np.inf]
    for _ in range(max_iter):
        clusters = [weights * (labels == c) for c in range(labels.max() + 1)]
        new = labels.copy()
        for i in order:
            distances = []
            for members in clusters:
                share = members / members.sum()
                distances.append(kernel[i, i] - 2 * kernel[i] @ share + share @ kernel @ share)
            best = int(np.argmin(distances))
            if weights[i] * distances[best] > penalty:
                clusters.append(1.0 * (np.arange(n) == i))
                best = len(clusters) - 1
            new[i] = best
        labels = np.unique(new, return_inverse=True)[1]
        history.append(kernel_objective(kernel, weights, labels, penalty))
        if not history[-1] < history[-2]:
            break
    return labels, history[1:]


def best_objective(kernel, weights, penalty):
    """The least objective over all partitions; meant for 8 rows at most."""
    return min(
        kernel_objective(kernel, weights, labels, penalty) for labels in set_partitions(len(kernel))
    )


def random_kernel(rng, n, rank=3):
    """A positive semidefinite matrix of random rows in two groups."""
    rows = rng.normal(size=(n, rank)) + 2.0 * rng.integers(0, 2, (n, 1))
    return rows @ rows.T
