"""Clusters of a mixture as sums over rows: predictions, marginal likelihoods, drawn parameters.

A cluster is its number of rows and the sum of their statistics. Everything else follows from the
marginal likelihood of (number, sum), whose ratios are the predictions by which rows choose. Factors
that depend on the row alone (coefficients of multinomials, factorials of counts) are left out.

Families, with m the prior mean of a column and s the strength of the prior:

- gaussian: x ~ N(mu, sigma I), mu ~ N(0, rho I); rows are centred at the prior mean.
- multinomial: counts ~ p, p ~ Dirichlet(s m).
- poisson: counts of a column ~ lambda, lambda ~ Gamma(s, s / m).
- bernoulli: zeros and ones of a column ~ p, p ~ Beta(s m, s (1 - m)).
- covariances: x ~ N(mu, Sigma), normal-inverse-Wishart. Its sums are followed by the lower triangle
  of the sums of products.
"""

import math
from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, shared
from hardbayes.samplers.compiled.randomness import log_gamma_variate, log_sum, normal

# Families by number, in the order of `families.FAMILIES`.
GAUSSIAN, MULTINOMIAL, POISSON, BERNOULLI, COVARIANCES = range(5)
# Places in `Model.numbers`. The spread is rho for gaussian, else the strength of the prior, for
# covariances the rows that the prior mean counts for; the freedom is that of the inverse-Wishart.
LOG_ALPHA, NOISE, SPREAD, FREEDOM = range(4)
N_NUMBERS = 4
# Slots behind those of clusters: no rows; a row's own cluster without it; the two of a division.
EMPTY, REST, FIRST, SECOND = range(4)
N_EXTRA = 4
LARGE = 1e200  # products above it, or below its inverse, become logarithms, against overflow
LOG_PI = math.log(math.pi)


class Rows(NamedTuple):
    """Rows, dense for the two Gaussian families, else by their entries that are not zero."""

    dense: np.ndarray  # (n, d), or (0, 0)
    values: np.ndarray  # (entries,)
    columns: np.ndarray  # (entries,) int64
    starts: np.ndarray  # (n + 1,) int64
    mass: np.ndarray  # (n,): sum of each row


class Model(NamedTuple):
    """What the clusters are drawn from."""

    family: int
    means: int  # 1: parameters of clusters are drawn (Neal's Algorithm 2), 0: integrated out
    numbers: np.ndarray  # (N_NUMBERS,): present values
    priors: np.ndarray  # (3, 2): of alpha, noise and spread; zeros where the number is fixed
    base: np.ndarray  # (2, width): the prior of a column, to be multiplied by the strength


class Clusters(NamedTuple):
    """A partition of rows: labels are slots, and slots keep sums and what follows from them."""

    labels: np.ndarray  # (n,) int64
    active: np.ndarray  # (slots,) int64: the slots of clusters, then those that are free
    place: np.ndarray  # (slots,) int64: where each slot is in `active`
    size: np.ndarray  # (1,) int64: number of clusters
    n_rows: np.ndarray  # (slots + N_EXTRA,) int64
    mass: np.ndarray  # (slots + N_EXTRA,): sum of the sums
    total: np.ndarray  # (slots + N_EXTRA, width): sums over rows
    theta: np.ndarray  # (slots + N_EXTRA, width): parameters, or what predictions are made of
    offset: np.ndarray  # (slots + N_EXTRA,)
    scale: np.ndarray  # (slots + N_EXTRA,)
    within: np.ndarray  # (slots + N_EXTRA,): the offset for its own rows; of covariances alone
    log_count: np.ndarray  # (slots + N_EXTRA,)
    scores: np.ndarray  # (slots + N_EXTRA + width,): scratch


