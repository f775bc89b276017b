"""Compilers for kernels and the functions that only kernels call: they do what kernels need.

By itself, numba turns every function into machine code, and once more each kernel that it is linked
into. Here functions are linked as they are; only kernels are optimised, once, and turned into
machine code. Compiling takes less than half of the time that it would otherwise.
"""

import ctypes
from typing import Any

from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

# Passes for closures and for expressions of whole arrays.
NEEDLESS = ("inline_closure_likes", "nopython_rewrites")
# Raises TypeError, and is what Python gets to call instead of machine code.
NO_ENTRY = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave it to the kernel, which is optimised with all that is linked into it."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise without unrolling loops: the hot ones are written in unrolled vector code."""
        tuning = create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = True
        tuning.slp_vectorization = tuning.loop_interleaving = tuning.loop_unrolling = False
        builder = create_pass_builder(self._codegen._tm, tuning)
        builder.getModulePassManager().run(self._final_module, builder)


class _LinkedLibrary(_KernelLibrary):
    """Code to be linked into kernels."""

    def _optimize_final_module(self) -> None:
        """Leave it to the kernel."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


class _SharedFunction(Lower):
    """Writes a function that LLVM does not inline."""

    def setup_function(self, description: Any) -> None:
        super().setup_function(description)
        self.function.attributes.add("noinline")


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    """The last step: from numba's code to LLVM's, and to machine code."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        codegen = state.targetctx.codegen()
        state.library = _KernelLibrary(codegen, state.func_id.func_qualname)
        state.library.enable_object_caching()
        super().run_pass(state)
        return True


class _LinkedLowering(NativeLowering):
    """The last step of functions, which are not turned into machine code."""

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


class _Flags(Flags):
    """Flags that are cheap to compare: numba looks up operators by them, thousands a kernel."""

    def __init__(self, flags: Flags) -> None:
        super().__init__(flags)
        for name, value in flags._values.items():
            if value == self.options[name].default:
                self.discard(name)

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and bool(self._values == other._values)


class KernelCompiler(CompilerBase):
    """Compiles kernels: numba's own compiler, without the passes that they have no use for."""

    lowering: type[NativeLowering] = _KernelLowering

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _Flags(self.state.flags)

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
