"""The true optimum over all set partitions of a handful of rows."""

import numpy as np

from tests.reference.dp_means import labelling_objective


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
