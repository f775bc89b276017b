"""Sweeps of a Gibbs sampler for the linear-Gaussian Indian buffet process.

Rows are x_i = z_i A + noise, with noise of variance sigma and components of variance rho, which are
integrated out (Griffiths & Ghahramani 2006). With M = (Z'Z + sigma / rho I)^-1, the components
given all rows have mean M Z'X and covariance sigma M; both follow by updates of rank one when a row
is taken out, and a row given all others is normal with mean z A and variance sigma (1 + z M z')
(Doshi-Velez & Ghahramani 2009). A feature that the row alone would have adds rho to that variance.
"""

import math
from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel, shared
from hardbayes.samplers.compiled.randomness import (
    below,
    inverse_gamma,
    log_gamma_variate,
    normal,
    poisson,
    uniform,
)

# Places in `numbers`, and columns of the record after the first two.
LOG_ALPHA, NOISE, WEIGHT = range(3)
N_FREE = 16  # places for new features that a row finds, besides four times the expected number


class Allocation(NamedTuple):
    """Which rows have which features, and the components given them."""

    member: np.ndarray  # (n, places) uint8
    size: np.ndarray  # (1,) int64: number of features; they have the first places
    n_rows: np.ndarray  # (places,) int64: rows of each
    inverse: np.ndarray  # (places, places): M
    mean: np.ndarray  # (places, d): M Z'X
    total: np.ndarray  # (places, d): scratch, Z'X or drawn components
    gain: np.ndarray  # (places,): scratch, M z
    left: np.ndarray  # (d,): scratch, a residual
    order: np.ndarray  # (places,) int64: scratch, the order in which a row goes through features
    best: np.ndarray  # (n, places) uint8: the draw of highest posterior
    highest: np.ndarray  # (2,): its log posterior and number of features


