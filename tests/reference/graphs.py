"""Cuts of graphs by their definitions, dense and slow."""

import numpy as np

from tests.reference.brute_force import set_partitions


def cuts(adjacency, labels, cut="normalized"):
    """The cut of each cluster over its volume, from a symmetric matrix with self-loops."""
    found = []
    for label in np.unique(labels):
        inside = labels == label
        leaving = adjacency[inside][:, ~inside].sum()
        volume = adjacency[inside].sum() if cut == "normalized" else inside.sum()
        found.append(leaving / volume if volume else 0.0)
    return np.array(found)


def penalised_cut(adjacency, labels, penalty, cut="normalized"):
    """What GraphDPMeans minimises."""
    found = cuts(adjacency, labels, cut)
    return found.sum() + penalty * len(found)


def best_cut(adjacency, penalty, cut="normalized"):
    """The least penalised cut over all partitions; meant for 8 vertices at most."""
    partitions = set_partitions(len(adjacency))
    return min(penalised_cut(adjacency, labels, penalty, cut) for labels in partitions)


def kernel_objective(kernel, weights, labels, penalty):
    """Weighted kernel DP-means: distances from implicit means, plus the penalty of each cluster."""
    total = 0.0
    for label in np.unique(labels):
        ids = np.flatnonzero(labels == label)
        w, block = weights[ids], kernel[np.ix_(ids, ids)]
        share = w / w.sum()
        distances = np.diag(block) - 2 * block @ share + share @ block @ share
        total += w @ distances + penalty
    return total


def random_adjacency(rng, n, share=0.5, loops=False, connected=True):
    """A symmetric matrix of weights."""
    upper = np.triu(rng.uniform(0.2, 1.0, (n, n)) * (rng.uniform(size=(n, n)) < share), 1)
    if connected:
        upper[np.arange(n - 1), np.arange(1, n)] += 0.05
    adjacency = upper + upper.T
    if loops:
        adjacency += np.diag(rng.uniform(0, 1, n) * (rng.uniform(size=n) < 0.5))
    return adjacency
