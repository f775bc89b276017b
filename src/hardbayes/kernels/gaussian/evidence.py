"""Marginal likelihoods of Gaussian clusters.

Mean and covariance of a cluster have a normal-inverse-Wishart prior, the shares of clusters a
Dirichlet prior; all are integrated out. With diagonal covariances every column is a problem of its
own.
"""

import math

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.gaussian.scatters import PRECISION, invert_root

MEAN_ROWS = 0.01  # rows that the prior of a mean counts for
SHARE_ROWS = 0.5  # of each cluster's share: Jeffreys' prior
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
