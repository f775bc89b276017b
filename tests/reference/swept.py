"""Algorithm 1 for a few thousand rows: the sweep against the frozen centres as one array.

Only rows dearer than the penalty are walked through one by one; every row then looks at the centres
opened before its turn.  Squared Euclidean, unit weights, given order, no bounds of any kind.
"""

import numpy as np

from tests.reference.dp_means import same_partition


def squared_distances(X, centers):
    return sum((X[:, j, None] - centers[:, j]) ** 2 for j in range(X.shape[1]))


def swept_dp_means(X, penalty, max_iter=300):
    """(labels numbered by creation, objective)."""
    X = np.array(X, dtype=np.float64)
    centers = X.mean(axis=0)[None, :]
    previous = None
    for _ in range(max_iter):
        costs = squared_distances(X, centers)
        labels, best = costs.argmin(axis=1), costs.min(axis=1)
        for i in range(len(X)):
            if best[i] <= penalty:
                continue
            # Row i is dear even now: it opens a cluster, which only later rows may join.
            later = np.arange(i + 1, len(X))
            cost = squared_distances(X[later], X[i : i + 1])[:, 0]
            nearer = later[cost < best[later]]
            best[nearer] = cost[nearer - i - 1]
            labels[nearer] = len(centers)
            labels[i] = len(centers)
            best[i] = 0.0
            centers = np.vstack([centers, X[i]])
        names, labels = np.unique(labels, return_inverse=True)
        centers = np.array([X[labels == k].mean(axis=0) for k in range(len(names))])
        if previous is not None and same_partition(labels, previous):
            break
        previous = labels
    fit = ((X - centers[labels]) ** 2).sum()
    return labels, fit + penalty * len(centers)
