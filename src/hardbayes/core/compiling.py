"""How kernels are compiled: options, decorators, and what happens while a user waits."""

import gc
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from numba import njit
from numba.core import event

try:
    linking: Any = import_module("hardbayes.core.linking")
except (ImportError, AttributeError):  # of numba's internals: then compiling only takes longer
    linking = None

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
# For functions that kernels call the options are the same, but for the compiler: where they differ,
# numba compiles an overload once more.
KERNEL, SHARED, INLINE = OPTIONS, OPTIONS, {**OPTIONS, "forceinline": True}
if linking is not None:
    KERNEL = {**OPTIONS, "pipeline_class": linking.KernelCompiler}
    SHARED = {**OPTIONS, "no_cpython_wrapper": False, "pipeline_class": linking.SharedCompiler}
    INLINE = {**SHARED, "pipeline_class": linking.InliningCompiler}


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` and inline it into its callers; Python cannot call it.

    For functions that run for each row, as a call would copy the descriptor of every array, and for
    those with one caller. Pass no literal numbers, or numba compiles it for each of them: a literal
    is a type of its own.
    """
    return njit(**INLINE)(function)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline the source of ``function`` into its one or two callers before they are compiled.

    Literal numbers do no harm here. But parts of parts are copied at every level: let those be
    `inlined`.
    """
    return njit(inline="always", **OPTIONS)(function)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` once for all its calls in a kernel; Python cannot call it.

    For long functions that run for each cluster rather than for each row. Pass no literal numbers.
    """
    return njit(**SHARED)(function)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on first call, without the GIL, cached on disk if possible."""
    try:
        compiled = njit(cache=True, **KERNEL)(function)
    except RuntimeError:  # no writable cache folder: compile in every process
        return njit(**KERNEL)(function)
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


class Notice(event.Listener):
    """Says on stderr, once, that a fit waits for the compiler: after two seconds of it."""

    seconds = 2.0
    line = "hardbayes: compiling for this machine, once; later fits start at once"

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._spent = 0.0
        self._begin = 0.0
        self._depth = 0  # functions are compiled while their callers are
        self._is_said = False

    def on_start(self, compiled: event.Event) -> None:
        """Note that a function begins to be compiled."""
        if _is_ours(compiled):
            if self._depth == 0:
                self._begin = self._clock()
            self._depth += 1
            self._say_if_long()

    def on_end(self, compiled: event.Event) -> None:
        """Note that a function has been compiled."""
        if _is_ours(compiled):
            self._say_if_long()
            self._depth -= 1
            if self._depth == 0:
                self._spent += self._clock() - self._begin

    def _say_if_long(self) -> None:
        if not self._is_said and self._spent + self._clock() - self._begin > self.seconds:
            self._is_said = True
            if sys.stderr is not None:
                with suppress(OSError, ValueError):  # a line is not worth a failed fit
                    print(self.line, file=sys.stderr, flush=True)  # noqa: T201 - a user waits


class CollectorPause(event.Listener):
    """Stops Python's cycle collector while a kernel is compiled.

    The compiler makes millions of objects that live until it is done. To traverse them again and
    again takes a tenth of its time.
    """

    def __init__(self) -> None:
        self._depth = 0  # functions are compiled while their callers are
        self._was_on = False

    def on_start(self, compiled: event.Event) -> None:
        """Stop it before the outermost function."""
        if _is_ours(compiled):
            if self._depth == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def on_end(self, compiled: event.Event) -> None:
        """Let it run again after the outermost function, if it did before."""
        if _is_ours(compiled):
            self._depth -= 1
            if self._depth == 0 and self._was_on:
                gc.enable()


def _is_ours(compiled: event.Event) -> bool:
    function = compiled.data["dispatcher"].py_func
    return bool(function.__module__.startswith("hardbayes."))


event.register("numba:compile", Notice())
event.register("numba:compile", CollectorPause())
