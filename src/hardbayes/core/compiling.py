"""How kernels are compiled: options, decorators, and what happens while a user waits."""

import gc
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import numba
from numba import njit
from numba.core import compiler, config, errors, event

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


class Linking(event.Listener):
    """Our compilers (`hardbayes.core.linking`) while they work, else numba's own.

    Ours are built on internals of numba. Where a version has changed these, and a kernel does not
    compile for it, kernels are compiled by plain numba: to the same numbers, in more time. With
    HARDBAYES_LINKING=0 in the environment they are from the start.
    """

    def __init__(self) -> None:
        self.is_on = os.environ.get("HARDBAYES_LINKING") != "0"
        self._linked: list[Any] = []  # functions that our compilers made for kernels
        try:
            self._ours = import_module("hardbayes.core.linking") if self.is_on else None
        except Exception as error:
            self._give_up(error)

    def pipeline(self, name: str) -> Callable[..., Any]:
        """Return what numba calls to make a compiler: the one of ours of this name, or its own."""

        def make(*arguments: Any) -> Any:
            if self.is_on:
                return getattr(self._ours, name)(*arguments)
            plain = compiler.Compiler(*arguments)
            plain.state.flags.forceinline = name == "InliningCompiler"
            return plain

        return make

    def guard(self, kernel: Any) -> None:
        """Compile a kernel by plain numba where our compilers fail and numba does not."""
        compile_kernel = kernel._compiler.compile

        def compile_guarded(arguments: Any, return_type: Any) -> Any:
            was_on = self.is_on
            try:
                return compile_kernel(arguments, return_type)
            except errors.ForceLiteralArg:  # a request, not a failure
                raise
            except Exception as error:
                if not was_on:
                    raise
                self.is_on = False
                self._forget(kernel)
                try:
                    compiled = compile_kernel(arguments, return_type)
                except Exception:  # it is the kernel that is wrong
                    self.is_on = True
                    self._forget(kernel)
                    raise error from None
                self._give_up(error)
                return compiled

        kernel._compiler.compile = compile_guarded

    def on_start(self, compiled: event.Event) -> None:
        """Note a function that is compiled for kernels."""
        function = compiled.data["dispatcher"]
        if self.is_on and _is_ours(compiled) and not function.targetoptions.get("cache"):
            self._linked.append(function)

    def on_end(self, compiled: event.Event) -> None:
        """Do nothing."""

    def _forget(self, kernel: Any) -> None:
        """Drop the functions that were compiled for kernels, and what could not be compiled."""
        with suppress(AttributeError):  # of numba's internals, too
            kernel._compiler._failed_cache.clear()
            while self._linked:
                function = self._linked.pop()
                function._compiler._failed_cache.clear()
                function._make_finalizer()()
                function._reset_overloads()

    def _give_up(self, error: Exception) -> None:
        self.is_on = False
        warnings.warn(
            f"numba {numba.__version__} has changed internals that hardbayes compiles its kernels "
            f"with ({type(error).__name__}). Plain numba compiles them instead, to the same "
            "results, but takes longer. Install another version of numba, or set "
            "HARDBAYES_LINKING=0 to compile in this way without a warning.",
            RuntimeWarning,
            stacklevel=2,
        )


linking = Linking()
# For functions that kernels call the options are the same, but for the compiler: where they differ,
# numba compiles an overload once more.
KERNEL = {**OPTIONS, "pipeline_class": linking.pipeline("KernelCompiler")}
_LINKED = {**OPTIONS, "no_cpython_wrapper": False}
SHARED = {**_LINKED, "pipeline_class": linking.pipeline("SharedCompiler")}
INLINE = {**_LINKED, "pipeline_class": linking.pipeline("InliningCompiler")}


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
        compiled = njit(**KERNEL)(function)
    else:
        _forgive(compiled._cache)
    linking.guard(compiled)
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


def cache_folder() -> str | None:
    """Return where compiled kernels are kept; None where no folder can be written."""
    if config.CACHE_DIR:
        return str(config.CACHE_DIR)
    from hardbayes.core import dip

    any_kernel: Any = dip.dip_of_distribution
    beside = any_kernel.stats.cache_path
    return beside and f"folders beside the files of the package, such as {beside}"


def _is_ours(compiled: event.Event) -> bool:
    function = compiled.data["dispatcher"].py_func
    return bool(function.__module__.startswith("hardbayes."))


event.register("numba:compile", linking)
event.register("numba:compile", Notice())
event.register("numba:compile", CollectorPause())
