"""Sum over clusters of |total|^2 / weight, in twice the working precision.

The objective's trace is a constant minus this sum. Two large numbers are subtracted, so float64
alone could show a rise where there is none.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel, part


@inlined
def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inlined
def _two_product(a, b):
    p = a * b
    t = 134217729.0 * a  # 2^27 + 1: Veltkamp's split
    a_high = t - (t - a)
    a_low = a - a_high
    t = 134217729.0 * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@part
def _square_over(coarse, fine, prior, k, weight):
    """Return ``|total + prior|^2 / weight`` of slot k as two numbers."""
    square = 0.0
    rest = 0.0
    for j in range(prior.shape[0]):
        high, low = _two_sum(coarse[k, j], prior[j])
        high, low = _two_sum(high, low + fine[k, j])
        p, error = _two_product(high, high)
        square, carry = _two_sum(square, p)
        rest += carry + error + 2.0 * high * low
    quotient = square / weight
    p, error = _two_product(quotient, weight)
    return quotient, ((square - p) - error + rest) / weight


@kernel
def squared_potential(totals, prior_weight, prior, nothing, slots, n_slots):
    """Return the sum over slots, less as often that of the prior alone, and its remainder.

    IN totals, slots: the first ``n_slots`` count; prior (d,): the prior's own total; nothing
    (1, d): zeros.
    """
    value = 0.0
    remainder = 0.0
    alone = 0.0
    rest_alone = 0.0
    if prior_weight > 0.0:
        alone, rest_alone = _square_over(nothing, nothing, prior, 0, prior_weight)
    for p in range(n_slots):
        k = slots[p]
        weight = totals.weight_coarse[k] + totals.weight_fine[k] + prior_weight
        quotient, rest = _square_over(totals.coarse, totals.fine, prior, k, weight)
        more, carry = _two_sum(quotient, -alone)
        value, rounding = _two_sum(value, more)
        remainder += carry + rounding + rest - rest_alone
    return np.float64(value), np.float64(remainder)