@inlined
def add_row(rows, model, clusters, k, i, sign):
    """Add row i to the sums of slot k, or take it away for sign -1.0."""
    total = clusters.total
    clusters.n_rows[k] += np.int64(sign)
    if model.family == GAUSSIAN or model.family == COVARIANCES:
        d = rows.dense.shape[1]
        for j in range(d):
            total[k, j] += sign * rows.dense[i, j]
        if model.family == COVARIANCES:
            at = d
            for j in range(d):
                for m in range(j + 1):
                    total[k, at] += sign * rows.dense[i, j] * rows.dense[i, m]
                    at += 1
    else:
        clusters.mass[k] += sign * rows.mass[i]
        for e in range(rows.starts[i], rows.starts[i + 1]):
            total[k, rows.columns[e]] += sign * rows.values[e]


@inlined
def copy_sums(clusters, source, target):
    """Copy the sums of one slot to another, and what follows from them."""
    clusters.n_rows[target] = clusters.n_rows[source]
    clusters.mass[target] = clusters.mass[source]
    clusters.offset[target] = clusters.offset[source]
    clusters.scale[target] = clusters.scale[source]
    clusters.within[target] = clusters.within[source]
    clusters.log_count[target] = clusters.log_count[source]
    for j in range(clusters.total.shape[1]):
        clusters.total[target, j] = clusters.total[source, j]
        clusters.theta[target, j] = clusters.theta[source, j]


@inlined
def clear(clusters, k):
    """Take all rows from slot k."""
    clusters.n_rows[k] = 0
    clusters.mass[k] = 0.0
    for j in range(clusters.total.shape[1]):
        clusters.total[k, j] = 0.0


@inlined
def refresh(rows, model, clusters, k):
    """Make the predictions of slot k those that follow from its sums."""
    if model.family == GAUSSIAN:
        refresh_gaussian(rows, model, clusters, k)
    else:
        refresh_other(rows, model, clusters, k)
    clusters.log_count[k] = math.log(max(clusters.n_rows[k], 1))


@inlined
def refresh_gaussian(rows, model, clusters, k):
    """OUT theta: the posterior mean; scale, offset: of the predicted variance."""
    sigma, rho = model.numbers[NOISE], model.numbers[SPREAD]
    share = rho / (sigma + rho * clusters.n_rows[k])
    for j in range(rows.dense.shape[1]):
        clusters.theta[k, j] = share * clusters.total[k, j]
    variance = sigma + sigma * share
    clusters.scale[k] = 0.5 / variance
    clusters.offset[k] = -0.5 * rows.dense.shape[1] * math.log(variance)


@shared
def refresh_other(rows, model, clusters, k):
    """OUT theta, scale, offset of slot k, for counts and for covariances."""
    strength, base, total = model.numbers[SPREAD], model.base, clusters.total
    n = clusters.n_rows[k]
    offset = 0.0
    if model.family == POISSON:
        for j in range(base.shape[1]):
            offset += (total[k, j] + strength * base[0, j]) * math.log1p(
                -1.0 / (n + 1.0 + strength * base[1, j])
            )
    elif model.family == BERNOULLI:
        for j in range(base.shape[1]):
            ones = total[k, j] + strength * base[0, j]
            zeros = n - total[k, j] + strength * base[1, j]
            clusters.theta[k, j] = math.log(ones / zeros)
            offset += math.log(zeros / (ones + zeros))
    elif model.family == COVARIANCES:
        kappa, nu = strength + n, model.numbers[FREEDOM] + n
        d = rows.dense.shape[1]
        common = -0.5 * log_determinant(model, clusters, k, d)
        offset = common + predicted_offset(kappa, nu, d)
        clusters.scale[k] = kappa / (kappa + 1.0)
        if n > 0:
            clusters.within[k] = common + predicted_offset(kappa - 1.0, nu - 1.0, d)
    clusters.offset[k] = offset


@inlined
def predicted_offset(kappa, nu, d):
    """Return the logarithm of a prediction's density at its mean, without the determinant."""
    result = math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * (nu + 1.0 - d))
    return result - 0.5 * d * (LOG_PI + math.log((kappa + 1.0) / kappa))


