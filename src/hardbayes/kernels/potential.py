"""Sum over clusters of |total|^2 / weight, in twice the working precision.

The objective's trace is a constant minus this sum. Two large numbers are subtracted, so float64
alone could show a rise where there is none.
"""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel


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


@kernel
def squared_potential(totals, prior_weight, prior, slots):
    """IN totals, prior (d,): the prior's own total, slots (k,); returns (value, remainder)."""
    value = 0.0
    remainder = 0.0
    for k in slots:
        weight = totals.weight_coarse[k] + totals.weight_fine[k] + prior_weight
        square = 0.0
        rest = 0.0
        for j in range(prior.shape[0]):
            high, low = _two_sum(totals.coarse[k, j], totals.fine[k, j] + prior[j])
            p, error = _two_product(high, high)
            square, carry = _two_sum(square, p)
            rest += carry + error + 2.0 * high * low
        quotient = square / weight
        p, error = _two_product(quotient, weight)
        rest = ((square - p) - error + rest) / weight
        value, carry = _two_sum(value, quotient)
        remainder += carry + rest
    return np.float64(value), np.float64(remainder)
