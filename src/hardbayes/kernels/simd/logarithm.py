"""A natural logarithm without branches or calls, so that loops around it become vector code.

The algorithm of FreeBSD's msun (s_log.c): within one unit in the last place of the true value.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hardbayes.kernels.compiling import inlined

SMALLEST = float(np.finfo(np.float64).tiny)

_START = np.uint64(0x3FE6955500000000)  # mantissas begin here, near sqrt(1/2)
_TO_START = np.uint64(0x3FF0000000000000 - 0x3FE6955500000000)
_MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
_WHOLE = np.uint64(0x4330000000000000)  # 2^52: an integer below it, or-ed in, becomes a float
_BIAS = 2.0**52 + 1023.0
_SHIFT = np.uint64(52)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_C1, _C2, _C3 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
_C4, _C5, _C6 = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01
_C7 = 1.479819860511658591e-01


@intrinsic
def _bits(typing, number):
    """Return the bits of a float64."""
    return types.uint64(types.float64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.IntType(64)
    )


@intrinsic
def _float(typing, bits):
    """Return the float64 with these bits."""
    return types.float64(types.uint64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.DoubleType()
    )


@inlined
def log(x):
    """Return the logarithm of x; of the smallest normal number where x is smaller than that."""
    bits = _bits(max(x, SMALLEST)) + _TO_START
    exponent = _float((bits >> _SHIFT) | _WHOLE) - _BIAS
    f = _float((bits & _MANTISSA) + _START) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (_C2 + w * (_C4 + w * _C6))
    odd = z * (_C1 + w * (_C3 + w * (_C5 + w * _C7)))
    half = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half - (s * (half + even + odd) + exponent * _LN2_LOW)) - f)
