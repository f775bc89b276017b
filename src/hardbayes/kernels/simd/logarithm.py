"""A natural logarithm without branches or calls, so that loops around it become vector code.

A number is ``m 2^e`` with m between sqrt(1/2) and sqrt(2), and ``log m = 2 artanh(s)`` with
``s = (m - 1) / (m + 1)``. Since ``s^2 < 0.03``, a polynomial of seven terms (those of fdlibm, whose
largest error is least) leaves less than a rounding error. The result is within a few units in the
last place.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hardbayes.kernels.compiling import inlined

SMALLEST = float(np.finfo(np.float64).tiny)

_ONE = np.float64(1.0).view(np.uint64)
_LEAST = np.float64(np.sqrt(0.5)).view(np.uint64)  # of m
_TO_LEAST = np.uint64(_ONE - _LEAST)
_MANTISSA = np.uint64((1 << 52) - 1)
_SHIFT = np.uint64(52)
_WHOLE = np.float64(2.0**52).view(np.uint64)  # or-ed to an integer below it, makes it a float
_BIAS = 2.0**52 + 1023.0
# log 2 in two parts: the first has so few bits that its products with exponents are exact.
_LN2_HIGH = float(np.round(np.log(2.0) * 2.0**32) / 2.0**32)
_LN2_LOW = 0.6931471805599453094172 - _LN2_HIGH + 2.3190468138462996e-17


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


@intrinsic
def _fused(typing, a, b, c):
    """Return ``a b + c``, rounded once where the machine can."""

    def generate(context, builder, signature, args):
        a, b, c = args
        return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

    return types.float64(types.float64, types.float64, types.float64), generate


@inlined
def log(x):
    """Return the logarithm of x; of the smallest normal number where x is smaller than that."""
    bits = _bits(max(x, SMALLEST)) + _TO_LEAST
    exponent = _float((bits >> _SHIFT) | _WHOLE) - _BIAS
    f = _float((bits & _MANTISSA) + _LEAST) - 1.0
    s = f / (2.0 + f)
    z = s * s
    rest = _fused(z, 1.479819860511658591e-01, 1.531383769920937332e-01)
    rest = _fused(z, rest, 1.818357216161805012e-01)
    rest = _fused(z, rest, 2.222219843214978396e-01)
    rest = _fused(z, rest, 2.857142874366239149e-01)
    rest = _fused(z, rest, 3.999999999940941908e-01)
    rest = _fused(z, rest, 6.666666666666735130e-01)
    return exponent * _LN2_HIGH + (2.0 * s + _fused(s * z, rest, exponent * _LN2_LOW))
