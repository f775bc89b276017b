"""Where to cut clusters in two along a direction."""

import numpy as np

from hardbayes.kernels.compiling import kernel


@kernel
def best_cuts(values, weights, order, places, least, floor, cuts, gains):
    """OUT cuts (2, k), gains (2, k): where to cut the values (n,) of each cluster in two.

    The first cut is the likeliest, the second that of two means. Both are rated by the
    classification likelihood of two Gaussians on a line over that of one. IN order (n,) and places
    (k + 1,) int64: rows by cluster, sorted by value within; least (k,): weight on either side;
    floor (k,): added to variances. A gain of minus infinity: there is no cut.
    """
    for c in range(places.shape[0] - 1):
        for kind in range(2):
            cuts[kind, c] = 0.0
            gains[kind, c] = -np.inf
        n = 0.0
        first = 0.0
        second = 0.0
        for p in range(places[c], places[c + 1]):
            i = order[p]
            n += weights[i]
            first += weights[i] * values[i]
            second += weights[i] * values[i] * values[i]
        if not n > 0.0:
            continue
        whole = n * np.log(max(second / n - (first / n) ** 2, 0.0) + floor[c])
        widest = 0.0
        m = 0.0
        s1 = 0.0
        s2 = 0.0
        for p in range(places[c], places[c + 1] - 1):
            i = order[p]
            m += weights[i]
            s1 += weights[i] * values[i]
            s2 += weights[i] * values[i] * values[i]
            following = values[order[p + 1]]
            rest = n - m
            if m < least[c] or rest < least[c] or not following > values[i]:
                continue
            left = max(s2 / m - (s1 / m) ** 2, 0.0) + floor[c]
            right = max((second - s2) / rest - ((first - s1) / rest) ** 2, 0.0) + floor[c]
            gain = 0.5 * (whole - m * np.log(left) - rest * np.log(right))
            gain += m * np.log(m / n) + rest * np.log(rest / n)
            if gain > gains[0, c]:
                gains[0, c] = gain
                cuts[0, c] = 0.5 * (values[i] + following)
            between = m * rest * (s1 / m - (first - s1) / rest) ** 2
            if between > widest:
                widest = between
                gains[1, c] = gain
                cuts[1, c] = 0.5 * (values[i] + following)
