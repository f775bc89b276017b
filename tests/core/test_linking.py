"""Functions for kernels: linked, without machine code, and never called by Python."""

import numpy as np
import pytest
from numba import njit
from numba.extending import overload

from hardbayes.core.compiling import INLINE, KERNEL, inlined, shared


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
