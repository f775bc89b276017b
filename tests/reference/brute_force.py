"""The true optimum over all set partitions of a handful of rows."""

import numpy as np

from tests.reference.collapsed import Costs
from tests.reference.dp_means import labelling_objective, prepared_rows, weights_or_ones


def set_partitions(n):
    """All set partitions of 0..n-1 as labels: restricted growth strings, Bell(n) of them."""
    labels = [0] * n

    def extend(i, used):
        if i == n:
            yield np.array(labels)
            return
        for label in range(used + 1):
            labels[i] = label
            yield from extend(i + 1, max(used, label + 1))

    yield from extend(1, 1) if n else iter(())


def brute_force(X, penalty, *, max_clusters=None, **options):
    """(objective, labels) of the best partition; meant for n <= 8."""
    if len(X) > 8:
        raise ValueError("4,140 partitions of 8 rows are enough")
    best, best_labels = np.inf, None
    for labels in set_partitions(len(X)):
        if max_clusters is not None and labels.max() >= max_clusters:
            continue
        value = labelling_objective(X, labels, penalty, **options)
        if value < best:
            best, best_labels = value, labels
    return best, best_labels


def optimum(X, penalty, *, divergence="squared_euclidean", prior_weight=0.0, weights=None):
    """The objective of the best partition, each set of rows costed once: 3^n steps.

    Sets of rows are the bits of a number. The cluster of the first row is split off, and the best
    partition of the rest is known already. All rows have weight.
    """
    X = prepared_rows(X, divergence)
    cost = Costs(X, weights_or_ones(weights, len(X)), penalty, prior_weight, divergence)
    costs = [cost([i for i in range(len(X)) if part >> i & 1]) for part in range(1 << len(X))]
    best = [0.0]
    for rest in range(1, 1 << len(X)):
        part, values = rest, []
        while part:
            if part & rest & -rest:
                values.append(costs[part] + best[rest ^ part])
            part = (part - 1) & rest
        best.append(min(values))
    return best[-1]
