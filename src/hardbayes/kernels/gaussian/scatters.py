"""Weights, means and scatters of clusters, and the triangular roots of their inverses."""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel, shared

PRECISION = 1e-12  # of a diagonal: the least pivot of a covariance


@kernel
def group_rows(labels, places, order):
    """OUT order (n,) int64: rows by cluster, ascending within each.

    IN/OUT places (k + 1,) int64: zeros on entry, then where the rows of each cluster begin and end.
    """
    k = places.shape[0] - 1
    for i in range(labels.shape[0]):
        places[labels[i]] += 1
    total = 0
    for c in range(k):
        count = places[c]
        places[c] = total
        total += count
    places[k] = total
    for i in range(labels.shape[0]):
        order[places[labels[i]]] = i
        places[labels[i]] += 1
    for c in range(k, 0, -1):
        places[c] = places[c - 1]
    places[0] = 0


@inlined
def add_outer(scatters, c, weight, gap):
    """IN/OUT scatters (k, h, d): add ``weight gap gap'``, its lower triangle, to cluster c."""
    d = scatters.shape[2]
    if scatters.shape[1] == 1:
        for j in range(d):
            scatters[c, 0, j] += weight * gap[j] * gap[j]
    else:
        for j in range(d):
            heavy = weight * gap[j]
            for m in range(j + 1):
                scatters[c, j, m] += heavy * gap[m]


@kernel
def add_up(rows, weights, order, places, sizes, means, scatters, gap, start, stop):
    """OUT sizes (k,), means (k, d), scatters (k, h, d) of clusters ``start`` to ``stop``.

    Sums run in the order of the rows, on any number of threads; two passes, so that scatters do
    not cancel.
    """
    d = rows.shape[1]
    for c in range(start, stop):
        sizes[c] = 0.0
        for j in range(d):
            means[c, j] = 0.0
            for m in range(scatters.shape[1]):
                scatters[c, m, j] = 0.0
        for p in range(places[c], places[c + 1]):
            i = order[p]
            sizes[c] += weights[i]
            for j in range(d):
                means[c, j] += weights[i] * rows[i, j]
        if sizes[c] == 0.0:
            continue
        for j in range(d):
            means[c, j] /= sizes[c]
        for p in range(places[c], places[c + 1]):
            i = order[p]
            if weights[i] > 0.0:
                for j in range(d):
                    gap[j] = rows[i, j] - means[c, j]
                add_outer(scatters, c, weights[i], gap)
        for j in range(scatters.shape[1]):
            for m in range(j):
                scatters[c, m, j] = scatters[c, j, m]


@shared
def invert_root(matrices, c, roots, r, ridge, precision):
    """OUT roots[r] (h, d): a lower triangular W with ``W'W = (ridge I + M)^-1``.

    IN matrices (k, h, d): the lower triangle of the c-th, M, is read. Return ``log|ridge I + M|``.
    Pivots are at least ``ridge`` and ``precision`` of the diagonal: rounding may leave them below.
    """
    d = matrices.shape[2]
    total = 0.0
    if matrices.shape[1] == 1:
        for j in range(d):
            width = ridge + max(matrices[c, 0, j], 0.0)
            roots[r, 0, j] = 1.0 / np.sqrt(width)
            total += np.log(width)
        return total
    for j in range(d):  # the Cholesky factor, then its inverse in the same place
        for m in range(j + 1):
            value = matrices[c, j, m]
            for t in range(m):
                value -= roots[r, j, t] * roots[r, m, t]
            if j == m:
                value = max(value + ridge, max(ridge, precision * matrices[c, j, j]))
                roots[r, j, j] = np.sqrt(value)
                total += np.log(value)
            else:
                roots[r, j, m] = value / roots[r, m, m]
    for j in range(d):
        pivot = 1.0 / roots[r, j, j]
        for m in range(j):
            value = 0.0
            for t in range(m, j):
                value -= roots[r, j, t] * roots[r, t, m]
            roots[r, m, j] = value * pivot  # kept above the diagonal while row j is still read
        roots[r, j, j] = pivot
        for m in range(j):
            roots[r, j, m] = roots[r, m, j]
            roots[r, m, j] = 0.0
    return total


@kernel
def invert_roots(matrices, ridge, precision, roots, logarithms, gap, start, stop):
    """OUT roots (k, h, d), logarithms (k,): those of `invert_root` for each matrix."""
    for c in range(start, stop):
        logarithms[c] = invert_root(matrices, c, roots, c, ridge, precision)
