"""Compiled passes over coded rows: what they cost in each cluster, and sums of rows without holes.

Rows that lack the same numbers share a pattern, and stand side by side in ``order``. The covariance
of a pattern is swept once (Goodnight 1979): afterwards the block of the numbers that are there
holds minus its inverse, the block of those that are missing what is left of their covariance, and
the blocks between them the regressions from one to the other.
"""

import numpy as np

from hardbayes.core.compiling import inlined, kernel, shared


@shared
def sweep(covariance, there, swept):
    """Sweep a covariance (p, p) on the numbers that are there; return the log determinant of these.

    OUT swept (p, p).
    """
    p = covariance.shape[0]
    for a in range(p):
        for b in range(p):
            swept[a, b] = covariance[a, b]
    total = 0.0
    for j in range(p):
        if not there[j]:
            continue
        pivot = swept[j, j]
        total += np.log(pivot)
        for a in range(p):
            if a != j:
                factor = swept[a, j] / pivot
                for b in range(p):
                    if b != j:
                        swept[a, b] -= factor * swept[j, b]
        for a in range(p):
            if a != j:
                swept[a, j] /= pivot
                swept[j, a] /= pivot
        swept[j, j] = -1.0 / pivot
    return total


@inlined
def product(there, swept, gap, across):
    """OUT across (p,): the inverse times a gap (p,), whose entries that are not there are zero.

    Return the squared length of the gap.
    """
    p = gap.shape[0]
    for a in range(p):
        across[a] = 0.0
    for b in range(p):  # row by row: sums of columns are independent, and go side by side
        along = gap[b]
        for a in range(p):
            across[a] -= swept[b, a] * along
    total = 0.0
    for a in range(p):
        if there[a]:
            total += gap[a] * across[a]
        else:
            across[a] = 0.0
    return total


@inlined
def spread(there, floors, swept, a, b):
    """Return the covariance of two cells of one row, given the numbers that are there."""
    if there[a]:
        if there[b]:
            return floors[a] if a == b else 0.0
        return swept[b, a] * floors[a]
    if there[b]:
        return swept[a, b] * floors[b]
    total = swept[a, b]
    for j in range(there.shape[0]):
        if there[j]:
            total += swept[a, j] * floors[j] * swept[b, j]
    return total


@kernel
def cost_rows(
    numbers, places, order, ends, seen, floors, means, covariances, log_shares, divergences, halves,
    swept, gap, across, offsets,
):  # fmt: skip
    """OUT divergences (n, k), halves (m, g): of rows and clusters, of covariances and patterns.

    IN places (n, c): of levels among all, beyond the last where missing; order (n,), ends (g,): the
    rows of each pattern; seen (g, p). Clusters of one covariance share the product of its inverse
    with a row, taken from the mean of the first of them. Scratch: swept (p, p), gap, across (p,),
    offsets (k,).
    """
    n_levels = log_shares.shape[1]
    n_covariances = covariances.shape[0]
    p = seen.shape[1]
    for g in range(seen.shape[0]):
        there = seen[g]
        first = ends[g - 1] if g > 0 else 0
        for m in range(n_covariances):
            half = sweep(covariances[m], there, swept)
            for a in range(p):
                if there[a]:
                    half -= floors[a] * swept[a, a]
            halves[m, g] = 0.5 * half
            for c in range(m, means.shape[0], n_covariances):
                for a in range(p):
                    gap[a] = means[c, a] - means[m, a] if there[a] else 0.0
                offsets[c] = product(there, swept, gap, across)
            for at in range(first, ends[g]):
                i = order[at]
                for a in range(p):
                    gap[a] = numbers[i, a] - means[m, a] if there[a] else 0.0
                own = product(there, swept, gap, across)
                for c in range(m, means.shape[0], n_covariances):
                    along = 0.0
                    for a in range(p):
                        along += across[a] * (means[c, a] - means[m, a])
                    total = 0.5 * max(own - 2.0 * along + offsets[c], 0.0)
                    for j in range(places.shape[1]):
                        if places[i, j] < n_levels:
                            total -= log_shares[c, places[i, j]]
                    divergences[i, c] = total


@kernel
def total_rows(
    numbers, weights, labels, order, ends, seen, floors, means, covariances, filled, sums, squares,
    swept, gap,
):  # fmt: skip
    """Fill holes by what the other numbers tell, and add up the deviations from earlier means.

    OUT filled (n, p). IN/OUT sums (k, p), squares (m, p, p): weighted sums of deviations and of
    their products, variances of cells included.
    """
    p = seen.shape[1]
    n_covariances = covariances.shape[0]
    for g in range(seen.shape[0]):
        first = ends[g - 1] if g > 0 else 0
        for m in range(n_covariances):
            sweep(covariances[m], seen[g], swept)
            weight = 0.0
            for at in range(first, ends[g]):
                i = order[at]
                c = labels[i]
                if n_covariances > 1 and c != m:
                    continue
                weight += weights[i]
                for a in range(p):
                    if seen[g, a]:
                        gap[a] = numbers[i, a] - means[c, a]
                        filled[i, a] = numbers[i, a]
                for a in range(p):
                    if not seen[g, a]:
                        gap[a] = 0.0
                        for b in range(p):
                            if seen[g, b]:
                                gap[a] += swept[a, b] * gap[b]
                        filled[i, a] = means[c, a] + gap[a]
                for a in range(p):
                    sums[c, a] += weights[i] * gap[a]
                    for b in range(a + 1):
                        squares[m, a, b] += weights[i] * gap[a] * gap[b]
            for a in range(p):
                for b in range(a + 1):
                    squares[m, a, b] += weight * spread(seen[g], floors, swept, a, b)
    for m in range(n_covariances):
        for a in range(p):
            for b in range(a):
                squares[m, b, a] = squares[m, a, b]
