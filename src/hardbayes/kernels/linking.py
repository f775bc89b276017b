"""Compilers for functions that only kernels call: such functions get no machine code of their own.

By itself, numba turns every function into machine code, and once more each kernel that it is linked
into. Here functions are linked as they are; only kernels are optimised and turned into machine
code. That takes a third off the time of compiling.
"""

import ctypes
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

# Passes for closures and for expressions of whole arrays.
NEEDLESS = ("inline_closure_likes", "nopython_rewrites")
# Raises TypeError, and is what Python gets to call instead of machine code.
NO_ENTRY = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value


class _LinkedLibrary(JITCodeLibrary):
    """Code to be linked into others."""

    def _optimize_final_module(self) -> None:
        """Leave it to kernels, which are optimised with all that is linked into them."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


class _SharedFunction(Lower):
    """Writes a function that LLVM does not inline."""

    def setup_function(self, description: Any) -> None:
        super().setup_function(description)
        self.function.attributes.add("noinline")


class _LinkedLowering(NativeLowering):
    """The last step: from numba's code to LLVM's."""

    is_inlined: bool

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        state.library = library = _LinkedLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        state.flags.forceinline = self.is_inlined
        super().run_pass(state)
        lowered = state["cr"]
        description = lowered.fndesc
        entry = _dynfunc.make_function(
            description.lookup_module(), description.qualname, "", NO_ENTRY, lowered.env, (library,)
        )
        context.insert_user_function(entry, description, [library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _SharedLowering(_LinkedLowering):
    _name = "shared_lowering"
    is_inlined = False

    @property
    def lowering_class(self) -> type[Lower]:
        return _SharedFunction


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlinedLowering(_LinkedLowering):
    _name = "inlined_lowering"
    is_inlined = True


class KernelCompiler(CompilerBase):
    """Compiles kernels: numba's own compiler, without the passes that they have no use for."""

    lowering: type[NativeLowering] = NativeLowering

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (self.lowering if step is NativeLowering else step, text)
            for step, text in manager.passes
            if step._name not in NEEDLESS
        ]
        manager.finalize()
        return [manager]


class SharedCompiler(KernelCompiler):
    """Compiles functions that stand once in a kernel, however often it calls them."""

    lowering = _SharedLowering


class InliningCompiler(KernelCompiler):
    """Compiles functions that are inlined wherever a kernel calls them."""

    lowering = _InlinedLowering
