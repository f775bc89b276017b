"""Compiled statistics of Gaussian clusters: scatters, distances, nearest clusters, likelihoods.

Arrays (k, h, d) are matrices, h being d, or diagonals, h being 1. Distances of rows are
``|W (x - mu)|^2``, W lower triangular. A kernel that works on items ``start`` to ``stop`` is called
with scratch memory, ``gap`` (d,). Candidates for a row are those listed beside the cluster that it
is in: ``near`` (k, m) int64.

In marginal likelihoods mean and covariance of a cluster have a normal-inverse-Wishart prior, the
shares of clusters a Dirichlet prior; all are integrated out. With diagonal covariances every column
is a problem of its own.
"""

import math

import numpy as np

from hardbayes.core.compiling import inlined, kernel, shared

PRECISION = 1e-12  # of a diagonal: the least pivot of a covariance
MEAN_ROWS = 0.01  # rows that the prior of a mean counts for
SHARE_ROWS = 0.5  # of each cluster's share: Jeffreys' prior


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


# Places in scratch memory: of the prior and posterior covariance, and of their roots beside them.
PRIOR, POSTERIOR = np.int64(0), np.int64(2)


@inlined
def one_cluster(n, means, scatters, c, middle, floor, prior_log, prior_rows, scratch):
    """Return the log marginal likelihood of the rows of cluster c and its share.

    Constants of n are left out. The prior's mean is ``middle`` (d,), its matrix ``prior_rows``
    times the covariance scratch[PRIOR], of log-determinant ``prior_log``, and it counts as
    ``prior_rows`` rows beyond the least number. ``floor`` (d,) is a variance that every row has
    besides.
    """
    d = means.shape[1]
    h = scatters.shape[1]
    dim = d if h > 1 else 1
    rows = dim + 1.0 + prior_rows
    lean = MEAN_ROWS * n / (MEAN_ROWS + n)
    for j in range(h):
        for m in range(d if h == 1 else j + 1):
            across = means[c, m] - middle[m]
            along = across if h == 1 else means[c, j] - middle[j]
            value = prior_rows * scratch[PRIOR, j, m] + scatters[c, j, m] + lean * along * across
            if h == 1 or j == m:
                value += n * floor[m]
            scratch[POSTERIOR, j, m] = value
    posterior_log = invert_root(scratch, POSTERIOR, scratch, POSTERIOR + 1, 0.0, PRECISION)
    value = 0.0
    for j in range(dim):  # the ratio of two multivariate gamma functions
        value += math.lgamma(0.5 * (rows + n - j)) - math.lgamma(0.5 * (rows - j))
    value *= 1 if h > 1 else d
    value += 0.5 * rows * (prior_log + d * math.log(prior_rows))
    value -= 0.5 * (rows + n) * posterior_log
    value += 0.5 * d * math.log(MEAN_ROWS / (MEAN_ROWS + n))
    return value + math.lgamma(n + SHARE_ROWS) - math.lgamma(SHARE_ROWS)


@kernel
def evidence(
    sizes, means, scatters, lefts, rights, middle, floor, prior, is_given, prior_rows, out,
    scratch, start, stop,
):  # fmt: skip
    """OUT out (m,): log marginal likelihoods of clusters, or pairs, as if there were no others.

    IN sizes (k,), means (k, d), scatters (k, h, d): lower triangles are read; lefts, rights (m,)
    int64: -1 where there is no second cluster; middle, floor (d,); prior_rows (s,), of which the
    likeliest counts. The prior's covariance is ``prior`` (1, h, d) if ``is_given``, and then shares
    are not normalised; else the pooled covariance of the clusters. scratch (5, h, d).
    """
    d = means.shape[1]
    h = scatters.shape[1]
    for p in range(start, stop):
        a = lefts[p]
        b = rights[p]
        n = sizes[a]
        if b >= 0:
            n += sizes[b]
        for j in range(h):
            for m in range(d if h == 1 else j + 1):
                value = prior[0, j, m]
                if not is_given:
                    value = scatters[a, j, m]
                    if b >= 0:
                        value += scatters[b, j, m]
                    value /= n
                    if h == 1 or j == m:
                        value += floor[m]
                scratch[PRIOR, j, m] = value
        prior_log = invert_root(scratch, PRIOR, scratch, PRIOR + 1, 0.0, PRECISION)
        best = -np.inf
        for s in range(prior_rows.shape[0]):
            value = 0.0
            shares = 0.0
            for side in range(2):
                c = a if side == 0 else b
                if c >= 0:
                    shares += SHARE_ROWS
                    value += one_cluster(
                        sizes[c], means, scatters, c, middle, floor, prior_log, prior_rows[s],
                        scratch,
                    )  # fmt: skip
            if not is_given:
                value += math.lgamma(shares) - math.lgamma(n + shares)
            best = max(best, value)
        out[p] = best


@kernel
def choose(rows, means, roots, offsets, near, labels, gap, start, stop):
    """IN/OUT labels (n,) int64: the candidate with the least offset + distance.

    The present cluster comes first, so that the sums of others end early.
    """
    for i in range(start, stop):
        own = labels[i]
        best = offsets[own] + distance(rows, i, means, roots, own, np.inf, gap)
        for q in range(near.shape[1]):
            c = near[own, q]
            if offsets[c] < best:
                apart = offsets[c] + distance(rows, i, means, roots, c, best - offsets[c], gap)
                if apart < best:
                    best = apart
                    labels[i] = c


@kernel
def two_nearest(rows, means, roots, offsets, near, first, second, gap, start, stop):
    """IN/OUT first (n,), OUT second (n,) int64: the two candidates with least offset + distance."""
    for i in range(start, stop):
        own = first[i]
        best = offsets[own] + distance(rows, i, means, roots, own, np.inf, gap)
        next_best = np.inf
        second[i] = -1
        for q in range(near.shape[1]):
            c = near[own, q]
            apart = offsets[c] + distance(rows, i, means, roots, c, next_best - offsets[c], gap)
            if apart < best:
                next_best = best
                second[i] = first[i]
                best = apart
                first[i] = c
            elif apart < next_best:
                next_best = apart
                second[i] = c


@kernel
def distance_differences(rows, ids, means, roots, out, gap, start, stop):
    """OUT out (m,): how much farther rows ``ids`` (m,) are from the first cluster of two."""
    for p in range(start, stop):
        out[p] = 0.0
        for c in range(2):
            apart = distance(rows, ids[p], means, roots, c, np.inf, gap)
            out[p] += apart if c == 0 else -apart
