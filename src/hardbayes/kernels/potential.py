"""Sum over clusters of |total|^2 / weight, in twice the working precision.

The objective's trace is a constant minus this sum. Two large numbers are subtracted, so float64 alone could show a rise
where there is none.
"""

import numpy as np

from hardbayes.kernels.compiling import kernel


@kernel
def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
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
def squared_potential(coarse, fine, weights):
    """IN coarse, fine (k, d), weights (k,); returns the sum as (value, remainder)."""
    value = 0.0
    remainder = 0.0
    for k in range(weights.shape[0]):
        square = 0.0
        rest = 0.0
        for j in range(coarse.shape[1]):
            high, low = _two_sum(coarse[k, j], fine[k, j])
            p, error = _two_product(high, high)
            square, carry = _two_sum(square, p)
            rest += carry + error + 2.0 * high * low
        quotient = square / weights[k]
        p, error = _two_product(quotient, weights[k])
        rest = ((square - p) - error + rest) / weights[k]
        value, carry = _two_sum(value, quotient)
        remainder += carry + rest
    return np.float64(value), np.float64(remainder)
