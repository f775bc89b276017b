"""Functions that only kernels can call, for tests that call them from Python."""

from functools import cache

from numba import njit

from hardbayes.core.compiling import OPTIONS


@cache
def alone(function):
    """Return the function compiled by itself."""
    return njit(**OPTIONS)(function.py_func)
