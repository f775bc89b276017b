"""The one switch for how kernels are compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on first call, without the GIL, cached on disk where that is possible.

    No ``fastmath``: sums and guards must mean what they say. ``error_model="numpy"`` lets a
    division by zero give inf, which the callers rely on for dead slots.
    """
    options = {"nogil": True, "error_model": "numpy", "boundscheck": False}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no cache folder is writable: compile in every process instead
        return njit(**options)(function)