@shared
def log_determinant(model, clusters, k, d):
    """Return log |Psi + scatter| of slot k; OUT theta: its mean, and the factor of that matrix.

    The factor is Cholesky's with the reciprocals of its diagonal, packed by rows.
    """
    theta, total = clusters.theta, clusters.total
    kappa = model.numbers[SPREAD] + clusters.n_rows[k]
    result = 0.0
    for j in range(d):
        theta[k, j] = total[k, j] / kappa
    row = d
    for j in range(d):
        column = d
        for m in range(j + 1):
            left = model.base[0, row + m] + total[k, row + m] - theta[k, j] * total[k, m]
            for c in range(m):
                left -= theta[k, row + c] * theta[k, column + c]
            if m < j:
                theta[k, row + m] = left * theta[k, column + m]
            else:
                left = max(left, 1e-300)
                result += math.log(left)
                theta[k, row + m] = 1.0 / math.sqrt(left)
            column += m + 1
        row += j + 1
    return result


@inlined
def score(rows, model, clusters, drawn, i, k):
    """Return the log-likelihood of row i in slot k: given its parameters if ``drawn``."""
    if model.family == GAUSSIAN:
        square = 0.0
        for j in range(rows.dense.shape[1]):
            difference = rows.dense[i, j] - clusters.theta[k, j]
            square += difference * difference
        return clusters.offset[k] - clusters.scale[k] * square
    return score_other(rows, model, clusters, drawn, i, k)


@shared
def score_other(rows, model, clusters, drawn, i, k):
    """Return the same for counts and for covariances."""
    theta = clusters.theta
    result = clusters.offset[k]
    if model.family == COVARIANCES:
        return result + fall(rows, model, clusters, i, k, np.inf)
    if drawn or model.family == BERNOULLI:
        for e in range(rows.starts[i], rows.starts[i + 1]):
            result += rows.values[e] * theta[k, rows.columns[e]]
        return result
    strength = model.numbers[SPREAD]
    product = 1.0  # a logarithm of many factors instead of many logarithms
    for e in range(rows.starts[i], rows.starts[i + 1]):
        x, j = rows.values[e], rows.columns[e]
        shape = clusters.total[k, j] + strength * model.base[0, j]
        if model.family == POISSON:
            result -= x * math.log(clusters.n_rows[k] + 1.0 + strength * model.base[1, j])
        if x <= 8.0 and x == math.floor(x):
            for t in range(np.int64(x)):
                product *= shape + t
            if not 1.0 / LARGE < product < LARGE:
                result += math.log(product)
                product = 1.0
        else:
            result += math.lgamma(shape + x) - math.lgamma(shape)
    if model.family == MULTINOMIAL:
        shape = clusters.mass[k] + strength
        result += math.lgamma(shape) - math.lgamma(shape + rows.mass[i])
    return result + math.log(product)


@shared
def fall(rows, model, clusters, i, k, most):
    """Return by how much row i is less likely in slot k than its mean is, minus (covariances).

    Minus infinity where that is surely more than ``most``: ``log(1 + x) >= 2 x / (2 + x)``.
    """
    freedom = model.numbers[FREEDOM] + clusters.n_rows[k] + 1.0
    scale = clusters.scale[k]
    limit = 2.0 * most / ((freedom - most) * scale) if most < freedom else np.inf
    square = square_of(rows, clusters, i, k, limit)
    if square > limit:
        return -np.inf
    return -0.5 * freedom * math.log1p(scale * square)


@inlined
def square_of(rows, clusters, i, k, limit):
    """Return the squared distance of row i from slot k, in units of its matrix (covariances).

    Or some number above ``limit`` where it is that far.
    """
    theta, scores, d = clusters.theta, clusters.scores, rows.dense.shape[1]
    first, at = len(scores) - clusters.total.shape[1], d
    square = 0.0
    for j in range(d):
        left = rows.dense[i, j] - theta[k, j]
        for m in range(j):
            left -= theta[k, at + m] * scores[first + m]
        left *= theta[k, at + j]
        scores[first + j] = left
        square += left * left
        if square > limit:
            break
        at += j + 1
    return square


