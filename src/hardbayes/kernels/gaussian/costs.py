"""Distances of rows from clusters with covariances: ``|W (x - mu)|^2``, W lower triangular.

Arrays (k, h, d) are matrices, h being d, or diagonals, h being 1. A kernel that works on items
``start`` to ``stop`` is called with scratch memory, ``gap`` (d,).
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel


@inlined
def distance(rows, i, means, roots, c, bound, gap):
    """Return row i's distance from cluster c, or some number >= bound where it is that far.

    A sum of squares never falls, so summation ends when it reaches the bound.
    """
    d = rows.shape[1]
    total = 0.0
    if roots.shape[1] == 1:
        for j in range(d):
            along = (rows[i, j] - means[c, j]) * roots[c, 0, j]
            total += along * along
            if total >= bound:
                return total
        return total
    for j in range(d):
        gap[j] = rows[i, j] - means[c, j]
        along = 0.0
        for m in range(j + 1):
            along += roots[c, j, m] * gap[m]
        total += along * along
        if total >= bound:
            return total
    return total


@kernel
def nearest(rows, means, roots, offsets, labels, distances, gap, start, stop):
    """OUT labels (n,) int64: the nearest cluster, the first of equals; distances (n,).

    IN offsets (k,) are added to the distances from each cluster.
    """
    for i in range(start, stop):
        best = np.inf
        winner = 0
        for c in range(means.shape[0]):
            apart = offsets[c]
            apart += distance(rows, i, means, roots, c, best - apart, gap)
            if apart < best:
                best = apart
                winner = c
        labels[i] = winner
        distances[i] = best


@kernel
def all_distances(rows, means, roots, out, gap, start, stop):
    """OUT out (n, k): the distance of each row from every cluster."""
    for i in range(start, stop):
        for c in range(means.shape[0]):
            out[i, c] = distance(rows, i, means, roots, c, np.inf, gap)


@kernel
def transform(rows, middle, matrix, out, start, stop):
    """OUT out (n, d): ``(x - middle) M`` with an upper triangular M (d, d), or a diagonal (1, d).

    One row after the other, so that its bits do not depend on the rows beside it.
    """
    d = rows.shape[1]
    for i in range(start, stop):
        if matrix.shape[0] == 1:
            for j in range(d):
                out[i, j] = (rows[i, j] - middle[j]) * matrix[0, j]
        else:
            for j in range(d):
                out[i, j] = 0.0
            for m in range(d):
                gap = rows[i, m] - middle[m]
                for j in range(m, d):
                    out[i, j] += gap * matrix[m, j]
