"""The one switch for how kernels are compiled."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit

# No fastmath: sums and guards must mean what they say. The numpy error model lets a division by
# zero give inf. Kernels allocate nothing, so reference counting is switched off: its atomic
# counters would cost more than most rows.
OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}


# For small functions called once a row: a call would copy every array's description.
INLINE = {**OPTIONS, "forceinline": True}


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function``, and put the machine code into each of its callers."""
    return njit(**INLINE)(function)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``function`` a part of its one or two callers before they are compiled.

    That takes half as long as to compile a long function alone and once more within its caller.
    Short ones in inner loops are faster `inlined`.
    """
    return njit(inline="always", **OPTIONS)(function)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on first call, without the GIL, cached on disk if possible."""
    try:
        compiled = njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no cache folder is writable: compile in every process instead
        return njit(**OPTIONS)(function)
    _forgive(compiled._cache)
    return compiled


def _forgive(cache: Any) -> None:
    """Take files that cannot be read or written for none: a cache is no reason for a fit to fail.

    The disk may be full, or was when a file was written.
    """
    load, save = cache.load_overload, cache.save_overload

    def load_overload(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception:
            with suppress(Exception):
                cache.flush()  # so that the next process finds what this one will save
            return None

    def save_overload(signature: Any, result: Any) -> None:
        with suppress(Exception):
            save(signature, result)

    cache.load_overload, cache.save_overload = load_overload, save_overload