@shared
def score_without(rows, model, clusters, i, k):
    """Return the log-likelihood of row i in its slot k without it (covariances).

    Nothing is summed or factorised anew: without the row the determinant is less by a factor that
    follows from its distance (Sherman & Morrison).
    """
    n = clusters.n_rows[k]
    kappa = model.numbers[SPREAD] + n
    left = 1.0 - kappa / (kappa - 1.0) * square_of(rows, clusters, i, k, np.inf)
    freedom = model.numbers[FREEDOM] + n - 1.0
    return clusters.within[k] + 0.5 * freedom * math.log(max(left, 1e-300))


@shared
def marginal(rows, model, clusters, k):
    """Return the log marginal likelihood of the rows of slot k.

    For gaussian without the sum of squares of all rows, which no partition changes.
    """
    n, total, base = clusters.n_rows[k], clusters.total, model.base
    strength = model.numbers[SPREAD]
    result = 0.0
    if model.family == GAUSSIAN:
        sigma, d = model.numbers[NOISE], rows.dense.shape[1]
        square = 0.0
        for j in range(d):
            square += total[k, j] * total[k, j]
        result = -0.5 * d * math.log1p(strength * n / sigma)
        return result + 0.5 * strength * square / (sigma * (sigma + strength * n))
    if model.family == COVARIANCES:
        d, nu = rows.dense.shape[1], model.numbers[FREEDOM]
        for j in range(d):
            result += math.lgamma(0.5 * (nu + n - j)) - math.lgamma(0.5 * (nu - j))
        result -= 0.5 * (nu + n) * log_determinant(model, clusters, k, d)
        result += 0.5 * nu * base[1, 0]  # the log-determinant of the prior
        return result + 0.5 * d * (math.log(strength / (strength + n)) - n * LOG_PI)
    if model.family == MULTINOMIAL:
        result = math.lgamma(strength) - math.lgamma(clusters.mass[k] + strength)
    for j in range(base.shape[1]):
        ones, shape, other = total[k, j], strength * base[0, j], strength * base[1, j]
        if ones > 0.0:
            result += math.lgamma(ones + shape) - math.lgamma(shape)
        if model.family == POISSON:
            result -= ones * math.log(n + other) + shape * math.log1p(n / other)
        elif model.family == BERNOULLI:
            result += math.lgamma(n - ones + other) - math.lgamma(other)
            result -= math.lgamma(n + shape + other) - math.lgamma(shape + other)
    return result


@shared
def draw_parameters(rows, model, clusters, stream, k):
    """Draw the parameters of slot k given its rows; OUT its theta, scale and offset."""
    theta, base, total, n = clusters.theta, model.base, clusters.total, clusters.n_rows[k]
    spread, offset = model.numbers[SPREAD], 0.0
    if model.family == GAUSSIAN:
        sigma = model.numbers[NOISE]
        share = spread / (sigma + spread * n)
        deviation = math.sqrt(sigma * share)
        for j in range(rows.dense.shape[1]):
            theta[k, j] = share * total[k, j] + deviation * normal(stream)
        clusters.scale[k] = 0.5 / sigma
        clusters.offset[k] = -0.5 * rows.dense.shape[1] * math.log(sigma)
        return
    for j in range(base.shape[1]):
        first = log_gamma_variate(stream, total[k, j] + spread * base[0, j])
        if model.family == MULTINOMIAL:
            offset = first if j == 0 else log_sum(offset, first)
        elif model.family == POISSON:
            first -= math.log(n + spread * base[1, j])
            offset -= math.exp(first)
        elif model.family == BERNOULLI:
            other = log_gamma_variate(stream, n - total[k, j] + spread * base[1, j])
            offset += other - log_sum(first, other)
            first -= other
        theta[k, j] = first
    if model.family == MULTINOMIAL:
        for j in range(base.shape[1]):
            theta[k, j] -= offset
        offset = 0.0
    clusters.offset[k] = offset
