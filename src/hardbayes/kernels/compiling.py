"""How kernels are compiled: options and decorators."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit

# No fastmath: it reorders sums and removes guards against inf and NaN. With the numpy error model a
# division by zero gives inf. Kernels allocate nothing, so reference counting is switched off: its
# atomic counters would take longer than most rows. No other compiled code calls kernels as C
# functions; wrappers for that would take a tenth of the time of compiling.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
# For small functions called for each row: a call would copy the descriptor of every array.
INLINE = {**OPTIONS, "forceinline": True}


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` and inline its machine code into each caller."""
    return njit(**INLINE)(function)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline the source of ``function`` into its one or two callers before they are compiled.

    This takes half as long as compiling a long function by itself and again in its caller. Short
    functions in inner loops run faster when `inlined`.
    """
    return njit(inline="always", **OPTIONS)(function)


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` once for all kernels that call it.

    For long functions that run for each cluster rather than for each row. Pass no literal numbers
    as indices: every literal is a type of its own and compiled for itself.
    """
    return njit(**OPTIONS)(function)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on first call, without the GIL, cached on disk if possible."""
    try:
        compiled = njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no writable cache folder: compile in every process
        return njit(**OPTIONS)(function)
    _forgive(compiled._cache)
    return compiled


def _forgive(cache: Any) -> None:
    """Treat cache files that cannot be read or written as missing, so that fits do not fail.

    The disk may be full, or have been full when a file was written.
    """
    load, save = cache.load_overload, cache.save_overload

    def load_overload(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception:
            with suppress(Exception):
                cache.flush()  # or the next process could not load what this one saves
            return None

    def save_overload(signature: Any, result: Any) -> None:
        with suppress(Exception):
            save(signature, result)

    cache.load_overload, cache.save_overload = load_overload, save_overload