@kernel
def advance_features(rows, numbers, priors, allocation, stream, record, start, stop, first_kept):
    """Let rows choose from step ``start`` to ``stop``: step t is row t % n of sweep t // n.

    Return the step reached: less than ``stop`` where places have run out. IN rows (n, d), priors
    (3, 2), zeros where a number is fixed; INOUT numbers (3,), allocation, stream; OUT record
    (sweeps, 5): k, log posterior, alpha, sigma, rho. The best draw is one of those from sweep
    ``first_kept`` on.
    """
    n = rows.shape[0]
    for step in range(start, stop):
        i = step % n
        free = allocation.member.shape[1] - allocation.size[0]
        if free < N_FREE + 4.0 * math.exp(numbers[LOG_ALPHA]) / n:
            return step
        if i == 0:
            rebuild(rows, numbers, allocation)
        visit(rows, numbers, allocation, stream, i)
        if i == n - 1:
            draw_numbers(rows, numbers, priors, allocation, stream)
            keep(rows, numbers, priors, allocation, record, step // n, first_kept)
    return stop


@shared
def rebuild(rows, numbers, allocation):
    """OUT count, inverse, mean and total, from the memberships; return log |Z'Z + sigma / rho I|.

    Features without rows are dropped.
    """
    member, inverse, total = allocation.member, allocation.inverse, allocation.total
    n, d = rows.shape
    k = 0
    while k < allocation.size[0]:
        allocation.n_rows[k] = 0
        for i in range(n):
            allocation.n_rows[k] += member[i, k]
        if allocation.n_rows[k] == 0:
            drop(allocation, k)
        else:
            k += 1
    size = allocation.size[0]
    for k in range(size):
        for m in range(size):
            inverse[k, m] = numbers[NOISE] / numbers[WEIGHT] if k == m else 0.0
        for j in range(d):
            total[k, j] = 0.0
    for i in range(n):
        for k in range(size):
            if member[i, k]:
                for m in range(size):
                    inverse[k, m] += member[i, m]
                for j in range(d):
                    total[k, j] += rows[i, j]
    determinant = invert(inverse, size)
    for k in range(size):
        for j in range(d):
            value = 0.0
            for m in range(size):
                value += inverse[k, m] * total[m, j]
            allocation.mean[k, j] = value
    return determinant


@inlined
def invert(matrix, size):
    """Invert a positive definite matrix in place, by Gauss and Jordan; return log |matrix|."""
    determinant = 0.0
    for p in range(size):
        pivot = max(matrix[p, p], 1e-300)
        determinant += math.log(pivot)
        matrix[p, p] = 1.0
        for m in range(size):
            matrix[p, m] /= pivot
        for k in range(size):
            if k != p:
                factor = matrix[k, p]
                matrix[k, p] = 0.0
                for m in range(size):
                    matrix[k, m] -= factor * matrix[p, m]
    return determinant


@inlined
def drop(allocation, k):
    """Take feature k out; the last feature gets its place. M and the mean of the others stay."""
    last = allocation.size[0] - 1
    allocation.size[0] = last
    allocation.n_rows[k] = allocation.n_rows[last]
    for i in range(allocation.member.shape[0]):
        allocation.member[i, k] = allocation.member[i, last]
        allocation.member[i, last] = 0
    for j in range(allocation.mean.shape[1]):
        allocation.mean[k, j] = allocation.mean[last, j]
    for m in range(last + 1):
        allocation.inverse[k, m] = allocation.inverse[last, m]
    for m in range(last + 1):
        allocation.inverse[m, k] = allocation.inverse[m, last]
    allocation.inverse[k, k] = allocation.inverse[last, last]


@inlined
def project(rows, allocation, i):
    """OUT gain: M z of row i, and left: x - z A; return z M z'."""
    member, gain = allocation.member, allocation.gain
    size = allocation.size[0]
    square = 0.0
    for j in range(rows.shape[1]):
        allocation.left[j] = rows[i, j]
    for k in range(size):
        gain[k] = 0.0
    for k in range(size):
        if member[i, k]:
            for m in range(size):
                gain[m] += allocation.inverse[k, m]
            for j in range(rows.shape[1]):
                allocation.left[j] -= allocation.mean[k, j]
    for k in range(size):
        if member[i, k]:
            square += gain[k]
    return square


@inlined
def update(allocation, d, sign, divisor):
    """Put a row in (1.0) or take it out (-1.0), by its gain and residual; rank one."""
    size, gain = allocation.size[0], allocation.gain
    for k in range(size):
        factor = sign * gain[k] / divisor
        for m in range(size):
            allocation.inverse[k, m] -= factor * gain[m]
        for j in range(d):
            allocation.mean[k, j] += factor * allocation.left[j]


@inlined
def log_density(square, variance, d):
    """Return the log-density of a residual of that squared length, without its constant."""
    return -0.5 * (d * math.log(variance) + square / variance)


@inlined
def visit(rows, numbers, allocation, stream, i):
    """Let row i choose its features anew."""
    member, count, left, gain = (
        allocation.member,
        allocation.n_rows,
        allocation.left,
        allocation.gain,
    )
    n, d = rows.shape
    sigma, rho = numbers[NOISE], numbers[WEIGHT]
    square = project(rows, allocation, i)
    update(allocation, d, -1.0, max(1.0 - square, 1e-12))
    alone = 0
    k = 0
    while k < allocation.size[0]:
        if member[i, k]:
            count[k] -= 1
        if count[k] == 0:
            drop(allocation, k)
            alone += 1
        else:
            k += 1
    size = allocation.size[0]
    square = project(rows, allocation, i)
    length = 0.0
    for j in range(d):
        length += left[j] * left[j]
    present = log_density(length, sigma * (1.0 + square) + alone * rho, d)
    shuffle(allocation.order, size, stream)
    for at in range(size):
        k = allocation.order[at]
        sign = -1.0 if member[i, k] else 1.0
        other_square = square + sign * 2.0 * gain[k] + allocation.inverse[k, k]
        other_length = 0.0
        for j in range(d):
            other_length += (left[j] - sign * allocation.mean[k, j]) ** 2
        other = log_density(other_length, sigma * (1.0 + other_square) + alone * rho, d)
        odds = other - present + sign * math.log(count[k] / (n - count[k]))
        if uniform(stream) * (1.0 + math.exp(-odds)) < 1.0:
            member[i, k] = 1 - member[i, k]
            square, length, present = other_square, other_length, other
            for m in range(size):
                gain[m] += sign * allocation.inverse[k, m]
            for j in range(d):
                left[j] -= sign * allocation.mean[k, j]
    # The features of this row alone: proposed from their prior, so that likelihoods decide.
    proposed = poisson(stream, math.exp(numbers[LOG_ALPHA]) / n)
    other = log_density(length, sigma * (1.0 + square) + proposed * rho, d)
    if size + proposed <= member.shape[1] and math.log(uniform(stream)) < other - present:
        alone = proposed
    for k in range(size):
        count[k] += member[i, k]
    for k in range(size, size + alone):
        open_feature(allocation, k, rho / sigma)
        member[i, k] = 1
        count[k] = 1
    square = project(rows, allocation, i)
    update(allocation, d, 1.0, 1.0 + square)


@inlined
def shuffle(order, size, stream):
    """OUT order: the features in random order.

    A fixed order would not do: places depend on when features were opened, and which of several
    equal features a row decides about first would then depend on what it has.
    """
    for k in range(size):
        order[k] = k
    for k in range(size - 1, 0, -1):
        other = below(stream, k + 1)
        order[k], order[other] = order[other], order[k]


@inlined
def open_feature(allocation, k, variance):
    """Open feature k, which no row has."""
    allocation.size[0] = k + 1
    for m in range(k):
        allocation.inverse[k, m] = 0.0
        allocation.inverse[m, k] = 0.0
    allocation.inverse[k, k] = variance
    for j in range(allocation.mean.shape[1]):
        allocation.mean[k, j] = 0.0


@shared
def draw_numbers(rows, numbers, priors, allocation, stream):
    """Draw alpha given the number of features, and variances given drawn components."""
    n, d = rows.shape
    if priors[1, 0] > 0.0 or priors[2, 0] > 0.0:
        rebuild(rows, numbers, allocation)
        draw_components(numbers, allocation, stream, d)
        size, drawn = allocation.size[0], allocation.total
        if priors[1, 0] > 0.0:
            square = 0.0
            for i in range(n):
                for j in range(d):
                    left = rows[i, j]
                    for k in range(size):
                        if allocation.member[i, k]:
                            left -= drawn[k, j]
                    square += left * left
            numbers[NOISE] = inverse_gamma(
                stream, priors[1, 0] + 0.5 * n * d, priors[1, 1] + 0.5 * square
            )
        if priors[2, 0] > 0.0:
            square = 0.0
            for k in range(size):
                for j in range(d):
                    square += drawn[k, j] * drawn[k, j]
            numbers[WEIGHT] = inverse_gamma(
                stream, priors[2, 0] + 0.5 * size * d, priors[2, 1] + 0.5 * square
            )
    if priors[0, 0] > 0.0:
        harmonic = 0.0
        for i in range(n):
            harmonic += 1.0 / (i + 1.0)
        variate = log_gamma_variate(stream, priors[0, 0] + allocation.size[0])
        numbers[LOG_ALPHA] = variate - math.log(priors[0, 1] + harmonic)


@shared
def draw_components(numbers, allocation, stream, d):
    """OUT total: components drawn given the memberships. Destroys M: its factor takes its place."""
    size, factor = allocation.size[0], allocation.inverse
    for k in range(size):
        for m in range(k + 1):
            value = factor[k, m]
            for c in range(m):
                value -= factor[k, c] * factor[m, c]
            factor[k, m] = math.sqrt(max(value, 1e-300)) if m == k else value / factor[m, m]
    deviation = math.sqrt(numbers[NOISE])
    for j in range(d):
        for k in range(size):
            allocation.gain[k] = normal(stream)
        for k in range(size):
            value = 0.0
            for m in range(k + 1):
                value += factor[k, m] * allocation.gain[m]
            allocation.total[k, j] = allocation.mean[k, j] + deviation * value


@shared
def log_posterior(rows, numbers, priors, allocation):
    """Return the log of the joint density of memberships, rows and drawn numbers.

    Memberships count as a class of matrices with the same columns, in any order.
    """
    n, d = rows.shape
    determinant = rebuild(rows, numbers, allocation)
    size, sigma, rho = allocation.size[0], numbers[NOISE], numbers[WEIGHT]
    square = 0.0
    for i in range(n):
        for j in range(d):
            square += rows[i, j] * rows[i, j]
    for k in range(size):
        for j in range(d):
            square -= allocation.mean[k, j] * allocation.total[k, j]
    result = -0.5 * n * d * math.log(2.0 * math.pi * sigma) - 0.5 * square / sigma
    result -= 0.5 * d * (size * math.log(rho / sigma) + determinant)
    harmonic = 0.0
    for i in range(n):
        harmonic += 1.0 / (i + 1.0)
    result += size * numbers[LOG_ALPHA] - math.exp(numbers[LOG_ALPHA]) * harmonic
    for k in range(size):
        result += math.lgamma(n - allocation.n_rows[k] + 1.0) + math.lgamma(allocation.n_rows[k])
        result -= math.lgamma(n + 1.0)
        result -= math.log(1.0 + equal_before(allocation, k))
    if priors[0, 0] > 0.0:
        alpha = numbers[LOG_ALPHA]
        result += (priors[0, 0] - 1.0) * alpha - priors[0, 1] * math.exp(alpha)
    for which in range(1, 3):
        if priors[which, 0] > 0.0:
            result -= (priors[which, 0] + 1.0) * math.log(numbers[which])
            result -= priors[which, 1] / numbers[which]
    return result


@inlined
def equal_before(allocation, k):
    """Return how many of the features before k have the same rows as k."""
    equal = 0
    for m in range(k):
        i = 0
        while i < allocation.member.shape[0] and allocation.member[i, m] == allocation.member[i, k]:
            i += 1
        if i == allocation.member.shape[0]:
            equal += 1
    return equal


@shared
def keep(rows, numbers, priors, allocation, record, sweep, first_kept):
    """OUT record of a sweep; OUT best, highest: where its posterior is the highest so far."""
    value = log_posterior(rows, numbers, priors, allocation)
    record[sweep, 0] = allocation.size[0]
    record[sweep, 1] = value
    record[sweep, 2] = math.exp(numbers[LOG_ALPHA])
    record[sweep, 3] = numbers[NOISE]
    record[sweep, 4] = numbers[WEIGHT]
    if sweep >= first_kept and value > allocation.highest[0]:
        allocation.highest[0] = value
        allocation.highest[1] = allocation.size[0]
        for i in range(allocation.member.shape[0]):
            for k in range(allocation.size[0]):
                allocation.best[i, k] = allocation.member[i, k]
