"""Random numbers of one chain: xoshiro256++, and the distributions that the samplers draw from.

A chain carries its own state, so that its draws depend neither on threads nor on other chains.
Gamma variates are drawn as logarithms: for small shapes the variates themselves underflow.
"""

import math

import numpy as np

from hardbayes.core.compiling import inlined, shared

_17, _23, _41 = np.uint64(17), np.uint64(23), np.uint64(41)
_45, _19, _11 = np.uint64(45), np.uint64(19), np.uint64(11)


@inlined
def uniform(stream):
    """Return a number between 0 and 1, neither of which it is; INOUT stream (4,) uint64."""
    mixed = stream[0] + stream[3]
    result = ((mixed << _23) | (mixed >> _41)) + stream[0]
    shifted = stream[1] << _17
    stream[2] ^= stream[0]
    stream[3] ^= stream[1]
    stream[1] ^= stream[2]
    stream[0] ^= stream[3]
    stream[2] ^= shifted
    stream[3] = (stream[3] << _45) | (stream[3] >> _19)
    return (np.float64(result >> _11) + 0.5) * 2.0**-53


@inlined
def below(stream, n):
    """Return a whole number from 0 to n - 1."""
    return np.int64(uniform(stream) * n)


@shared
def normal(stream):
    """Return a standard normal variate, by Marsaglia's polar method."""
    while True:
        x = 2.0 * uniform(stream) - 1.0
        y = 2.0 * uniform(stream) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@shared
def log_gamma_variate(stream, shape):
    """Return the logarithm of a gamma variate of rate one (Marsaglia & Tsang 2000).

    Zero for a shape that is none: the loop below would not end.
    """
    if not 0.0 < shape < np.inf:
        return -np.inf
    boost = 0.0
    if shape < 1.0:
        boost = math.log(uniform(stream)) / shape
        shape = shape + 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        cube = (1.0 + c * x) ** 3
        if cube > 0.0:
            log_cube = math.log(cube)
            if math.log(uniform(stream)) < 0.5 * x * x + d - d * cube + d * log_cube:
                return math.log(d) + log_cube + boost


@inlined
def log_sum(a, b):
    """Return log(exp(a) + exp(b))."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@shared
def poisson(stream, mean):
    """Return a Poisson variate: arrivals of a process within the time ``mean``."""
    time = -math.log(uniform(stream))
    count = 0
    while time < mean:
        count += 1
        time -= math.log(uniform(stream))
    return count


@shared
def concentration(stream, alpha, n, k, shape, rate):
    """Return alpha given k clusters of n rows under a gamma prior (Escobar & West 1995, eq. 14)."""
    x = log_gamma_variate(stream, alpha + 1.0)
    log_eta = x - log_sum(x, log_gamma_variate(stream, np.float64(n)))
    odds = (shape + k - 1.0) / (n * (rate - log_eta))
    if uniform(stream) * (1.0 + odds) < odds:
        shape = shape + k
    else:
        shape = shape + k - 1.0
    return math.exp(log_gamma_variate(stream, shape)) / (rate - log_eta)


@shared
def inverse_gamma(stream, shape, scale):
    """Return a variance with density proportional to v^(-shape - 1) exp(-scale / v)."""
    return scale * math.exp(-log_gamma_variate(stream, shape))
