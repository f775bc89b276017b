"""Nearest clusters among a few candidates, and how rows lie between two clusters.

The candidates of a row are those listed beside the cluster that it is in: ``near`` (k, m) int64.
"""

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.gaussian.costs import distance


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
