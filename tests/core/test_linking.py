"""Functions for kernels: linked, without machine code, and never called by Python.

And what compiles them where that does not work, or is not wanted.
"""

import numba
import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.extending import overload

from hardbayes.core.compiling import INLINE, KERNEL, inlined, kernel, linking, shared


def scaled_sum(x, factor):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * factor
    return total


@pytest.mark.parametrize("decorator", [inlined, shared])
def test_the_same_numbers_as_by_python(decorator):
    inner = decorator(scaled_sum)

    @njit(**KERNEL)
    def caller(x):
        return inner(x, 0.1) + inner(x[1:], 0.3)

    x = np.random.RandomState(0).randn(11)
    assert caller(x) == scaled_sum(x, 0.1) + scaled_sum(x[1:], 0.3)


@pytest.mark.parametrize(("decorator", "stands"), [(inlined, False), (shared, True)])
def test_what_is_inlined_does_not_stand_in_the_kernel(decorator, stands):
    inner = decorator(scaled_sum)

    @njit(**KERNEL)
    def caller(x):
        return inner(x, 0.1) + inner(x, 0.3)

    caller(np.ones(3))
    code = next(iter(caller.inspect_llvm().values()))
    calls = [line for line in code.splitlines() if "call" in line and "scaled_sum" in line]
    assert bool(calls) == stands


@pytest.mark.parametrize("decorator", [inlined, shared])
def test_python_cannot_call_it(decorator):
    inner = decorator(scaled_sum)
    for _ in range(2):  # compiled, then found
        with pytest.raises(TypeError):
            inner(np.ones(3), 1.0)


def twice(x):
    raise NotImplementedError


@overload(twice, jit_options=INLINE)
def _twice(x):
    compiled.append(x)
    return lambda x: 2.0 * x


compiled = []


def test_an_overload_is_compiled_once_for_kernels_and_their_functions():
    inner = inlined(lambda x: twice(x) + 1.0)

    @njit(**KERNEL)
    def caller(x):
        return twice(x) + inner(x)

    assert caller(1.5) == 7.0 and len(compiled) == 1


def test_loops_of_kernels_are_not_unrolled():
    compiled = njit(**KERNEL)(scaled_sum)
    compiled(np.ones(3), 2.0)
    code = next(iter(compiled.inspect_llvm().values()))
    assert code.count("fmul double") == 1


# A kernel is compiled after the line that a test puts in the place of BREAK; the numbers are those
# of Python, and warnings are printed.
SCRIPT = """
import warnings
warnings.simplefilter("always")
warnings.showwarning = lambda message, category, *_: print(category.__name__, message)
BREAK
import numpy as np
from hardbayes.core.compiling import inlined, kernel, linking, shared

def scaled(x, factor):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * factor
    return total

first, second = inlined(scaled), shared(scaled)

@kernel
def both(x):
    return first(x, 0.1) + second(x, 0.3)

@kernel
def once(x):
    return second(x, 0.3)

x = np.random.RandomState(0).randn(11)
assert both(x) == scaled(x, 0.1) + scaled(x, 0.3) and once(x) == scaled(x, 0.3)
print("linked" if linking.is_on else "plain")
"""
OF_OURS = "from hardbayes.core import linking; linking."


def compiled_after(change, run_python, tmp_path, **environment):
    """Return what the script prints if internals of numba are changed before it compiles."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), **environment}
    return run_python(SCRIPT.replace("BREAK", change), env=environment).splitlines()


def test_kernels_are_linked_unless_the_environment_says_no(run_python, tmp_path):
    assert compiled_after("", run_python, tmp_path / "linked") == ["linked"]
    plain = compiled_after("", run_python, tmp_path / "plain", HARDBAYES_LINKING="0")
    assert plain == ["plain"]


@pytest.mark.parametrize(
    "change",
    [
        "import numba.core.codegen; del numba.core.codegen.JITCodeLibrary",  # at the import
        "import numba.core.codegen; numba.core.codegen.JITCodeLibrary = None",
        "from numba.core.targetconfig import TargetConfig; del TargetConfig.discard",
        OF_OURS + "_dynfunc = None",  # at the first function
        OF_OURS + "create_pass_builder = None",  # at the kernel, after its functions
    ],
)
def test_plain_numba_compiles_what_changed_internals_cannot(change, run_python, tmp_path):
    warned, how = compiled_after(change, run_python, tmp_path)
    assert how == "plain"
    assert warned.startswith(f"RuntimeWarning numba {numba.__version__} has changed internals")
    assert "set HARDBAYES_LINKING=0" in warned


def test_a_kernel_that_is_wrong_is_no_fault_of_the_compiler(recwarn):
    wrong = kernel(lambda x: x.no_such_attribute)
    with pytest.raises(TypingError):
        wrong(np.ones(3))
    assert linking.is_on and not recwarn
